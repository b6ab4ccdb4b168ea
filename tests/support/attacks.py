"""What one connection may cost a web process at worst: each attack is one connection that does the
most expensive thing that it is allowed to do, until it is answered.

Where a limit is added, its attack is one more function here and one more row of `ATTACKS`.
"""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from tests.support.claims import a_claim

_CHUNK = 64 * 1024
_BOUNDARY = b"b0undary"
_MAX_JSON_BYTES = 10 * 1024 * 1024
# What stands in a body for the number that makes its references its own.
_UNNUMBERED = b"--NUMBER"
_references = itertools.count()


@dataclass
class Target:
    """A web process behind a trusted proxy, and what an attacker may have there."""

    port: int
    merchant_id: int
    token: str
    # Of the session of a person who is signed in.
    cookie: str
    # A letter of a draft, as a page that shows it.
    preview_path: str
    # Statuses of the answers, by how often they came.
    statuses: dict[int, int] = field(default_factory=dict)


@dataclass
class Connection:
    """One connection of the proxy, on which one visitor speaks."""

    target: Target
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
        """Fast enough that nobody calls it slow."""
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
    """A form with two files, from somebody who is not signed in."""
    await _send_upload(connection, "")


async def send_upload_signed_in(connection: Connection) -> None:
    await _send_upload(connection, connection.target.cookie)


async def _send_upload(connection: Connection, cookie: str) -> None:
    size = 1024 * 1024 - 1024
    parts = b"".join(
        b'--%s\r\nContent-Disposition: form-data; name="%s"; filename="a"\r\n\r\n%s\r\n'
        % (_BOUNDARY, name, b"a" * size)
        for name in (b"one", b"two")
    )
    await connection.send_head(
        f"POST /portal/m/{connection.target.merchant_id}/settings/file",
        f"Content-Type: multipart/form-data; boundary={_BOUNDARY.decode()}",
        f"Content-Length: {len(parts) + 8_000}",
        f"Cookie: dunwell-portal={cookie}",
    )
    await _send_slowly_at_the_end(connection, parts)


async def send_form_as_a_stranger(connection: Connection) -> None:
    await connection.send_head(
        f"POST /portal/m/{connection.target.merchant_id}/bulk",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {250 * 1024}",
    )
    await _send_slowly_at_the_end(connection, b"a" * 240 * 1024)


async def send_claims_slowly(connection: Connection) -> None:
    """The largest body there is, which does not come to its end."""
    await _send_claims(connection, is_whole=False)


async def send_claims(connection: Connection) -> None:
    """The largest body there is, again and again."""
    while True:
        await _send_claims(connection, is_whole=True)


async def _send_claims(connection: Connection, *, is_whole: bool) -> None:
    body = make_claims()
    await connection.send_head(
        f"POST /api/merchants/{connection.target.merchant_id}/claims",
        f"Authorization: Bearer {connection.target.token}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
    )
    if is_whole:
        await connection.send(body)
        await connection.read_status()
    else:
        await _send_slowly_at_the_end(connection, body[:-8_000])


def make_claims() -> bytes:
    """As many bytes as a request may have, each of which has its use."""
    return _write_claims().replace(_UNNUMBERED, b"%08d" % next(_references))


@cache
def _write_claims() -> bytes:
    claims = [a_claim(f"{_UNNUMBERED.decode()}-{n}") for n in range(1_000)]
    item = {"reference": "x" * 200, "type": "PRIMARY", "value": "100"}
    room = _MAX_JSON_BYTES // len(claims) - len(json.dumps(claims[-1])) - 10
    for each in claims:
        each["items"] += [item] * (room // (len(json.dumps(item)) + 2))
    return json.dumps(claims).encode()


async def _send_slowly_at_the_end(connection: Connection, content: bytes) -> None:
    """Until an answer comes, or the end of the connection."""

    async def send() -> None:
        with suppress(OSError):
            for start in range(0, len(content), _CHUNK):
                await connection.send(content[start : start + _CHUNK])
            await connection.drip()

    sending = asyncio.create_task(send())
    try:
        await connection.read_status()
    finally:
        sending.cancel()


async def send_trailers(connection: Connection) -> None:
    """A body that has ended, and headers behind it that do not end."""
    await connection.send_head(
        f"POST /api/merchants/{connection.target.merchant_id}/claims",
        f"Authorization: Bearer {connection.target.token}",
        "Content-Type: application/json",
        "Transfer-Encoding: chunked",
    )
    await connection.send(b"0\r\n")
    await _send_slowly_at_the_end(
        connection, b"X-Trailer: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" * 50_000
    )


async def send_ahead(connection: Connection) -> None:
    """Requests one behind the other, whose responses nobody reads."""
    while True:
        await connection.send_head("GET /api/openapi.json")


async def ask_for_previews(connection: Connection) -> None:
    """A page with a printed letter, of which the response is read each time."""
    while True:
        await connection.send_head(
            f"GET /portal/m/{connection.target.merchant_id}{connection.target.preview_path}",
            f"Cookie: dunwell-portal={connection.target.cookie}",
            "Connection: close",
        )
        await connection.read_status()


# Each with the answers that show its limit: to those who send slowly, that they send too much at
# once, or on a busy machine that they are too slow.
ATTACKS: Mapping[str, tuple[Attack, set[int]]] = {
    "a stranger's upload": (send_upload_as_a_stranger, {403}),
    "a stranger's form": (send_form_as_a_stranger, {403}),
    "a person's uploads": (send_upload_signed_in, {429}),
    "a person's previews": (ask_for_previews, {429}),
    "claims, slowly": (send_claims_slowly, {429, 408}),
    "claims": (send_claims, {200}),
    "trailers": (send_trailers, {431}),
    # Nobody reads what is answered.
    "requests ahead": (send_ahead, set()),
}


async def keep_attacking(target: Target, number: int, attack: Attack) -> None:
    """One connection, as a visitor of its own, until it is cancelled; opened anew when it is
    closed."""
    visitor = f"198.51.{100 + number // 250}.{number % 250}"
    while True:
        with suppress(OSError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
            try:
                await attack(Connection(target, visitor, reader, writer))
            finally:
                writer.close()
        await asyncio.sleep(0.05)
