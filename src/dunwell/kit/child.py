"""The child's side of `kit.child_pool`: read a length and a request from standard input, write a
length and an answer to standard output, until the parent closes the pipe. Limits on memory and
processor time end a child whose request makes it misbehave.
"""

import contextlib
import math
import os
import resource
import struct
import sys
from collections.abc import Callable
from typing import BinaryIO

from dunwell.kit.child_pool import LENGTH
from dunwell.kit.confinement import confine


def limit_memory(memory_bytes: int) -> None:
    """And let nothing be written to any file."""
    _limit(resource.RLIMIT_AS, memory_bytes)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)


def shut_in(memory_bytes: int) -> None:
    """What a child does before it reads what strangers made; all it needs must be imported. As root
    the number of processes has no limit but the filter."""
    limit_memory(memory_bytes)
    _limit(resource.RLIMIT_NPROC, 0)
    lowest_free = _find_free_number()
    confine()
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, lowest_free))


def open_nothing_more() -> None:
    """From now on no file, no pipe and no socket can be opened: there is no number left for one."""
    lowest_free = _find_free_number()
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, lowest_free))


def _find_free_number() -> int:
    lowest_free = os.dup(0)
    os.close(lowest_free)
    return lowest_free


def serve(answer: Callable[[bytes], bytes], cpu_seconds: int) -> None:
    """Answer until the parent goes away; each request may take so much processor time."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while (request := _read(requests)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        _limit(resource.RLIMIT_CPU, math.ceil(used.ru_utime + used.ru_stime) + cpu_seconds)
        answered = answer(request)
        answers.write(LENGTH.pack(len(answered)) + answered)
        answers.flush()


def _limit(kind: int, value: int) -> None:
    """The soft limit only, so that the next request's may be higher."""
    _, hard = resource.getrlimit(kind)
    # A system without this limit, or with a lower one, keeps its own.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, hard))


def _read(stream: BinaryIO) -> bytes | None:
    head = stream.read(LENGTH.size)
    if len(head) < LENGTH.size:
        return None
    try:
        (size,) = LENGTH.unpack(head)
    except struct.error:
        return None
    return stream.read(size)
