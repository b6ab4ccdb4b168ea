"""A small pool of child processes for work that may crash, stall or bloat: one request in, one
answer out, as bytes. Whatever a request does costs the child it was given to, and nothing else.
Who gets a child next is decided by `kit.children.fair_queue`.

The children hold no secret and limit themselves (`kit.children.child`); this is the parent's side.
"""

import asyncio
import contextlib
import inspect
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import TypeAlias

from dunwell.kit.children.fair_queue import UNLIMITED, FairQueue, QueueLimits

LENGTH = struct.Struct("!I")
# No secret of the parent's environment reaches a child.
_ENVIRONMENT: dict[str, str] = {}

# A request, or what reads it when a child is free to take it, so that nothing large waits in
# memory.
Asked: TypeAlias = bytes | Callable[[], bytes | Awaitable[bytes]]


class ChildLost(Exception):  # noqa: N818 - reads as what happened
    """The child died of the request, or took too long over it."""


class ChildPool:
    """Opened once in a process and closed at its end; children start when first needed."""

    def __init__(
        self, module: str, *, size: int, patience_seconds: float, max_answer_bytes: int,
        arguments: Sequence[str] = (), limits: QueueLimits = UNLIMITED,
    ) -> None:  # fmt: skip
        """limits: what callers may use and how long they may wait.

        arguments: of the child's command line, which other users of this machine can read."""
        self._command = (sys.executable, "-I", "-m", module, *arguments)
        self._size = size
        self._patience_seconds = patience_seconds
        self._max_answer_bytes = max_answer_bytes
        self._queue = FairQueue(size, limits)
        # A place per child; None where none has been started yet.
        self._places: asyncio.LifoQueue[Process | None] = asyncio.LifoQueue()
        for _ in range(size):
            self._places.put_nowait(None)

    async def ask(self, asked: Asked, *, key: Hashable = "", size_bytes: int = 0) -> bytes:
        """Answer a request. key: who asks, whose jobs share a bound; size_bytes: what the request
        costs, for the order of the queue.

        Raises ChildLost, RateLimited, Unavailable, and OSError when no child can be started.
        """
        async with self._queue.slot(key, size_bytes):
            return await self._ask_free_child(asked)

    async def _ask_free_child(self, asked: Asked) -> bytes:
        child = await self._places.get()
        try:
            request = await _read(asked)
            was_used = child is not None and child.returncode is None
            child = await self._ensure_running(child)
            answer = await self._ask_in_time(child, request)
            if answer is None and was_used:
                # It may have died of an earlier request, so this one gets a child of its own.
                child = await self._ensure_running(None)
                answer = await self._ask_in_time(child, request)
        except BaseException:
            # Cancelled: the child may still be at work.
            if child is not None:
                _end_child(child)
            raise
        finally:
            self._places.put_nowait(child)
        if answer is None:
            raise ChildLost
        return answer

    async def close(self) -> None:
        """End the children, each after its request; call when no more come."""
        for _ in range(self._size):
            child = await self._places.get()
            if child is not None:
                _end_child(child)
                await child.wait()
        for _ in range(self._size):
            self._places.put_nowait(None)

    async def _ensure_running(self, child: Process | None) -> Process:
        if child is not None and child.returncode is None:
            return child
        return await asyncio.create_subprocess_exec(
            *self._command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_ENVIRONMENT, cwd="/"
        )

    async def _ask_in_time(self, child: Process, request: bytes) -> bytes | None:
        """None when the child died, or was ended for taking too long or saying too much."""
        try:
            async with asyncio.timeout(self._patience_seconds):
                return await self._exchange(child, request)
        except (TimeoutError, OSError, EOFError):
            _end_child(child)
            await child.wait()
            return None

    async def _exchange(self, child: Process, request: bytes) -> bytes:
        assert child.stdin is not None
        assert child.stdout is not None
        child.stdin.write(LENGTH.pack(len(request)))
        child.stdin.write(request)
        await child.stdin.drain()
        (size,) = LENGTH.unpack(await child.stdout.readexactly(LENGTH.size))
        if size > self._max_answer_bytes:
            raise EOFError
        return await child.stdout.readexactly(size)


async def _read(asked: Asked) -> bytes:
    if isinstance(asked, bytes):
        return asked
    read = asked()
    return await read if inspect.isawaitable(read) else read


def _end_child(child: Process) -> None:
    # It may be gone already.
    with contextlib.suppress(ProcessLookupError):
        child.kill()
