"""A small pool of child processes that look into strangers' files, so that the web process never
parses one. A file that crashes, stalls or bloats its child costs that child and is refused.
"""

import asyncio
import contextlib
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process

import msgspec

from dunwell.errors import Unavailable, UnsupportedMediaType
from dunwell.files.content_types import ALLOWED_TYPES, refuse

LENGTH = struct.Struct("!I")
_CHILD = (sys.executable, "-I", "-m", "dunwell.files.inspection_child")
# No secret of the parent's environment reaches the child.
_ENVIRONMENT: dict[str, str] = {}
_MAX_ANSWER_BYTES = 4096
# Wall time; the child limits its own processor time to less.
_PATIENCE_SECONDS = 15.0


class Finding(msgspec.Struct, frozen=True):
    """The child's answer: a type, or the words of a refusal."""

    content_type: str | None = None
    refusal: str | None = None


class Inspector:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(self, size: int = 2, patience_seconds: float = _PATIENCE_SECONDS) -> None:
        self._size = size
        self._patience_seconds = patience_seconds
        # A place per child; None where none has been started yet.
        self._places: asyncio.LifoQueue[Process | None] = asyncio.LifoQueue()
        for _ in range(size):
            self._places.put_nowait(None)

    async def inspect(self, content: bytes) -> str:
        """The file's content type. Raises UnsupportedMediaType, Unavailable."""
        child = await self._places.get()
        try:
            was_used = child is not None and child.returncode is None
            child = await _ensure_running(child)
            finding = await self._ask_in_time(child, content)
            if finding is None and was_used:
                # It may have died of an earlier file, so this one gets a child of its own.
                child = await _ensure_running(None)
                finding = await self._ask_in_time(child, content)
        except BaseException:
            # Cancelled: the child may still be at work on this file.
            if child is not None:
                _end_child(child)
            raise
        finally:
            self._places.put_nowait(child)
        return _read_finding(finding)

    async def _ask_in_time(self, child: Process, content: bytes) -> Finding | None:
        """The answer; none when the child died of the file, or was ended for taking too long."""
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await _ask(child, content)
        except (TimeoutError, OSError, EOFError, msgspec.MsgspecError):
            _end_child(child)
            await child.wait()
            return None

    async def close(self) -> None:
        """End the children, each after its file; call when no more uploads come."""
        for _ in range(self._size):
            child = await self._places.get()
            if child is not None:
                _end_child(child)
                await child.wait()
        for _ in range(self._size):
            self._places.put_nowait(None)


async def _ensure_running(child: Process | None) -> Process:
    if child is not None and child.returncode is None:
        return child
    try:
        return await asyncio.create_subprocess_exec(
            *_CHILD, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_ENVIRONMENT, cwd="/"
        )
    except OSError as error:
        raise Unavailable("Files cannot be checked just now. Try again shortly.") from error


async def _ask(child: Process, content: bytes) -> Finding:
    assert child.stdin is not None
    assert child.stdout is not None
    child.stdin.write(LENGTH.pack(len(content)))
    child.stdin.write(content)
    await child.stdin.drain()
    (size,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
    answer = await child.stdout.readexactly(min(size, _MAX_ANSWER_BYTES))
    return msgspec.json.decode(answer, type=Finding)


def _end_child(child: Process) -> None:
    # It may be gone already.
    with contextlib.suppress(ProcessLookupError):
        child.kill()


def _read_finding(finding: Finding | None) -> str:
    if finding is None:
        raise refuse("The file takes too much time or memory to read.")
    if finding.content_type not in ALLOWED_TYPES:
        raise UnsupportedMediaType(finding.refusal or "", allowed=list(ALLOWED_TYPES))
    return finding.content_type
