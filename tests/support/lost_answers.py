"""A proxy between a process and its database that loses the results of chosen statements: the
statement is executed, and the connection closes before the result arrives."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from dunwell.platform.embedded.postgres import EmbeddedPostgres

_SOCKET = ".s.PGSQL.5432"
# The message "ready, not in a transaction" in the PostgreSQL protocol.
_READY = b"Z\x00\x00\x00\x05I"


@dataclass
class Losses:
    """`url` is the address of the database through the proxy. The results of the next few
    statements whose values contain `marker` are lost."""

    url: str
    marker: bytes = b""
    left: int = 0
    lost: int = 0

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: str
    ) -> None:
        answers, questions = await asyncio.open_unix_connection(upstream)
        is_losing = asyncio.Event()
        await asyncio.gather(
            self._pass_questions(reader, questions, is_losing),
            self._pass_answers(answers, writer, is_losing),
        )

    async def _pass_questions(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_losing: asyncio.Event
    ) -> None:
        while data := await reader.read(1_000_000):
            if self.left > 0 and self.marker in data:
                self.left -= 1
                is_losing.set()
            writer.write(data)
        writer.close()

    async def _pass_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_losing: asyncio.Event
    ) -> None:
        while data := await reader.read(1_000_000):
            if not is_losing.is_set():
                writer.write(data)
            elif _READY in data:
                self.lost += 1
                break
        writer.close()


@asynccontextmanager
async def losing(postgres: EmbeddedPostgres, folder: Path) -> AsyncIterator[Losses]:
    """Run the proxy. Its socket is created in `folder`, which must be near the root because the
    address of a socket is limited in length."""
    address = urlsplit(postgres.url)
    upstream = f"{parse_qs(address.query)['host'][0]}/{_SOCKET}"
    losses = Losses(address._replace(query=f"host={quote(str(folder))}").geturl())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await losses.serve(reader, writer, upstream)

    async with await asyncio.start_unix_server(serve, folder / _SOCKET):
        yield losses
