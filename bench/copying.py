"""COPY of the rows that the service writes for a request, into the same tables.

Claim ids are drawn and the text is prepared before the measurement. What is measured is PostgreSQL
storing the rows, with all indexes and constraints and one commit for the claims of a request.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any

import asyncpg
import msgspec

from bench.captured import Statement, capture_creation
from bench.environment import Ground
from bench.merchant import BenchMerchant
from bench.stored_rows import Row, list_tables

_ESCAPES = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})


@dataclass(frozen=True, slots=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    text: bytes


async def copy_claims(
    ground: Ground, bench: BenchMerchant, batches: Sequence[range], connections: int
) -> float:
    """Return the claims per second over this number of connections, with one transaction for each
    range of claim numbers."""
    prepared = [
        _prepare(await capture_creation(bench, numbers), numbers.start) for numbers in batches
    ]
    left = iter(prepared)
    pool = [await asyncpg.connect(ground.embedded.url) for _ in range(connections)]
    started = time.perf_counter()
    await asyncio.gather(*(_copy_all(connection, left) for connection in pool))
    seconds = time.perf_counter() - started
    for connection in pool:
        await connection.close()
    return sum(len(numbers) for numbers in batches) / seconds


async def _copy_all(connection: asyncpg.Connection, left: Any) -> None:
    for tables in left:
        async with connection.transaction():
            for table in tables:
                await connection.copy_to_table(
                    table.name, source=_stream(table.text), columns=table.columns
                )


async def _stream(text: bytes) -> AsyncIterator[bytes]:
    yield text


def _prepare(statement: Statement, first_id: int) -> list[_Table]:
    return [_table(each.name, each.rows) for each in list_tables(statement, first_id)]


def _table(name: str, rows: Sequence[Row]) -> _Table:
    lines = ["\t".join(_render(value) for value in row.values()) for row in rows]
    return _Table(name, tuple(rows[0]), ("\n".join(lines) + "\n").encode())


def _render(value: Any) -> str:
    if value is None:
        return r"\N"
    text = msgspec.json.encode(value).decode() if isinstance(value, dict) else str(value)
    return text.translate(_ESCAPES)
