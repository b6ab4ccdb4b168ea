"""A small pool of child processes for work that may crash, stall or use too much memory. A child
gets one request and returns one answer, both as bytes."""

import asyncio
import contextlib
import inspect
import struct
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import Awaitable, Callable, Hashable, Sequence
from typing import Self, TypeAlias

from dunwell.platform.children.fair_queue import (
    UNLIMITED,
    FairQueue,
    QueueLimits,
    build_closing_error,
)

LENGTH = struct.Struct("!I")
# A child gets no environment, so that no secret of the parent reaches it.
_ENVIRONMENT: dict[str, str] = {}
# How many bytes of an answer are buffered before `exchange` reads them.
_READ_AHEAD_BYTES = 64 * 1024


class ChildProcess:
    """A started child. Its creator must call `kill`, and may then call `wait`."""

    def __init__(self, transport: asyncio.SubprocessTransport, process: Process) -> None:
        self._transport = transport
        self._process = process

    @classmethod
    async def start(cls, command: Sequence[str]) -> Self:
        """Start the child. Raises OSError. A cancellation kills the process."""
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
        """Send a request and return the answer. Raises OSError or EOFError if the child ends, and
        EOFError if the answer is too long."""
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

        Without closed pipes `wait` might never return: asyncio reports the end of a process only
        after its pipes have ended, and a pipe that still holds an unread answer never ends.
        """
        self._transport.close()

    async def wait(self) -> None:
        """Wait until the process has ended. Call `kill` first."""
        await self._process.wait()


# A request, or a function that reads it once a child is free, so that large waiting requests use no
# memory.
PoolRequest: TypeAlias = bytes | Callable[[], bytes | Awaitable[bytes]]


class ChildLost(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The child died while it worked on the request, took too long, or answered with too many
    bytes."""


class ChildPool:
    """A pool that is opened once in a process and closed at its end. Children start when they are
    first needed."""

    def __init__(
        self, module: str, *, size: int, timeout_seconds: float, max_answer_bytes: int,
        arguments: Sequence[str] = (), limits: QueueLimits = UNLIMITED,
    ) -> None:  # fmt: skip
        """`limits` says how many slots callers may use and how long they may wait. `arguments` are
        those of the child's command line, which other users of this machine can read."""
        self._command = (sys.executable, "-I", "-m", module, *arguments)
        self._timeout_seconds = timeout_seconds
        self._max_answer_bytes = max_answer_bytes
        # The slots of the queue limit the number of children.
        self._queue = FairQueue(size, limits)
        # Children that wait for a request, the most recently used one last.
        self._idle: list[ChildProcess] = []
        # Children that were killed and whose end is awaited.
        self._ending: set[ChildProcess] = set()
        # The deadlines of the requests that have a slot. Closing the pool shortens them.
        self._deadlines: set[asyncio.Timeout] = set()
        # When all requests end, by the event loop's clock. None while the pool is open.
        self._ends_at: float | None = None

    async def ask(
        self, request_source: PoolRequest, *, key: Hashable = "", size_bytes: int = 0
    ) -> bytes:
        """Return the answer to a request.

        `key` is the caller, whose jobs share a limit. `size_bytes` determines the position in the
        queue. Raises ChildLost, RateLimited, Unavailable, and OSError if no child can be started.
        """
        async with self._queue.slot(key, size_bytes):
            deadline = asyncio.timeout_at(self._ends_at)
            self._deadlines.add(deadline)
            try:
                async with deadline:
                    return await self._ask_free_child(await _read(request_source))
            except TimeoutError:
                if deadline.expired():
                    raise build_closing_error() from None
                raise
            finally:
                self._deadlines.discard(deadline)

    @property
    def is_closed(self) -> bool:
        return self._queue.is_closed

    async def close(self) -> None:
        """End the children and accept no more requests.

        Waiting requests are refused at once. A request that is being processed may take as long as
        any other request; after that it is refused. All children have been killed when this
        returns.
        """
        self._queue.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._timeout_seconds):
                await self._queue.wait_until_empty()
        self._ends_at = asyncio.get_running_loop().time()
        for deadline in self._deadlines:
            deadline.reschedule(self._ends_at)
        await self._queue.wait_until_empty()
        while self._idle:
            await self._end_child(self._idle.pop())
        # The requests of these children were cancelled while they awaited the end.
        while self._ending:
            await self._end_child(next(iter(self._ending)))

    async def _ask_free_child(self, request: bytes) -> bytes:
        child = self._pop_idle_child()
        if child is not None:
            answer = await self._ask_with_timeout(child, request)
            if answer is not None:
                return answer
        # A child that died may have died because of an earlier request, so this request gets a new
        # child.
        answer = await self._ask_with_timeout(await ChildProcess.start(self._command), request)
        if answer is None:
            raise ChildLost
        return answer

    def _pop_idle_child(self) -> ChildProcess | None:
        while self._idle:
            child = self._idle.pop()
            if child.is_running:
                return child
            child.kill()
        return None

    async def _ask_with_timeout(self, child: ChildProcess, request: bytes) -> bytes | None:
        """Return the answer, or None if the child died, took too long or answered with too many
        bytes."""
        try:
            async with asyncio.timeout(self._timeout_seconds):
                answer = await child.exchange(request, self._max_answer_bytes)
        except (TimeoutError, OSError, EOFError):
            await self._end_child(child)
            return None
        except BaseException:
            # Cancelled while the child is working.
            await self._end_child(child)
            raise
        self._idle.append(child)
        return answer

    async def _end_child(self, child: ChildProcess) -> None:
        child.kill()
        self._ending.add(child)
        await child.wait()
        self._ending.discard(child)


async def _read(request_source: PoolRequest) -> bytes:
    if isinstance(request_source, bytes):
        return request_source
    read = request_source()
    return await read if inspect.isawaitable(read) else read
