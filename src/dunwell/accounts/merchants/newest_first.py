"""Lists over all that a merchant has of a kind, the newest first or the oldest, page by page.

Rows stand in the order of their writing transactions (decision 0016); those of one that still runs
are held back, so that nothing ever appears behind a cursor that was handed out. A page looks at
BUDGET rows at most, or fewer: of a filter that few rows meet it may hold fewer than were asked for,
and goes on behind the last row it looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any, Generic, Literal, TypeVar
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.epochs import SETTLED_BEFORE
from dunwell.platform.database.sql import Conditions, compose
from dunwell.platform.text.cursor import CursorForm

BUDGET = 10_000
MOST_COUNTED = 1_000
# Between the instant a row bears and its writing at most; far more than a request may take.
_MARGIN = timedelta(hours=1)

Key = TypeVar("Key", int, UUID, bytes)

# Each list names its index by (merchant_id, written_by, its key).
_LOOKED_AT = """
    SELECT l.*
    FROM {table} l
    WHERE l.merchant_id = $1
    {seek}
    ORDER BY l.written_by {way}, l.{key} {way}
    LIMIT {budget}
"""
# What is found apart is read by primary key, whole.
_AMONG = """
    SELECT l.*
    FROM unnest($3::{cast}[]) AS found (key)
    JOIN {table} l ON l.merchant_id = $1 AND l.{key} = found.key
    WHERE true
    {seek}
    OFFSET 0
