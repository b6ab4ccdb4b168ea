"""A proxy between a worker and its database that loses the answer to chosen COMMITs. The client
never learns whether its transaction was committed."""

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
_LATE_SECONDS = 0.7


class Loss(Enum):
    DONE = "it is committed before the connection ends"
    LATE = "it is committed after the client has seen the connection end"
    NEVER = "it never reaches the server"


@dataclass
class CommitLosses:
    """`url` is the address of the database through the proxy. `choose` decides what happens to the
    next COMMIT of a transaction that contains the sign in one of its statements; with None it is
    forwarded."""

    url: str
    sign: bytes
    choose: Callable[[], Loss | None]
    lost: list[Loss] = field(default_factory=list)

    async def serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, upstream: str
    ) -> None:
        answers, questions = await asyncio.open_unix_connection(upstream)
        is_losing = asyncio.Event()
        passing = asyncio.create_task(self._pass_answers(answers, writer, is_losing))
        is_signed = False
        while data := await reader.read(1_000_000):
            is_signed = is_signed or self.sign in data
            loss = self.choose() if is_signed and _COMMIT in data else None
            if loss is None:
                questions.write(data)
                continue
            self.lost.append(loss)
            is_losing.set()
            if loss is Loss.NEVER:
                break
            if loss is Loss.LATE:
                writer.close()
                await asyncio.sleep(_LATE_SECONDS)
            questions.write(data)
            await passing
        questions.close()
        writer.close()

    async def _pass_answers(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_losing: asyncio.Event
    ) -> None:
        while data := await reader.read(1_000_000):
            if not is_losing.is_set():
                writer.write(data)
            elif _COMMITTED in data:
                break
        writer.close()


@asynccontextmanager
async def losing_commits(
    postgres: EmbeddedPostgres, folder: Path, sign: bytes, choose: Callable[[], Loss | None]
) -> AsyncIterator[CommitLosses]:
    """Run the proxy. Its socket is created in `folder`, which must be near the root because the
    address of a socket is limited in length."""
    address = urlsplit(postgres.url)
    upstream = f"{parse_qs(address.query)['host'][0]}/{_SOCKET}"
    url = address._replace(query=f"host={quote(str(folder))}").geturl()
    losses = CommitLosses(url, sign, choose)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await losses.serve(reader, writer, upstream)

    async with await asyncio.start_unix_server(serve, folder / _SOCKET):
        yield losses
