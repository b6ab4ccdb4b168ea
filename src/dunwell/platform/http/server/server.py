"""Serves an application on `HttpConnection`. uvicorn opens and closes the
sockets and stops the server on a signal."""

import asyncio
import ctypes
import socket
import struct
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from dunwell.platform.http.server.connection import HttpConnection
from dunwell.platform.http.server.limits import ConnectionBounds, ServerLimits

# Of Linux; the module `socket` does not name it.
_SO_ATTACH_FILTER = 26
# A classic BPF program, which sees a packet from its TCP header on. It drops what begins a
# connection (SYN without ACK), and takes the rest of handshakes that have begun.
_DROP_BEGINNINGS = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # Load the byte with the flags,
        (0x54, 0, 0, 0x12),  # keep SYN and ACK of it;
        (0x15, 0, 1, 0x02),  # if it is SYN alone,
        (0x06, 0, 0, 0),  # drop the packet,
        (0x06, 0, 0, 0xFFFFFFFF),  # else take it whole.
    )
)
# For the end of a handshake that has begun: more than a round trip between two hosts of a site.
_HANDSHAKE_SECONDS = 0.05
_LOOK_SECONDS = 0.05
# Unused connections are closed by then; a head that has not ended is not waited for.
_MAX_DRAIN_SECONDS = ServerLimits().drain_seconds + ServerLimits().examine_seconds


def build_server(
    app: ASGIApp, bounds: ConnectionBounds, *, grace_seconds: int = 20,
    kind: type[uvicorn.Server] = uvicorn.Server,
) -> uvicorn.Server:  # fmt: skip
    """Build a server for `app` that logs no requests and believes no header about their origin.

    grace_seconds: how long requests may still take once the server has to stop. Then they are
    cancelled, so that no client can keep the process from ending.
    """
    protocol: Any = partial(HttpConnection, bounds=bounds)
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=grace_seconds,
    )
    return kind(config)


class DrainingServer(uvicorn.Server):
    """A server that is restarted while a proxy sends it requests, and loses none of them.

    uvicorn closes the listening socket and all unused connections at once, and with them requests
    that a client has sent and this process has not read. A proxy must not repeat a POST of which it
    does not know whether it was done, so it would answer 502. This server first takes every
    connection that the kernel has accepted, and answers one more request of each connection.

    Only for a process that alone listens on its sockets: no other one could accept afterwards.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._accept_last(sockets or [])
        for server in self.servers:
            server.close()
        connections: Any = self.server_state.connections
        for each in list(connections):
            each.drain()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _MAX_DRAIN_SECONDS
        while any(each.awaits_request for each in connections) and not self.force_exit:
            if loop.time() > deadline:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        await super().shutdown(sockets)

    async def _accept_last(self, sockets: Sequence[socket.socket]) -> None:
        build_protocol: Any = self.config.http_protocol_class
        protocol = partial(
            build_protocol, config=self.config, server_state=self.server_state,
            app_state=self.lifespan.state,
        )  # fmt: skip
        for listening in sockets:
            _drop_beginnings(listening)
        await asyncio.sleep(_HANDSHAKE_SECONDS)
        loop = asyncio.get_running_loop()
        for listening in sockets:
            for accepted in _accept_all(listening):
                await loop.connect_accepted_socket(protocol, accepted)


def _drop_beginnings(listening: socket.socket) -> None:
    """Let the kernel begin no further connection, so that none is reset when the socket is closed.
    A client that tries meanwhile tries again after a second, and is refused then."""
    if sys.platform == "linux":
        program = ctypes.create_string_buffer(_DROP_BEGINNINGS, len(_DROP_BEGINNINGS))
        # The layout of struct sock_fprog: a number of instructions, and where they are.
        given = struct.pack("HP", len(program) // 8, ctypes.addressof(program))
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, given)


def _accept_all(listening: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that the kernel has accepted and this process has not taken yet."""
    listening.settimeout(0)
    while True:
        try:
            accepted, _ = listening.accept()
        except OSError:
            return
        accepted.settimeout(0)
        yield accepted
