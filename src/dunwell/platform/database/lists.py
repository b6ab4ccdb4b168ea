"""Read lists of rows page by page with opaque cursors.

A `ListedTable` declares a list: its table, the order of its rows, the index with this order, and
its filters. Pages, counts and the oldest row use the same filter object, so that no filter can be
missing from one of them.

Most lists are ordered by the transactions that wrote their rows (decision 0016). Rows of running
transactions and of transactions that began later are hidden, so that no row ever appears before a
cursor that was already given out.

A page reads at most BUDGET rows of the index. If few of them match the filter, the page may have
fewer rows than requested, and its cursor continues after the last row that was read.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from dunwell.platform.database.database import snapshot
from dunwell.platform.database.epochs import SETTLED_BEFORE
from dunwell.platform.database.listed_table import (
    Count,
    Filter,
    Item,
    Key,
    ListedTable,
    ListPage,
    ListScope,
)
from dunwell.platform.database.sql import Conditions, compose
from dunwell.platform.ids import uuid7

MAX_COUNTED = 1_000
# The longest time between the instant in a row and the writing of that row. It is far longer than
# any request may take.
_MAX_WRITING_DELAY = timedelta(hours=1)

# The rows that a page may read, in the order of the list's index.
_ROWS_IN_ORDER = """
    SELECT l.*
    FROM {table} l
    WHERE {scope}
    {seek}
    ORDER BY {order}
    LIMIT {budget}
"""
# All rows of the scope, which are few. OFFSET keeps the planner from using the index of another
# list.
_ROWS_OF_SCOPE = """
    SELECT l.*
    FROM {table} l
    WHERE {scope}
    OFFSET 0
"""
# The rows whose keys another index found, by primary key.
_ROWS_BY_KEY = """
    SELECT l.*
    FROM unnest({few_keys}::{key_type}[]) AS found (key)
    JOIN {table} l ON {scope} AND l.{key} = found.key
    OFFSET 0
