"""A receiver of webhooks that responds with 204 immediately. It runs in its own process and is
given its port."""

import asyncio
import sys
from typing import cast

import uvloop

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"


class _Receiver(asyncio.Protocol):
    """One connection. Requests must have a Content-Length."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not subclasses of asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        self._received = b""

    def data_received(self, data: bytes) -> None:
        self._received += data
        while (end := self._received.find(b"\r\n\r\n")) >= 0:
            head = self._received[:end].lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0])
            if len(self._received) < end + 4 + length:
                return
            self._received = self._received[end + 4 + length :]
            self._transport.write(_ANSWER)


async def serve(port: int) -> None:
    await asyncio.get_running_loop().create_server(_Receiver, "127.0.0.1", port)
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1])))
