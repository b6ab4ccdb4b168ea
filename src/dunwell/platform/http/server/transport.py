"""The socket of one connection, with flow control in both directions."""

import asyncio
import fcntl
import struct
import termios

from dunwell.platform.http.server.limits import ServerLimits


class ClientTransport:
    """Pauses reading, counts written bytes, and notices clients that do not read."""

    def __init__(self, transport: asyncio.Transport, limits: ServerLimits) -> None:
        self._transport = transport
        self.server = _find_address(transport, "sockname")
        self.client = _find_address(transport, "peername")
        self.is_paused = False
        self._can_write = asyncio.Event()
        self._can_write.set()
        self._written = 0
        self._pace = TransferPace(limits.response_bytes, limits.response_seconds)

    def set_paused(self, is_paused: bool) -> None:  # noqa: FBT001 - a setter
        """Stop or resume reading from the network. Meanwhile the data stays in the client's own
        buffers."""
        if is_paused == self.is_paused or self._transport.is_closing():
            return
        self.is_paused = is_paused
        if is_paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def write(self, data: bytes) -> None:
        self._written += len(data)
        self._transport.write(data)

    async def drain(self) -> None:
        """Wait until the client has read enough for more to be written."""
        if not self._can_write.is_set():
            await self._can_write.wait()

    def set_writable(self, is_writable: bool) -> None:  # noqa: FBT001 - a setter
        if is_writable:
            self._can_write.set()
        else:
            self._can_write.clear()

    def is_client_too_slow(self, now: float) -> bool:
        """Return whether the client reads too slowly."""
        waiting = self._transport.get_write_buffer_size()
        if not waiting:
            return self._pace.is_too_slow(now, None)
        return self._pace.is_too_slow(now, self._written - waiting - self._count_unacknowledged())

    def _count_unacknowledged(self) -> int:
        """Count the bytes in the socket's buffer that the client's machine has not acknowledged, 0
        on systems that do not report it. The buffer takes megabytes at once and then nothing for
        minutes, so a slow client would otherwise look as if it had stopped."""
        connection = self._transport.get_extra_info("socket")
        try:
            count = fcntl.ioctl(connection.fileno(), termios.TIOCOUTQ, bytes(4))
        except OSError:
            return 0
        return int(struct.unpack("i", count)[0])

    def end_output(self) -> None:
        """Tell the client that no more data follows."""
        if self._transport.can_write_eof():
            self._transport.write_eof()

    def close(self) -> None:
        """Close the connection once the client has read everything."""
        self._transport.close()

    def abort(self) -> None:
        """Close the connection immediately."""
        self._transport.abort()


class TransferPace:
    """Checks that a count grows by a minimum in each period."""

    def __init__(self, min_growth: int, seconds: float) -> None:
        self._min_growth = min_growth
        self._seconds = seconds
        self._began: float | None = None
        self._count = 0

    def is_too_slow(self, now: float, count: int | None) -> bool:
        """Return whether a period ends now with too little growth. `count` is None while it need
        not grow."""
        if count is None or self._began is None:
            self._began = None if count is None else now
            self._count = count or 0
            return False
        if now - self._began < self._seconds:
            return False
        grown = count - self._count
        self._began, self._count = now, count
        return grown < self._min_growth


def _find_address(transport: asyncio.BaseTransport, name: str) -> tuple[str, int] | None:
    address = transport.get_extra_info(name)
    return (str(address[0]), int(address[1])) if isinstance(address, tuple) else None