"""
_LIST = """
SELECT {place}, l.{key} AS key
FROM (
    {rows}
) l
WHERE true
{filters}
ORDER BY {order}
LIMIT {limit}
"""
_FIND_LAST_READ = """
SELECT {place}, l.{key} AS key, {at} AS at
FROM (
    {rows}
) l
OFFSET {offset}
LIMIT 1
"""
_COUNT = """
SELECT count(*)
FROM (
    SELECT
    FROM (
        {rows}
    ) l
    WHERE true
    {filters}
    LIMIT {limit}
) counted
"""
_FIND_OLDEST = """
SELECT {at} AS at
FROM (
    {rows}
) l
WHERE true
{filters}
ORDER BY {order}
LIMIT {limit}
"""
# Search by bisection for the first transaction from which on all rows are later than the instant.
# Each step reads one row of the list's index.
_FIND_FIRST_LATER_TRANSACTION = """
WITH RECURSIVE halved AS (
    SELECT 0::bigint AS low, 1 + (
        SELECT l.written_by::text::bigint
        FROM {table} l
        WHERE {scope}
        ORDER BY l.written_by DESC, l.{key} DESC
        LIMIT 1) AS high
    UNION ALL
    SELECT CASE WHEN probe.at >= {instant} THEN halved.low ELSE halved.low + (high - low) / 2 END,
           CASE WHEN probe.at >= {instant} THEN halved.low + (high - low) / 2 ELSE halved.high END
    FROM halved
    CROSS JOIN LATERAL (
        SELECT {at} AS at
        FROM {table} l
        WHERE {scope}
          AND l.written_by >= (halved.low + (high - low) / 2)::text::xid8
        ORDER BY l.written_by, l.{key}
        LIMIT 1) probe
    WHERE high - low > 1
)
SELECT min(high) FROM halved
"""
_NOT_RUNNING = f"l.written_by < {SETTLED_BEFORE}"


@dataclass(slots=True)
class _ListQuery:
    """One query of a list. `source` is one of the statements `_ROWS_...`, and `since` the beginning
    of the filter's period.

    `seek` has the conditions on the rows that are read in the order of the index. `filters` has the
    conditions that each of these rows must meet; its values begin with those of `seek`. Rows that
    are not read in the order of an index must meet all conditions in `filters`. With `reads_all`,
    no matching row is left out, so a page that is not full is the last one.
    """

    listed: ListedTable[Any, Any, Any]
    scope: ListScope
    oldest_first: bool
    source: str
    budget: int
    seek: Conditions
    filters: Conditions = field(init=False)
    since: datetime | None = None
    reads_all: bool = False

    def __post_init__(self) -> None:
        self.filters = self.seek

    async def fetch(self, statement: str, limit: int, **slots: str) -> Sequence[Any]:
        values = (*self.filters.values, limit)
        is_budgeted = bool(self.filters.render())
        place = f"${len(values)}"
        rows = self._compose_rows(str(self.budget) if is_budgeted else place)
        text = self._compose(
            statement, rows=rows, filters=self.filters.render(), limit=place, **slots
        )
        records: Sequence[Any] = await self.scope.tx.fetch(text, *values)
        return records

    async def find_last_read(self) -> Any:
        """Return the last row that was read if matching rows may follow it, otherwise None."""
        if self.reads_all:
            return None
        rows = self._compose_rows(str(self.budget))
        text = self._compose(_FIND_LAST_READ, rows=rows, offset=f"${len(self.seek.values) + 1}")
        last = await self.scope.tx.fetchrow(text, *self.seek.values, self.budget - 1)
        if (
            last is None
            or self.since is None
            or self.oldest_first
            or not self._can_bound_transactions()
        ):
            return last
        return None if last["at"] < self.since - _MAX_WRITING_DELAY else last

    async def narrow_to_period(self, wanted: object, *, is_first_page: bool) -> None:
        """Skip the transactions that are too late or too early for the filter's period."""
        self.since, until = self.listed.get_period(wanted)
        if self.listed.order.type == "uuid":
            # These ids begin with their instant in milliseconds.
            if self.since is not None:
                self.seek.add(f"l.{self.listed.order.column} >= {{}}", _build_first_id(self.since))
            if until is not None:
                end = _build_first_id(until + timedelta(milliseconds=1))
                self.seek.add(f"l.{self.listed.order.column} < {{}}", end)
        if not self._can_bound_transactions() or self.source != _ROWS_IN_ORDER:
            return
        if until is not None and (is_first_page or self.oldest_first):
            await self._add_transaction_bound("l.written_by < {}::text::xid8", until)
        if self.since is not None and is_first_page and self.oldest_first:
            await self._add_transaction_bound(
                "l.written_by >= {}::text::xid8", self.since - 2 * _MAX_WRITING_DELAY
            )

    async def _add_transaction_bound(self, condition: str, instant: datetime) -> None:
        text = self._compose(_FIND_FIRST_LATER_TRANSACTION, instant=f"${len(self.scope.ids) + 1}")
        later = await self.scope.tx.fetchval(text, *self.scope.ids, instant + _MAX_WRITING_DELAY)
        if later is not None:
            self.seek.add(condition, str(later))

    def _can_bound_transactions(self) -> bool:
        return self.listed.order.hides_unfinished and self.scope.follows_real_time

    def _compose_rows(self, budget: str) -> str:
        return self._compose(
            self.source,
            seek=self.seek.render(),
            budget=budget,
            few_keys=f"${len(self.scope.ids) + 1}",
        )

    def _compose(self, statement: str, **slots: str) -> str:
        listed, direction = self.listed, "ASC" if self.oldest_first else "DESC"
        order = f"l.{listed.order.column} {direction}"
        is_number = listed.order.type == "xid8"
        scope = (f"l.{column} = ${number}" for number, column in enumerate(listed.scope, start=1))
        slots |= {
            "table": listed.table,
            "key": listed.key,
            "key_type": listed.key_type,
            "at": "NULL::timestamptz" if listed.at is None else f"l.{listed.at}",
            "scope": " AND ".join(scope) or "true",
            "order": order if listed.order.is_unique else f"{order}, l.{listed.key} {direction}",
            "place": f"l.{listed.order.column}{'::text::bigint' if is_number else ''} AS place",
        }
        return compose(
            statement, **{name: text for name, text in slots.items() if f"{{{name}}}" in statement}
        )