"""
_FIND = """
SELECT l.written_by::text AS written_by, l.{key} AS key
FROM (
    {looked_at}
) l
WHERE true
{filters}
ORDER BY l.written_by {way}, l.{key} {way}
LIMIT $2
"""
_FIND_LAST = """
SELECT l.written_by::text AS written_by, l.{key} AS key, l.{at} AS at
FROM ({looked_at}) l
OFFSET $2
LIMIT 1
"""
_COUNT = """
SELECT count(*)
FROM (
    SELECT
    FROM (
        {looked_at}
    ) l
    WHERE true
    {filters}
    LIMIT $2
) counted
"""
# The list's index from its other end.
_FIND_OLDEST = """
SELECT l.{at}
FROM (
    {looked_at}
) l
WHERE true {filters}
ORDER BY l.written_by, l.{key}
LIMIT 1
"""
# Halves the numbers of transactions until it knows the least from which on all is later. By the
# list's index, a row a step.
_FIND_LATER = """
WITH RECURSIVE halved AS (
    SELECT 0::bigint AS low, 1 + (
        SELECT l.written_by::text::bigint
        FROM {table} l
        WHERE l.merchant_id = $1
        ORDER BY l.written_by DESC, l.{key} DESC
        LIMIT 1) AS high
    UNION ALL
    SELECT CASE WHEN probe.at >= $2 THEN halved.low ELSE halved.low + (high - low) / 2 END,
           CASE WHEN probe.at >= $2 THEN halved.low + (high - low) / 2 ELSE halved.high END
    FROM halved
    CROSS JOIN LATERAL (
        SELECT l.{at} AS at
        FROM {table} l
        WHERE l.merchant_id = $1
          AND l.written_by >= (halved.low + (high - low) / 2)::text::xid8
        ORDER BY l.written_by, l.{key}
        LIMIT 1) probe
    WHERE high - low > 1
)
SELECT min(high) FROM halved
"""
HELD_BACK = f"l.written_by < {SETTLED_BEFORE}"
BEHIND = "(l.written_by, l.{key}) < ({}::text::xid8, {}::{cast})"
_AFTER = "(l.written_by, l.{key}) > ({}::text::xid8, {}::{cast})"


@dataclass(frozen=True, slots=True)
class ListedTable(Generic[Key]):
    """A table with a `written_by`, and the cursors of its list. `at`: the instant that time filters
    are about."""

    name: str
    key: str
    cast: Literal["bigint", "uuid", "bytea"]
    at: str
    cursors: CursorForm

    def compose(self, statement: str, **slots: str) -> str:
        named = {"table": self.name, "key": self.key, "at": self.at, "cast": self.cast}
        wanted = {name: value for name, value in named.items() if f"{{{name}}}" in statement}
        return compose(statement, **wanted, **slots)

    def write(self, owner: tuple[int, ...], written_by: str, key: Key) -> str:
        return self.cursors.write(
            owner, int(written_by), key.bytes if isinstance(key, UUID) else key
        )

    def read(self, owner: tuple[int, ...], cursor: str) -> tuple[str, Any]:
        """Raises ValidationError."""
        written_by, key = self.cursors.read(owner, cursor)
        return str(written_by), UUID(bytes=key) if self.cast == "uuid" else key


# A test with `{}` for each of its values; rows are called `l`.
Test = tuple[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Wanted(Generic[Key]):
    """What a list is narrowed to; all must hold. `seek`: what an index of the list's order knows;
    `among`: keys that were found otherwise, a few thousand at most; by time: `since` inclusive,
    `until` exclusive. `oldest_first`: by the same index from its other end."""

    seek: Sequence[Test] = ()
    filters: Sequence[Test] = ()
    since: datetime | None = None
    until: datetime | None = None
    among: Sequence[Key] | None = None
    oldest_first: bool = False
    # Rows that a page looks at, at most, where a filter costs more to try than others.
    budget: int | None = None

    @property
    def way(self) -> str:
        return "ASC" if self.oldest_first else "DESC"


@dataclass(frozen=True, slots=True)
class FoundKeys(Generic[Key]):
    """No cursor when these are the last."""

    keys: Sequence[Key]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Count:
    """`is_more`: there are more, or there may be."""

    number: int
    is_more: bool


@dataclass(slots=True)
class _Look(Generic[Key]):
    """One reading of a list: the rows it may look at, and which of them it wants."""

    listed: ListedTable[Key]
    wanted: Wanted[Key]
    seek: Conditions
    seek_text: str = field(default="", init=False)

    def look_at(self) -> str:
        """The rows it looks at, as a part of a statement."""
        seek = self.seek.render()
        if self.wanted.among is not None:
            return self.listed.compose(_AMONG, seek=seek)
        way, budget = self.wanted.way, str(self.wanted.budget or BUDGET)
        return self.listed.compose(_LOOKED_AT, seek=seek, budget=budget, way=way)

    def filter(self) -> Conditions:
        filters = Conditions(*self.seek.values)
        for test, values in self.wanted.filters:
            filters.add(test, *values)
        if self.wanted.since is not None:
            filters.add(f"l.{self.listed.at} >= {{}}", self.wanted.since)
        if self.wanted.until is not None:
            filters.add(f"l.{self.listed.at} < {{}}", self.wanted.until)
        return filters


async def find_newest(
    work: Work, listed: ListedTable[Key], wanted: Wanted[Key], *, limit: int, cursor: str | None
) -> FoundKeys[Key]:
    """The keys of a page. Raises ValidationError for a bad cursor."""
    owner = (work.merchant_id,)
    place = None if cursor is None else listed.read(owner, cursor)
    async with snapshot(work.tx):
        look = await _begin(work, listed, wanted, most=limit + 1, place=place)
        filters = look.filter()
        statement = listed.compose(
            _FIND, looked_at=look.look_at(), filters=filters.render(), way=wanted.way
        )
        rows = await work.tx.fetch(statement, *filters.values)
        page = rows[:limit]
        last = page[-1] if len(rows) > limit else await _find_end(work, look)
    keys = [row["key"] for row in page]
    if last is None:
        return FoundKeys(keys, None)
    return FoundKeys(keys, listed.write(owner, last["written_by"], last["key"]))


async def count_newest(
    work: Work, listed: ListedTable[Key], wanted: Wanted[Key], *, most: int = MOST_COUNTED
) -> Count:
    """How many there are, as far as `most` and the budget reach."""
    async with snapshot(work.tx):
        look = await _begin(work, listed, wanted, most=most + 1, place=None)
        filters = look.filter()
        statement = listed.compose(_COUNT, looked_at=look.look_at(), filters=filters.render())
        number: int = await work.tx.fetchval(statement, *filters.values)
        if number > most:
            return Count(most, is_more=True)
        return Count(number, is_more=await _find_end(work, look) is not None)


async def find_oldest(work: Work, listed: ListedTable[Key], wanted: Wanted[Key]) -> datetime | None:
    """The instant of the first of a list; none where no row is, as far as the budget reaches."""
    look = _Look(listed, replace(wanted, oldest_first=True), Conditions(work.merchant_id))
    for test, values in wanted.seek:
        look.seek.add(test, *values)
    filters = look.filter()
    statement = listed.compose(_FIND_OLDEST, looked_at=look.look_at(), filters=filters.render())
    oldest: datetime | None = await work.tx.fetchval(statement, *filters.values)
    return oldest


async def _begin(
    work: Work, listed: ListedTable[Key], wanted: Wanted[Key], *, most: int,
    place: tuple[str, Any] | None,
) -> _Look[Key]:  # fmt: skip
    among = () if wanted.among is None else (list(wanted.among),)
    seek = Conditions(work.merchant_id, most, *among)
    if place is None or wanted.oldest_first:
        seek.add(HELD_BACK)
        later = await _find_later(work, listed, wanted, wanted.until)
        if later is not None:
            seek.add("l.written_by < {}::text::xid8", str(later))
    if place is not None:
        # Of the newest first, nothing behind a place is held back.
        seek.add(listed.compose(_AFTER if wanted.oldest_first else BEHIND), *place)
    elif wanted.oldest_first and wanted.since is not None:
        first = await _find_later(work, listed, wanted, wanted.since - 2 * _MARGIN)
        if first is not None:
            seek.add("l.written_by >= {}::text::xid8", str(first))
    for test, values in wanted.seek:
        seek.add(test, *values)
    return _Look(listed, wanted, seek)


async def _find_later(
    work: Work, listed: ListedTable[Key], wanted: Wanted[Key], instant: datetime | None
) -> int | None:
    """The number from which on all is of this instant or later. None: nobody asks, or there is
    nothing, or the merchant's time does not go with the world's."""
    if instant is None or wanted.among is not None or work.merchant.is_sandbox:
        return None
    statement, at = listed.compose(_FIND_LATER), instant + _MARGIN
    later: int | None = await work.tx.fetchval(statement, work.merchant_id, at)
    return later


async def _find_end(work: Work, look: _Look[Key]) -> Any:
    """The last row it looked at, where more are behind it that could be wanted."""
    if look.wanted.among is not None:
        return None
    statement = look.listed.compose(_FIND_LAST, looked_at=look.look_at())
    since, budget = look.wanted.since, look.wanted.budget or BUDGET
    values = [look.seek.values[0], budget - 1, *look.seek.values[2:]]
    last = await work.tx.fetchrow(statement, *values)
    if last is None or since is None or look.wanted.oldest_first or work.merchant.is_sandbox:
        return last
    return None if last["at"] < since - _MARGIN else last
