"""The child process that parses strangers' files: `python -m dunwell.files.inspection_child`.

Reads a length and a file from standard input, writes a length and an answer to standard output,
until its parent closes the pipe. It holds no secret and opens no file; limits on memory and time
end it when a file makes it misbehave.
"""

import contextlib
import math
import resource
import struct
import sys
from typing import BinaryIO

import msgspec

from dunwell.errors import UnsupportedMediaType
from dunwell.files.content import find_content_type
from dunwell.files.inspection import LENGTH, Finding

_MEMORY_BYTES = 768 * 1024 * 1024
_CPU_SECONDS_PER_FILE = 8


def main() -> None:
    """Answer until the parent goes away."""
    _limit(resource.RLIMIT_AS, _MEMORY_BYTES)
    _limit(resource.RLIMIT_FSIZE, 0)
    _limit(resource.RLIMIT_CORE, 0)
    files, answers = sys.stdin.buffer, sys.stdout.buffer
    while (content := _read(files)) is not None:
        used = resource.getrusage(resource.RUSAGE_SELF)
        spent = math.ceil(used.ru_utime + used.ru_stime)
        _limit(resource.RLIMIT_CPU, spent + _CPU_SECONDS_PER_FILE)
        answer = msgspec.json.encode(_inspect(content))
        answers.write(LENGTH.pack(len(answer)) + answer)
        answers.flush()


def _limit(kind: int, value: int) -> None:
    """The soft limit only, so that the next file's may be higher."""
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


def _inspect(content: bytes) -> Finding:
    try:
        return Finding(content_type=find_content_type(content))
    except UnsupportedMediaType as refusal:
        return Finding(refusal=refusal.message)


if __name__ == "__main__":
    main()
