"""The orders that a list of claims is offered in, each with the index it rides on.

A page looks at BUDGET claims at most, in the order asked for: of filters that few claims meet it
may hold fewer than were asked for, and goes on behind the last claim it looked at. What changes its
place while somebody reads on may be met twice, or not at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Literal

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import BUDGET, FoundKeys, Wanted
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import Conditions, compose
from dunwell.platform.text.cursor import CursorForm, refuse_cursor

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LOOKED_AT = """
    SELECT l.*
    FROM claims l
    WHERE l.merchant_id = $1
    {seek}
    ORDER BY {order}
    LIMIT {budget}
"""
# What is found apart is read by primary key, whole.
_AMONG = """
    SELECT l.*
    FROM unnest($3::bigint[]) AS found (claim_id)
    JOIN claims l ON l.merchant_id = $1 AND l.claim_id = found.claim_id
    WHERE true
    {seek}
    OFFSET 0
"""
_FIND = """
SELECT l.claim_id, l.{column} AS value
FROM (
    {looked_at}
) l
WHERE true
{filters}
ORDER BY {order}
LIMIT $2
"""
_FIND_LAST = """
SELECT l.claim_id, l.{column} AS value
FROM (
    {looked_at}
) l
OFFSET $2
LIMIT 1
"""
# By primary key.
_LOAD_REFERENCE = """
SELECT l.reference_number
FROM claims l
WHERE l.merchant_id = $1 AND l.claim_id = $2
"""


class SortKey(StrEnum):
    """REFERENCE rides on claims_reference, CHANGED on claims_updated; NEXT_STEP on claims_due, and
    lists claims alone that have a next step and are not held. CREATED is the list's own order, by
    claims_list."""

    CREATED = "CREATED"
    REFERENCE = "REFERENCE"
    CHANGED = "CHANGED"
    NEXT_STEP = "NEXT_STEP"


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    key: SortKey = SortKey.CREATED
    is_descending: bool = True


NEWEST_FIRST = ClaimOrder()


@dataclass(frozen=True, slots=True)
class _Index:
    """column: what it is sorted by; `mark`: of its cursors."""

    column: Literal["reference_number", "updated_at", "due_at"]
    mark: bytes
    condition: str | None = None


_INDEXES = {
    SortKey.REFERENCE: _Index("reference_number", b"clr1"),
    SortKey.CHANGED: _Index("updated_at", b"clu1"),
    SortKey.NEXT_STEP: _Index("due_at", b"cld1", "l.due_at IS NOT NULL AND NOT l.held"),
}


async def find_sorted(
    work: Work, wanted: Wanted[int], order: ClaimOrder, *, limit: int, cursor: str | None
) -> FoundKeys[int]:
    """Of a key other than CREATED. Raises ValidationError for a bad cursor."""
    index = _INDEXES[order.key]
    among = () if wanted.among is None else (list(wanted.among),)
    seek = Conditions(work.merchant_id, limit + 1, *among)
    if index.condition is not None:
        seek.add(index.condition)
    if cursor is not None:
        await _add_place(work, order, seek, cursor)
    looked_at = _compose_look(order, seek, is_among=bool(among))
    filters = _filter(wanted, seek)
    statement = compose(
        _FIND, column=index.column, looked_at=looked_at, filters=filters.render(),
        order=_compose_order(order),
    )  # fmt: skip
    rows = await work.tx.fetch(statement, *filters.values)
    page = rows[:limit]
    if len(rows) > limit:
        last = page[-1]
    else:
        last = None if among else await _find_end(work.tx, index, looked_at, seek)
    keys: Sequence[int] = [row["claim_id"] for row in page]
    if last is None:
        return FoundKeys(keys, None)
    return FoundKeys(keys, _write(work, index, last["claim_id"], last["value"]))


def _compose_order(order: ClaimOrder) -> str:
    """A reference is one claim's."""
    way = "DESC" if order.is_descending else "ASC"
    column = _INDEXES[order.key].column
    if order.key is SortKey.REFERENCE:
        return f"l.{column} {way}"
    return f"l.{column} {way}, l.claim_id {way}"


def _compose_look(order: ClaimOrder, seek: Conditions, *, is_among: bool) -> str:
    if is_among:
        return compose(_AMONG, seek=seek.render())
    return compose(_LOOKED_AT, seek=seek.render(), order=_compose_order(order), budget=str(BUDGET))


def _filter(wanted: Wanted[int], seek: Conditions) -> Conditions:
    """What an index of the newest first would seek is but looked at here."""
    filters = Conditions(*seek.values)
    for test, values in (*wanted.seek, *wanted.filters):
        filters.add(test, *values)
    if wanted.since is not None:
        filters.add("l.created_at >= {}", wanted.since)
    if wanted.until is not None:
        filters.add("l.created_at < {}", wanted.until)
    return filters


async def _add_place(work: Work, order: ClaimOrder, seek: Conditions, cursor: str) -> None:
    index, past = _INDEXES[order.key], "<" if order.is_descending else ">"
    microseconds, claim_id = _form(index).read((work.merchant_id,), cursor)
    if order.key is SortKey.REFERENCE:
        reference = await work.tx.fetchval(_LOAD_REFERENCE, work.merchant_id, claim_id)
        if reference is None:
            raise refuse_cursor()
        seek.add(f"l.reference_number {past} {{}}", reference)
        return
    at = _EPOCH + timedelta(microseconds=microseconds)
    seek.add(
        f"(l.{index.column}, l.claim_id) {past} ({{}}::timestamptz, {{}}::bigint)", at, claim_id
    )


def _write(work: Work, index: _Index, claim_id: int, value: str | datetime) -> str:
    since = 0 if isinstance(value, str) else (value - _EPOCH) // timedelta(microseconds=1)
    return _form(index).write((work.merchant_id,), since, claim_id)


def _form(index: _Index) -> CursorForm:
    return CursorForm(index.mark, "qq")


async def _find_end(tx: Connection, index: _Index, looked_at: str, seek: Conditions) -> Any:
    """The last claim it looked at, where more may be behind it."""
    statement = compose(_FIND_LAST, column=index.column, looked_at=looked_at)
    return await tx.fetchrow(statement, seek.values[0], BUDGET - 1, *seek.values[2:])
