"""Serve an application on `HttpConnection`. uvicorn opens and closes the sockets and stops the
server on a signal."""

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

# A Linux constant that the module `socket` does not have.
_SO_ATTACH_FILTER = 26
# A classic BPF program that gets a packet from its TCP header on. It drops packets that begin a
# connection (SYN without ACK) and accepts those of handshakes that have already begun.
_DROP_NEW_CONNECTIONS = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # Load the byte with the flags.
        (0x54, 0, 0, 0x12),  # Keep only SYN and ACK.
        (0x15, 0, 1, 0x02),  # If only SYN is set,
        (0x06, 0, 0, 0),  # drop the packet,
        (0x06, 0, 0, 0xFFFFFFFF),  # else accept it completely.
    )
)
# The time to complete a handshake, longer than a round trip between two hosts of one site.
_HANDSHAKE_SECONDS = 0.05
_CHECK_SECONDS = 0.05
# How long to wait for the last requests. By then idle connections are closed, and a head that is
# still incomplete is given up.
_MAX_DRAIN_SECONDS = ServerLimits().drain_seconds + ServerLimits().examine_seconds


def build_server(
    app: ASGIApp, bounds: ConnectionBounds, *, grace_seconds: int = 20,
    kind: type[uvicorn.Server] = uvicorn.Server,
) -> uvicorn.Server:  # fmt: skip
    """Build a server for `app`. It logs no requests and trusts no header about their origin.

    `grace_seconds` is how long requests may still take when the server is shutting down. After that
    they are cancelled, so that no client can keep the process from ending.
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
    """A server that can be restarted behind a proxy without losing a request.

    uvicorn closes the listening socket and all idle connections at once, and thereby loses requests
    that were sent but not read yet. A proxy must not repeat a POST that may have been executed, so
    it would respond with 502. This server first accepts every connection that the kernel has
    already accepted, and then answers one more request on each connection.

    Use it only if no other process listens on these sockets, because none could accept connections
    afterwards.
    """

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._accept_last(sockets or [])
        for server in self.servers:
            server.close()
        connections: Any = self.server_state.connections
        for connection in list(connections):
            connection.drain()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _MAX_DRAIN_SECONDS
        while any(connection.awaits_request for connection in connections) and not self.force_exit:
            if loop.time() > deadline:
                break
            await asyncio.sleep(_CHECK_SECONDS)
        await super().shutdown(sockets)

    async def _accept_last(self, sockets: Sequence[socket.socket]) -> None:
        build_protocol: Any = self.config.http_protocol_class
        protocol = partial(
            build_protocol, config=self.config, server_state=self.server_state,
            app_state=self.lifespan.state,
        )  # fmt: skip
        for listening in sockets:
            _drop_new_connections(listening)
        await asyncio.sleep(_HANDSHAKE_SECONDS)
        loop = asyncio.get_running_loop()
        for listening in sockets:
            for accepted in _accept_all(listening):
                await loop.connect_accepted_socket(protocol, accepted)


def _drop_new_connections(listening: socket.socket) -> None:
    """Let the kernel start no new connections, so that none is reset when the socket is closed. A
    client that connects in the meantime tries again after a second and is then refused."""
    if sys.platform == "linux":
        program = ctypes.create_string_buffer(_DROP_NEW_CONNECTIONS, len(_DROP_NEW_CONNECTIONS))
        # The layout of struct sock_fprog: the number of instructions and their address.
        sock_fprog = struct.pack("HP", len(program) // 8, ctypes.addressof(program))
        listening.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, sock_fprog)


def _accept_all(listening: socket.socket) -> Iterator[socket.socket]:
    """Yield the connections that the kernel has accepted and this process has not."""
    listening.settimeout(0)
    while True:
        try:
            accepted, _ = listening.accept()
        except OSError:
            return
        accepted.settimeout(0)
        yield accepted
