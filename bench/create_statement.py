"""The statement that creates claims, compared with plain INSERTs of the same rows, in PostgreSQL
only.

The comparison uses the processor time of the server process on one connection, which excludes
waiting for the disk and for responses.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from itertools import count
from pathlib import Path
from typing import TypeAlias

from bench.captured import capture_creation
from bench.claims import reference_of
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, start_intake
from bench.pgbench import render_insert
from bench.rounds import Scale, alternate
from bench.stored_rows import list_tables
from dunwell.platform.database.database import Connection

# The number of claims in a statement -> the statements in a round.
_SETS = {1: 1_000, 20: 100, 500: 10}
_WARM_UP = 10
_NANOSECONDS = 1_000_000_000
_SAMPLE = range(1, 2)
_firsts = count(20_000_000, max(_SETS))
_Run: TypeAlias = Callable[[], Awaitable[object]]
_Store: TypeAlias = Callable[[Connection, range], Awaitable[_Run]]


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    await start_intake(ground, bench)
    lines = []
    async with ground.database.connection() as connection:
        for size, sets in _SETS.items():
            many = max(5, int(sets * scale.share))
            ours, reference = await alternate(
                scale,
                [
                    partial(_spend, connection, partial(_create, bench), size, many),
                    partial(_spend, connection, partial(_insert, bench), size, many),
                ],
            )
            lines.append(
                Line(
                    work=f"the statement that creates claims, {size} a set",
                    unit="claims/CPU s of the server", ours=ours,
                    beside="plain INSERTs of the same rows, a transaction a set",
                    reference=reference, at_least=1 / 1.3,
                )
            )  # fmt: skip
    return lines


async def _spend(connection: Connection, store: _Store, size: int, sets: int) -> float:
    """Return the claims per second of the server's processor time."""
    server = Path(f"/proc/{await connection.fetchval('SELECT pg_backend_pid()')}/schedstat")
    seconds = 0.0
    for turn in range(-_WARM_UP, sets):
        first = next(_firsts)
        run = await store(connection, range(first, first + size))
        before = _read_cpu(server)
        await run()
        # The server sends the result before it has finished its cleanup.
        await connection.fetchval("SELECT 1")
        if turn >= 0:
            seconds += _read_cpu(server) - before
    return size * sets / seconds


async def _create(bench: BenchMerchant, connection: Connection, numbers: range) -> _Run:
    statement = await capture_creation(bench, numbers)
    return partial(connection.fetch, statement.sql, *statement.values)


async def _insert(bench: BenchMerchant, connection: Connection, numbers: range) -> _Run:
    tables = list_tables(await capture_creation(bench, _SAMPLE), _SAMPLE.start)
    *of_claim, of_request = [
        render_insert(each, reference_of(_SAMPLE.start), "$1::text") for each in tables
    ]

    async def run() -> None:
        async with connection.transaction():
            for number in numbers:
                reference = reference_of(number)
                for insert in of_claim:
                    await connection.fetch(insert, *[reference] * ("$1" in insert))
            await connection.fetch(of_request)

    return run


def _read_cpu(server: Path) -> float:
    return int(server.read_text().split()[0]) / _NANOSECONDS
