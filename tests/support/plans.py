"""The plan of a query and the number of rows that it reads."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from dunwell.platform.database.database import Connection, Database

Plan = dict[str, Any]


class Explaining:
    """A connection that records the plan of each statement: it runs the statement once with EXPLAIN
    in a transaction that it rolls back, and then runs it normally."""

    def __init__(self, tx: Connection) -> None:
        self._tx = tx
        self.plans: list[Plan] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._tx, name)

    async def fetch(self, statement: str, *values: Any) -> Any:
        await self._explain(statement, values)
        return await self._tx.fetch(statement, *values)

    async def fetchrow(self, statement: str, *values: Any) -> Any:
        await self._explain(statement, values)
        return await self._tx.fetchrow(statement, *values)

    async def fetchval(self, statement: str, *values: Any) -> Any:
        await self._explain(statement, values)
        return await self._tx.fetchval(statement, *values)

    async def _explain(self, statement: str, values: tuple[Any, ...]) -> None:
        attempt = self._tx.transaction()
        await attempt.start()
        explain = f"EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) {statement}"
        [explained] = await self._tx.fetchval(explain, *values)
        await attempt.rollback()
        self.plans.append(explained["Plan"])

    @property
    def nodes(self) -> list[Plan]:
        return [node for plan in self.plans for node in walk(plan)]

    @property
    def indexes(self) -> set[str]:
        return {node["Index Name"] for node in self.nodes if "Index Name" in node}

    @property
    def tables_read_whole(self) -> set[str]:
        return {node["Relation Name"] for node in self.nodes if node["Node Type"] == "Seq Scan"}

    @property
    def rows_read(self) -> int:
        """The number of rows that all scans read, including those that a filter then removed."""
        return sum(rows for _, rows in self.reads)

    @property
    def reads(self) -> list[tuple[str, int]]:
        """What each scan reads (an index, or a table or subquery), and how many rows."""
        return [
            (str(node.get("Index Name", node.get("Alias", ""))), _count_rows(node))
            for node in self.nodes
            if "Scan" in node["Node Type"]
        ]


async def fill(database: Database, statement: str, *values: Any, tables: str) -> None:
    """Insert very many rows without checking foreign keys, which would take most of the time, and
    analyze these tables."""
    async with database.transaction() as tx:
        await tx.execute("SET LOCAL session_replication_role = replica")
        await tx.execute(statement, *values)
        await tx.execute(f"ANALYZE {tables}")


@asynccontextmanager
async def rolled_back_transaction(database: Database) -> AsyncIterator[Connection]:
    """Open a transaction that is rolled back at the end."""
    async with database.connection() as connection:
        transaction = connection.transaction()
        await transaction.start()
        try:
            yield connection
        finally:
            await transaction.rollback()


def walk(plan: Plan) -> Iterator[Plan]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from walk(part)


def _count_rows(node: Plan) -> int:
    thrown_away = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    rows: float = node["Actual Rows"] + sum(node.get(name, 0) for name in thrown_away)
    loops: int = node["Actual Loops"]
    return round(rows * loops)
