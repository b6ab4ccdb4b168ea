"""A proxy between a process and its database that reports when the process commits.

There are two crash points: before the commit is forwarded, and after it is done but before the
process learns of it. The commit is that of a transaction with an Idempotency-Key, or of one that
writes to another given table, because a process makes other commits when it starts.
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
# A simple query and its end in the PostgreSQL protocol.
_COMMIT = b"Q\x00\x00\x00\x0cCOMMIT;\x00"
_COMMITTED = b"C\x00\x00\x00\x0bCOMMIT\x00"
_OF_KEYS = b"INTO idempotency_keys"


class CrashPoint(Enum):
    BEFORE = "before the commit"
    AFTER = "after the commit"


@dataclass
class CommitGate:
    """`url` is the address of the database through the proxy. At the crash point it calls `crash`
    and forwards nothing more."""

    url: str
    point: CrashPoint
    # A part of a statement that identifies the transaction.
    transaction_sign: bytes = _OF_KEYS
    crash: Callable[[], None] = lambda: None
    is_shut: bool = field(default=False, init=False)

    async def pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: "_Connection",
        sign: bytes | None,
    ) -> None:  # fmt: skip
        """Forward bytes until either side closes the connection, or until `sign` is seen."""
        while data := await reader.read(65536):
            connection.has_key = connection.has_key or self.transaction_sign in data
            if sign is not None and sign in data and connection.has_key:
                self.is_shut = True
                self.crash()
            if self.is_shut:
                break
            writer.write(data)
            await writer.drain()
        writer.close()


@dataclass
class _Connection:
    """One connection, and whether the transaction in question was seen on it."""

    has_key: bool = False


@asynccontextmanager
async def a_commit_gate(
    postgres: EmbeddedPostgres, folder: Path, point: CrashPoint, transaction_sign: bytes = _OF_KEYS
) -> AsyncIterator[CommitGate]:
    """Run the proxy. Its socket is created in `folder`, which must be near the root because the
    address of a socket is limited in length."""
    address = urlsplit(postgres.url)
    upstream = f"{parse_qs(address.query)['host'][0]}/{_SOCKET}"
    gate = CommitGate(
        address._replace(query=f"host={quote(str(folder))}").geturl(), point, transaction_sign
    )

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        theirs = await asyncio.open_unix_connection(upstream)
        connection, is_before = _Connection(), point is CrashPoint.BEFORE
        await asyncio.gather(
            gate.pass_on(reader, theirs[1], connection, _COMMIT if is_before else None),
            gate.pass_on(theirs[0], writer, connection, None if is_before else _COMMITTED),
            return_exceptions=True,
        )

    async with await asyncio.start_unix_server(serve, folder / _SOCKET):
        yield gate
