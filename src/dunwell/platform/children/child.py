"""The child's side of the pool: read a length and a request from standard input, write a length and
an answer to standard output, until the parent closes the pipe. Limits on memory and processor time
end a child whose request makes it misbehave.

All limits are hard limits, so a request that takes over its child cannot raise them. A hard limit
on processor time cannot be renewed for each request either: a child that has used up half of it
exits after its answer, and the parent starts another one for the next request.
"""

import contextlib
import os
import resource
import struct
import sys
from collections.abc import Callable
from math import ceil
from typing import BinaryIO

from dunwell.platform.children.child_pool import LENGTH
from dunwell.platform.children.confinement import drop_file_access, filter_calls


def shut_in(memory_bytes: int, cpu_seconds: int) -> None:
    """Limit and confine this process before it reads what strangers made.

    All that it needs must be imported and open. A request may take cpu_seconds of processor time at
    least, and twice as much at most.
    """
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_NPROC, 0)
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_CPU, ceil(_measure_cpu()) + 2 * cpu_seconds)
    lowest_free = _find_free_number()
    drop_file_access()
    # No file, pipe or socket can be opened from now on: there is no number left for one.
    _limit(resource.RLIMIT_NOFILE, lowest_free)
    filter_calls()


def serve(answer: Callable[[bytes], bytes], cpu_seconds: int) -> None:
    """Answer requests until the parent goes away, or until another request would not have
    cpu_seconds left."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    most, _ = resource.getrlimit(resource.RLIMIT_CPU)
    while (request := _read(requests)) is not None:
        answered = answer(request)
        answers.write(LENGTH.pack(len(answered)) + answered)
        answers.flush()
        if most != resource.RLIM_INFINITY and _measure_cpu() + cpu_seconds > most:
            return


def _measure_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _find_free_number() -> int:
    lowest_free = os.dup(0)
    os.close(lowest_free)
    return lowest_free


def _limit(kind: int, value: int) -> None:
    """Set the soft and the hard limit, or keep those of a system that allows even less."""
    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    # Some systems do not know every limit.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    try:
        (size,) = LENGTH.unpack(head)
    except struct.error:
        return None
    return stream.read(size)
