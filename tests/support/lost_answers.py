"""Stands between a process and its database, and loses what became of chosen statements: they are
done, the connection ends, and nobody is told."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from dunwell.platform.embedded.postgres import EmbeddedPostgres

_SOCKET = ".s.PGSQL.5432"
# PostgreSQL's protocol: done, and in no transaction any more.
_READY = b"Z\x00\x00\x00\x05I"


@dataclass
class Losses:
    """`url`: the database as seen through it. `sign`: in the values of statements whose outcome is
    lost, so many times."""

    url: str
    sign: bytes = b""
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
            if self.left > 0 and self.sign in data:
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
    """folder: where its socket is made; near the root, a socket's address being short."""
    address = urlsplit(postgres.url)
    upstream = f"{parse_qs(address.query)['host'][0]}/{_SOCKET}"
    losses = Losses(address._replace(query=f"host={quote(str(folder))}").geturl())

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await losses.serve(reader, writer, upstream)

    async with await asyncio.start_unix_server(serve, folder / _SOCKET):
        yield losses
