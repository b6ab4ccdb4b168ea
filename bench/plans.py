"""How the server executes statements as they were sent: what their plans read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from dunwell.platform.database.database import Connection

# A scan of at least this share of a table's rows reads all of it, whatever index it uses.
_WHOLE = 0.5
_EXPLAIN = "EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) EXECUTE asked"
# The plan for the given values, and the plan for any values. The server decides between them after
# some executions.
_MODES = ("plan_cache_mode = force_custom_plan", "plan_cache_mode = force_generic_plan")
_EXPLAINED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
_SIZES = """
SELECT relname AS name, reltuples::bigint AS rows FROM pg_class
WHERE relkind IN ('r', 'i') AND relnamespace = 'public'::regnamespace AND reltuples >= $1
"""


@dataclass(frozen=True, slots=True)
class SentStatement:
    statement: str
    values: Sequence[Any]


class StatementRecorder:
    """Records the statements that a connection executed since the last call."""

    def __init__(self) -> None:
        self._asked: list[SentStatement] = []

    def note(self, record: Any) -> None:
        self._asked.append(SentStatement(record.query, record.args or ()))

    def pop_statements(self) -> list[SentStatement]:
        taken, self._asked = self._asked, []
        return taken


@dataclass(frozen=True, slots=True)
class Reading:
    """The number of rows that all scans of some statements read, including discarded rows; the
    scans that read a whole growing table or index; and the indexes that both kinds of plans use."""

    rows: int
    scans: Sequence[str]
    indexes: frozenset[str]


async def load_grown(tx: Connection, least: int) -> dict[str, int]:
    """Return the number of rows of each table and index with at least `least` rows, by name. These
    are the ones that grow with the claims."""
    return {row["name"]: row["rows"] for row in await tx.fetch(_SIZES, least)}


async def explain(
    tx: Connection, asked: Sequence[SentStatement], grown: dict[str, int], *settings: str
) -> Reading:
    """Execute each statement twice more, with both kinds of plans, and roll back. The worse result
    counts. `settings` are those of the planner, as in SET."""
    rows, scans, indexes = 0, list[str](), set[str]()
    for each in asked:
        if not _strip(each.statement).startswith(_EXPLAINED):
            continue
        plans = [await _plan(tx, each, (mode, *settings)) for mode in _MODES]
        rows += max(sum(map(count_rows, _list_scans(plan))) for plan in plans)
        by_kind = [{node.get("Index Name", "") for node in _list_scans(plan)} for plan in plans]
        indexes |= by_kind[0] & by_kind[1]
        found = {_find_scan(node, grown) for plan in plans for node in _list_scans(plan)} - {None}
        scans += [f"{scan} in: {' '.join(each.statement.split())[:160]}" for scan in found]
    return Reading(rows, scans, frozenset(indexes))


async def _plan(tx: Connection, asked: SentStatement, settings: Sequence[str]) -> dict[str, Any]:
    types = [each.name for each in (await tx.prepare(asked.statement)).get_parameters()]
    literals = [
        await tx.fetchval(f"SELECT quote_nullable($1::{kind})", value)
        for kind, value in zip(types, asked.values, strict=True)
    ]
    given = f"({', '.join(literals)})" if literals else ""
    attempt = tx.transaction()
    await attempt.start()
    try:
        for setting in settings:
            await tx.execute(f"SET LOCAL {setting}")
        await tx.execute(f"PREPARE asked AS {asked.statement}")
        [explained] = await tx.fetchval(f"{_EXPLAIN}{given}")
    finally:
        await attempt.rollback()
        await tx.execute("DEALLOCATE asked")
    plan: dict[str, Any] = explained["Plan"]
    return plan


def _list_scans(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the scans of tables and indexes. Other nodes would count the rows of their parts
    again."""
    return [
        node
        for node in walk(plan)
        if "Scan" in node["Node Type"] and ("Relation Name" in node or "Index Name" in node)
    ]


def walk(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for part in plan.get("Plans", ()):
        yield from walk(part)


def count_rows(node: dict[str, Any]) -> int:
    thrown_away = ("Rows Removed by Filter", "Rows Removed by Index Recheck")
    rows: float = node["Actual Rows"] + sum(node.get(name, 0) for name in thrown_away)
    loops: int = node["Actual Loops"]
    return round(rows * loops)


def _find_scan(node: dict[str, Any], grown: dict[str, int]) -> str | None:
    read = count_rows(node)
    table, index = node.get("Relation Name", ""), node.get("Index Name", "")
    if node["Node Type"] == "Seq Scan" and table in grown:
        return f"all of {table}"
    size = grown.get(index) or grown.get(table)
    return f"{read:,} rows by {index or table}" if size and read > _WHOLE * size else None


def _strip(statement: str) -> str:
    """Return the statement without a comment at its beginning."""
    lines = [line for line in statement.splitlines() if not line.lstrip().startswith("--")]
    return "\n".join(lines).strip().upper()
