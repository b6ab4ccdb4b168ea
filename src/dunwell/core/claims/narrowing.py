"""What a list of claims is narrowed to, as the list's tests, and what is better found apart.

A range of instants that few claims are in is found by its own index; one that many are in is looked
for in the list's order, among as many claims as a page may look at.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted
from dunwell.core.claims.states import Status
from dunwell.core.claims.store_lists import ClaimFilter
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import Conditions, compose
from dunwell.platform.text.cursor import CursorForm

# Rides on claims_list, with a status on claims_by_status, with a hold on claims_held. The cursors
# are those of the plain list.
CLAIMS: ListedTable[int] = ListedTable(
    "claims", "claim_id", cast="bigint", at="created_at", cursors=CursorForm(b"clm1", "Qq")
)
FEW = 5_000
# Claims of which a page sums up items and payments, or looks at holds, at most.
SUMMED_BUDGET, HELD_BUDGET = 2_000, 4_000

# Rides on claims_updated, on claims_due, on debtors_customer.
_FIND_FEW = """
SELECT c.claim_id
FROM {table} c
WHERE c.merchant_id = $1
{filters}
LIMIT $2
"""
# By primary keys, claim by claim, as the next.
_STANDS = """(
    SELECT true FROM holds h
    WHERE h.merchant_id = $1 AND h.claim_id = l.claim_id AND h.lifted_at IS NULL
      AND h.kind = {} AND (h.until IS NULL OR h.until > {})
    LIMIT 1)"""
_OUTSTANDING = """(
    (SELECT coalesce(sum(i.value_cents), 0) FROM items i
     WHERE i.merchant_id = $1 AND i.claim_id = l.claim_id)
  - (SELECT coalesce(sum(a.amount_cents), 0) FROM allocations a
     WHERE a.merchant_id = $1 AND a.claim_id = l.claim_id)) BETWEEN {} AND {}"""
_MOST_CENTS = 10**15


async def narrow(work: Work, wanted: ClaimFilter) -> Wanted[int]:
    return Wanted(
        seek=tuple(_list_seek(wanted)), filters=tuple(_list_filters(work, wanted)),
        since=wanted.created_since, until=wanted.created_until,
        among=await _find_few(work, wanted), budget=_choose_budget(wanted),
    )  # fmt: skip


def _choose_budget(wanted: ClaimFilter) -> int | None:
    """What is open is summed claim by claim, and so are holds looked at."""
    if wanted.least_cents is not None or wanted.most_cents is not None:
        return SUMMED_BUDGET
    return None if wanted.hold is None else HELD_BUDGET


def _list_seek(wanted: ClaimFilter) -> Iterator[Test]:
    if wanted.reference_number is not None:
        yield "l.reference_number = {}", (wanted.reference_number,)
    statuses = _list_statuses(wanted)
    if statuses is not None and len(statuses) == 1:
        yield "l.status = {}", (statuses[0],)
    if wanted.hold is not None:
        yield "l.held", ()


def _list_filters(work: Work, wanted: ClaimFilter) -> Iterator[Test]:
    statuses = _list_statuses(wanted)
    if statuses is not None and len(statuses) != 1:
        yield "l.status = ANY({}::text[])", (statuses,)
    if wanted.hold is not None:
        yield _STANDS, (wanted.hold, work.now)
    if wanted.workflow_id is not None:
        yield "l.workflow_id = {}", (wanted.workflow_id,)
    yield from _list_range("l.updated_at", wanted.updated_since, wanted.updated_until)
    if wanted.next_step_since is not None or wanted.next_step_until is not None:
        yield "NOT l.held", ()
        yield from _list_range("l.due_at", wanted.next_step_since, wanted.next_step_until)
    if wanted.least_cents is not None or wanted.most_cents is not None:
        least, most = wanted.least_cents, wanted.most_cents
        yield _OUTSTANDING, (least or 0, _MOST_CENTS if most is None else most)


def _list_statuses(wanted: ClaimFilter) -> list[Status] | None:
    """None: any."""
    if wanted.status is None:
        return list(wanted.statuses) or None
    return [] if wanted.statuses and wanted.status not in wanted.statuses else [wanted.status]


def _list_range(column: str, since: datetime | None, until: datetime | None) -> Iterator[Test]:
    if since is not None:
        yield f"{column} >= {{}}", (since,)
    if until is not None:
        yield f"{column} < {{}}", (until,)


async def _find_few(work: Work, wanted: ClaimFilter) -> Sequence[int] | None:
    """The claims that one of the filters leaves, where it leaves few."""
    merchant_id = work.merchant_id
    if wanted.customer_number is not None:
        tests: list[Test] = [("c.customer_number = {}", (wanted.customer_number,))]
        # A customer's claims are few; of one with more, those are looked at.
        return await _load(work.tx, merchant_id, "debtors", tests=tests)
    ranges = (
        ("updated_at", wanted.updated_since, wanted.updated_until),
        ("due_at", wanted.next_step_since, wanted.next_step_until),
    )
    for column, since, until in ranges:
        if since is None and until is None:
            continue
        tests = list(_list_range(f"c.{column}", since, until))
        if column == "due_at":
            tests.append(("c.due_at IS NOT NULL AND NOT c.held", ()))
        found = await _load(work.tx, merchant_id, "claims", tests=tests)
        if len(found) < FEW:
            return found
    return None


async def _load(
    tx: Connection, merchant_id: int, table: str, *, tests: Sequence[Test]
) -> Sequence[int]:
    conditions = Conditions(merchant_id, FEW)
    for test, values in tests:
        conditions.add(test, *values)
    statement = compose(_FIND_FEW, table=table, filters=conditions.render())
    return [row["claim_id"] for row in await tx.fetch(statement, *conditions.values)]