async def list_page(
    scope: ListScope, listed: ListedTable[Filter, Key, Item], wanted: Filter, *, limit: int,
    cursor: str | None = None, oldest_first: bool = False,
) -> ListPage[Item]:  # fmt: skip
    """Return one page. Raises ValidationError if the cursor is not one of this list and scope."""
    cursor_format = listed.get_cursor_format(scope)
    place = None if cursor is None else cursor_format.parse(scope.ids, cursor)
    async with snapshot(scope.tx):
        query = await _build_query(scope, listed, wanted, place=place, oldest_first=oldest_first)
        rows = await query.fetch(_LIST, limit + 1)
        page = rows[:limit]
        last = page[-1] if len(rows) > limit else await query.find_last_read()
        keys: list[Key] = [row["key"] for row in page]
        loaded = await listed.load(scope.tx, *scope.ids, keys) if keys else {}
    items = [loaded[key] for key in keys if key in loaded]
    if last is None:
        return ListPage(items, None)
    next_place = (last["place"],) if listed.order.is_unique else (last["place"], last["key"])
    return ListPage(items, cursor_format.render(scope.ids, next_place))


async def count_listed(
    scope: ListScope, listed: ListedTable[Filter, Key, Item], wanted: Filter, *,
    limit: int = MAX_COUNTED,
) -> Count:  # fmt: skip
    """Count the rows, up to `limit` and within the budget of rows to read."""
    async with snapshot(scope.tx):
        query = await _build_query(scope, listed, wanted)
        [(number,)] = await query.fetch(_COUNT, limit + 1)
        if number > limit:
            return Count(limit, is_more=True)
        return Count(number, is_more=await query.find_last_read() is not None)


async def find_oldest_at(
    scope: ListScope, listed: ListedTable[Filter, Key, Item], wanted: Filter
) -> datetime | None:
    """Return the instant of the oldest row that matches, or None if there is none among the rows
    that the budget permits to read."""
    async with snapshot(scope.tx):
        query = await _build_query(scope, listed, wanted, oldest_first=True)
        rows = await query.fetch(_FIND_OLDEST, 1)
    return rows[0]["at"] if rows else None


async def _build_query(
    scope: ListScope, listed: ListedTable[Filter, Key, Item], wanted: Filter, *,
    place: tuple[Any, ...] | None = None, oldest_first: bool = False,
) -> _ListQuery:  # fmt: skip
    few_keys = (
        None if listed.list_keys_if_few is None else await listed.list_keys_if_few(scope, wanted)
    )
    source = _ROWS_OF_SCOPE if listed.has_few_rows else _ROWS_IN_ORDER
    query = _ListQuery(
        listed,
        scope,
        oldest_first=oldest_first,
        source=source if few_keys is None else _ROWS_BY_KEY,
        budget=listed.get_budget(wanted),
        seek=Conditions(*scope.ids, *(() if few_keys is None else (list(few_keys.keys),))),
    )
    index, values = listed.find_narrow_index(wanted)
    if index is not None:
        query.seek.add(index.condition, *values)
    if place is not None:
        query.seek.add(_compose_after_place(listed, oldest_first=oldest_first), *listed.bind(place))
    is_unique_index = index is not None and index.is_unique_index
    # In a list with the newest rows first, no row after the cursor can be hidden.
    if listed.order.hides_unfinished and not is_unique_index and (place is None or oldest_first):
        query.seek.add(_NOT_RUNNING)
    await query.narrow_to_period(wanted, is_first_page=place is None)
    covered: list[str] = []
    for search in (index, few_keys):
        covered += () if search is None else search.covers
    tests = list(listed.list_tests(scope, wanted, covered))
    query.reads_all = query.source != _ROWS_IN_ORDER or is_unique_index or not tests
    if query.source == _ROWS_IN_ORDER:
        query.filters = Conditions(*query.seek.values)
    for test, test_values in tests:
        query.filters.add(test, *test_values)
    return query


def _build_first_id(at: datetime) -> UUID:
    """Return the smallest id that a row of this millisecond can have."""
    return uuid7(at, bytes(10))


def _compose_after_place(listed: ListedTable[Any, Any, Any], *, oldest_first: bool) -> str:
    order, sign = listed.order, ">" if oldest_first else "<"
    value = "{}::text::xid8" if order.type == "xid8" else f"{{}}::{order.type}"
    if order.is_unique:
        return f"l.{order.column} {sign} {value}"
    return f"(l.{order.column}, l.{listed.key}) {sign} ({value}, {{}}::{listed.key_type})"
