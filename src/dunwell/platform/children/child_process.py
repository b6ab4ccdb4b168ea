"""One child process, as its parent sees it: it takes a request and gives an answer, and it can be
ended at any moment, whatever is left in its pipes.
"""

import asyncio
import struct
from asyncio.subprocess import DEVNULL, PIPE, Process, SubprocessStreamProtocol
from collections.abc import Sequence
from typing import Self

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
