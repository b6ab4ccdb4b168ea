"""A small pool of child processes for work that may crash, stall or use too much memory: one
request in, one response out, as bytes.
"""

import asyncio
import contextlib
import inspect
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Self, TypeAlias

from dunwell.platform.children.fair_queue import UNLIMITED, FairQueue, QueueLimits, refuse_at_end

LENGTH = struct.Struct("!I")
# No secret of the parent's environment reaches a child.
_ENVIRONMENT: dict[str, str] = {}
# How much of an answer is read ahead of the request that waits for it.
_READ_AHEAD_BYTES = 64 * 1024


class ChildProcess:
    """A started child. Whoever starts it ends it by `kill`, and may `wait` for it to be gone."""

    def __init__(self, transport: asyncio.SubprocessTransport, process: Process) -> None:
        self._transport = transport
        self._process = process

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        """Raises OSError. When this is cancelled, no process is left."""
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=_READ_AHEAD_BYTES, loop=loop),
            *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=_ENVIRONMENT, cwd="/",
        )  # fmt: skip
        return cls(transport, Process(transport, protocol, loop))

    @property
    def is_running(self) -> bool:
        return self._process.returncode is None

    async def exchange(self, request: bytes, max_answer_bytes: int) -> bytes:
        """Raises OSError or EOFError when the child ends, and EOFError for a longer answer."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(LENGTH.pack(len(request)))
        stdin.write(request)
        await stdin.drain()
        (size,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
        if size > max_answer_bytes:
            raise EOFError
        return await stdout.readexactly(size)

    def kill(self) -> None:
        """End the child and close both pipes.

        Closing the pipes is what makes `wait` return: asyncio reports the end of a process only
        after its pipes have ended, and a pipe that is no longer read never ends while an answer is
        left in it.
        """
        self._transport.close()

    async def wait(self) -> None:
        """Return when the process is gone; to be called after `kill`."""
        await self._process.wait()


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
        self._patience_seconds = patience_seconds
        self._max_answer_bytes = max_answer_bytes
        # Its slots are what limits the number of children.
        self._queue = FairQueue(size, limits)
        # Children that wait for a request, the one used last at the end.
        self._idle: list[ChildProcess] = []
        # The requests that have a slot; closing the pool brings their ends forward.
        self._deadlines: set[asyncio.Timeout] = set()
        # When they all end, on the event loop's clock; None while the pool is open.
        self._ends_at: float | None = None

    async def ask(self, asked: Asked, *, key: Hashable = "", size_bytes: int = 0) -> bytes:
        """Answer a request. key: who asks, whose jobs share a bound; size_bytes: what the request
        costs, for the order of the queue.

        Raises ChildLost, RateLimited, Unavailable, and OSError when no child can be started.
        """
        async with self._queue.slot(key, size_bytes):
            deadline = asyncio.timeout_at(self._ends_at)
            self._deadlines.add(deadline)
            try:
                async with deadline:
                    return await self._ask_free_child(await _read(asked))
            except TimeoutError:
                if deadline.expired():
                    raise refuse_at_end() from None
                raise
            finally:
                self._deadlines.discard(deadline)

    @property
    def is_closed(self) -> bool:
        return self._queue.is_closed

    async def close(self) -> None:
        """End the children and take no more requests.

        What waits for a child is refused at once. A request that is being worked on may take as
        long as any other one and is refused then. No child is left afterwards.
        """
        self._queue.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._patience_seconds):
                await self._queue.wait_until_empty()
        self._ends_at = asyncio.get_running_loop().time()
        for deadline in self._deadlines:
            deadline.reschedule(self._ends_at)
        await self._queue.wait_until_empty()
        while self._idle:
            await _end(self._idle.pop())

    async def _ask_free_child(self, request: bytes) -> bytes:
        child = self._find_idle()
        if child is not None:
            answer = await self._ask_in_time(child, request)
            if answer is not None:
                return answer
        # A child that died may have died of an earlier request, so this one gets a child of its
        # own.
        answer = await self._ask_in_time(await ChildProcess.start(self._command), request)
        if answer is None:
            raise ChildLost
        return answer

    def _find_idle(self) -> ChildProcess | None:
        while self._idle:
            child = self._idle.pop()
            if child.is_running:
                return child
            child.kill()
        return None

    async def _ask_in_time(self, child: ChildProcess, request: bytes) -> bytes | None:
        """None when the child died, or was ended for taking too long or answering too much."""
        try:
            async with asyncio.timeout(self._patience_seconds):
                answer = await child.exchange(request, self._max_answer_bytes)
        except (TimeoutError, OSError, EOFError):
            await _end(child)
            return None
        except BaseException:
            # Cancelled, with the child still at work.
            await _end(child)
            raise
        self._idle.append(child)
        return answer


async def _read(asked: Asked) -> bytes:
    if isinstance(asked, bytes):
        return asked
    read = asked()
    return await read if inspect.isawaitable(read) else read


async def _end(child: ChildProcess) -> None:
    child.kill()
    await child.wait()
