"""The highest cost that one connection can cause in a web process. Each attack is one connection
that repeats the most expensive request that it is allowed to make.

Each new limit needs a function here and a row in `ATTACKS`.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from tests.support.claims import a_claim

_CHUNK = 64 * 1024
_BOUNDARY = b"b0undary"
_MAX_JSON_BYTES = 10 * 1024 * 1024
# A placeholder in a request body; it is replaced by the number that makes the references unique.
_UNNUMBERED = b"--NUMBER"
_references = itertools.count()


@dataclass
class AttackedServer:
    """A web process behind a trusted proxy, and what an attacker knows of it."""

    port: int
    merchant_id: int
    token: str
    # The session cookie of a signed-in user.
    cookie: str
    # The path of the page that shows the letter of a draft.
    preview_path: str
    # How often each response status occurred.
    statuses: dict[int, int] = field(default_factory=dict)


@dataclass
class Connection:
    """One connection of the proxy, used by one visitor."""

    target: AttackedServer
    visitor: str
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, content: bytes) -> None:
        self.writer.write(content)
        await self.writer.drain()

    async def send_head(self, first: str, *headers: str) -> None:
        host = f"127.0.0.1:{self.target.port}"
        lines = [f"{first} HTTP/1.1", f"Host: {host}", f"X-Forwarded-For: {self.visitor}", *headers]
        await self.send("\r\n".join([*lines, "", ""]).encode())

    async def drip(self) -> None:
        """Send bytes just fast enough not to be rejected as slow."""
        while True:
            await asyncio.sleep(0.2)
            await self.send(b"a" * 256)

    async def read_status(self) -> None:
        line = await self.reader.readline()
        if line:
            status = int(line.split()[1])
            self.target.statuses[status] = self.target.statuses.get(status, 0) + 1
            await self.reader.read()


Attack: TypeAlias = Callable[[Connection], Awaitable[None]]


async def send_upload_as_a_stranger(connection: Connection) -> None:
    """Send a form with two files without signing in."""
    await _send_upload(connection, "")


async def send_upload_signed_in(connection: Connection) -> None:
    await _send_upload(connection, connection.target.cookie)


async def _send_upload(connection: Connection, cookie: str) -> None:
    size = 1024 * 1024 - 1024
    content = b"".join(
        b'--%s\r\nContent-Disposition: form-data; name="%s"; filename="a"\r\n\r\n%s\r\n'
        % (_BOUNDARY, name, b"a" * size)
        for name in (b"one", b"two")
    )
    await connection.send_head(
        f"POST /portal/m/{connection.target.merchant_id}/settings/file",
        f"Content-Type: multipart/form-data; boundary={_BOUNDARY.decode()}",
        f"Content-Length: {len(content) + 8_000}",
        f"Cookie: dunwell-portal={cookie}",
    )
    await _send_slowly_at_the_end(connection, [content])


async def send_form_as_a_stranger(connection: Connection) -> None:
    await connection.send_head(
        f"POST /portal/m/{connection.target.merchant_id}/bulk",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {250 * 1024}",
    )
    await _send_slowly_at_the_end(connection, [b"a" * 240 * 1024])


async def send_claims_slowly(connection: Connection) -> None:
    """Send a body of the maximum size that never ends."""
    await _send_claims(connection, is_whole=False)


async def send_claims(connection: Connection) -> None:
    """Send bodies of the maximum size repeatedly."""
    while True:
        await _send_claims(connection, is_whole=True)


async def _send_claims(connection: Connection, *, is_whole: bool) -> None:
    await connection.send_head(
        f"POST /api/merchants/{connection.target.merchant_id}/claims",
        f"Authorization: Bearer {connection.target.token}",
        "Content-Type: application/json",
        f"Content-Length: {sum(map(len, _make_claims()))}",
    )
    if is_whole:
        # Numbered one by one, because 200 bodies of the maximum size would not fit into memory.
        number = b"%08d" % next(_references)
        for part in _make_claims():
            await connection.send(part.replace(_UNNUMBERED, number))
        await connection.read_status()
    else:
        # Without the last claim.
        await _send_slowly_at_the_end(connection, _make_claims()[:-2])


@cache
def _make_claims() -> Sequence[bytes]:
    """Return a body of the maximum size, one part for each claim. Every byte is meaningful."""
    claims = [a_claim(f"{_UNNUMBERED.decode()}-{n}") for n in range(1_000)]
    item = {"reference": "x" * 200, "type": "PRIMARY", "value": "100"}
    room = _MAX_JSON_BYTES // len(claims) - len(json.dumps(claims[-1])) - 10
    for each in claims:
        each["items"] += [item] * (room // (len(json.dumps(item)) + 2))
    first, *others = (json.dumps(each).encode() for each in claims)
    return [b"[" + first, *(b", " + each for each in others), b"]"]


async def _send_slowly_at_the_end(connection: Connection, parts: Sequence[bytes]) -> None:
    """Send the parts, then more bytes slowly until there is a response or the connection ends."""

    async def send() -> None:
        with suppress(OSError):
            for part in parts:
                for start in range(0, len(part), _CHUNK):
                    await connection.send(part[start : start + _CHUNK])
            await connection.drip()

    sending = asyncio.create_task(send())
    try:
        await connection.read_status()
    finally:
        sending.cancel()


async def send_trailers(connection: Connection) -> None:
    """Send a complete body followed by trailers that do not end."""
    await connection.send_head(
        f"POST /api/merchants/{connection.target.merchant_id}/claims",
        f"Authorization: Bearer {connection.target.token}",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    )
    await connection.send(b"0\r\n")
    await _send_slowly_at_the_end(
        connection, [b"X-Trailer: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 50_000]
    )


async def send_pipelined_requests(connection: Connection) -> None:
    """Send pipelined requests and do not read the responses."""
    while True:
        await connection.send_head("GET /api/openapi.json")


async def request_previews(connection: Connection) -> None:
    """Request a page with a rendered letter repeatedly and read each response."""
    while True:
        await connection.send_head(
            f"GET /portal/m/{connection.target.merchant_id}{connection.target.preview_path}",
            f"Cookie: dunwell-portal={connection.target.cookie}",
            "Connection: close",
        )
        await connection.read_status()


# The attacks, each with the statuses that show that its limit works. Slow senders get the status
# for too many concurrent bodies, or on a busy machine the one for sending too slowly.
ATTACKS: Mapping[str, tuple[Attack, set[int]]] = {
    "a stranger's upload": (send_upload_as_a_stranger, {403}),
    "a stranger's form": (send_form_as_a_stranger, {403}),
    "a person's uploads": (send_upload_signed_in, {429}),
    "a person's previews": (request_previews, {429}),
    "claims, slowly": (send_claims_slowly, {429, 408}),
    "claims": (send_claims, {200}),
    "trailers": (send_trailers, {431}),
    # The responses are not read.
    "pipelined requests": (send_pipelined_requests, set()),
}


async def keep_attacking(target: AttackedServer, number: int, attack: Attack) -> None:
    """Attack on one connection as one visitor until cancelled. Open a new connection when the
    server closes it."""
    visitor = f"198.51.{100 + number // 250}.{number % 250}"
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
            try:
                await attack(Connection(target, visitor, reader, writer))
            finally:
                writer.close()
        await asyncio.sleep(0.05)
