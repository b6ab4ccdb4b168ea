"""Stands between a process and its database, and tells when the process is at its commit.

Crash points by name: before the commit is sent on, or after it is done and before the process is
told so. The commit is that of a transaction under an Idempotency-Key, or of one that writes into
another table: a process has others of its own when it starts.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from dunwell.platform.embedded.postgres import EmbeddedPostgres

_SOCKET = ".s.PGSQL.5432"
# PostgreSQL's protocol: a simple query, and its end.
_COMMIT = b"Q\x00\x00\x00\x0cCOMMIT;\x00"
_COMMITTED = b"C\x00\x00\x00\x0bCOMMIT\x00"
_OF_KEYS = b"INTO idempotency_keys"


class Point(Enum):
    BEFORE = "before the commit"
    AFTER = "after the commit"


@dataclass
class CommitGate:
    """`url`: the database as seen through it. At the point `crash` is called, and nothing passes
    any more."""

    url: str
    point: Point
    # What a statement of that transaction has in it.
    sign_of_it: bytes = _OF_KEYS
    crash: Callable[[], None] = lambda: None
    is_shut: bool = field(default=False, init=False)

    async def pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, line: "_Line",
        sign: bytes | None,
    ) -> None:  # fmt: skip
        """Until the end of either side; or until `sign` is seen."""
        while data := await reader.read(65536):
            line.has_key = line.has_key or self.sign_of_it in data
            if sign is not None and sign in data and line.has_key:
                self.is_shut = True
                self.crash()
            if self.is_shut:
                break
            writer.write(data)
            await writer.drain()
        writer.close()


@dataclass
class _Line:
    """One connection; whether a key, or what else it is about, was stored on it."""

    has_key: bool = False


@asynccontextmanager
async def a_commit_gate(
    postgres: EmbeddedPostgres, folder: Path, point: Point, sign_of_it: bytes = _OF_KEYS
) -> AsyncIterator[CommitGate]:
    """folder: where its socket is made; near the root, a socket's address being short."""
    address = urlsplit(postgres.url)
    upstream = f"{parse_qs(address.query)['host'][0]}/{_SOCKET}"
    gate = CommitGate(
        address._replace(query=f"host={quote(str(folder))}").geturl(), point, sign_of_it
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs = await asyncio.open_unix_connection(upstream)
        line, is_before = _Line(), point is Point.BEFORE
        await asyncio.gather(
            gate.pass_on(reader, theirs[1], line, _COMMIT if is_before else None),
            gate.pass_on(theirs[0], writer, line, None if is_before else _COMMITTED),
            return_exceptions=True,
        )

    async with await asyncio.start_unix_server(serve, folder / _SOCKET):
        yield gate
