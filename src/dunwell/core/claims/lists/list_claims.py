"""Lists of claims in the orders that an index supports, with filters, and the number of claims that
match a filter.

If few claims are in the filter's time range, they are found by an index on that time. Otherwise
claims are read in the order of the list and filtered, up to a limit for each page. If a claim's
position changes while a user goes through the pages, the claim can appear twice or not at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from msgspec import structs

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.lists.store import (
    ClaimFilter,
    ClaimRow,
    list_claims_if_few,
    load_claim_rows,
)
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.database.listed_table import (
    Count,
    FoundKeys,
    ListedTable,
    ListPage,
    ListScope,
    NarrowIndex,
    Order,
    Test,
)
from dunwell.platform.database.lists import MAX_COUNTED, count_listed, list_page

# The largest numbers of claims for which one page sums items and payments, or looks up holds.
AMOUNT_FILTER_BUDGET, HOLD_FILTER_BUDGET = 2_000, 4_000
NO_FILTER = ClaimFilter()
# The next three conditions look up primary keys for each claim.
_HAS_ACTIVE_HOLD = """(
    SELECT true FROM holds h
    WHERE h.merchant_id = l.merchant_id AND h.claim_id = l.claim_id AND h.lifted_at IS NULL
      AND h.kind = {} AND (h.until IS NULL OR h.until > {})
    LIMIT 1)"""
_OUTSTANDING = """(
    (SELECT coalesce(sum(i.value_cents), 0) FROM items i
     WHERE i.merchant_id = l.merchant_id AND i.claim_id = l.claim_id)
  - (SELECT coalesce(sum(a.amount_cents), 0) FROM allocations a
     WHERE a.merchant_id = l.merchant_id AND a.claim_id = l.claim_id))"""
_HAS_CUSTOMER_NUMBER = """EXISTS (
    SELECT FROM debtors d
    WHERE d.merchant_id = l.merchant_id AND d.claim_id = l.claim_id AND d.customer_number = {})"""


class SortKey(StrEnum):
    """The sort key of a list of claims. NEXT_STEP lists only claims that have a next step and no
    hold."""

    CREATED = "CREATED"
    REFERENCE = "REFERENCE"
    CHANGED = "CHANGED"
    NEXT_STEP = "NEXT_STEP"


@dataclass(frozen=True, slots=True)
class ClaimOrder:
    key: SortKey = SortKey.CREATED
    is_descending: bool = True


NEWEST_FIRST = ClaimOrder()


def _list_status_tests(statuses: Sequence[Status], _: ListScope) -> Iterator[Test]:
    if statuses:
        yield "l.status = ANY({}::text[])", (list(statuses),)


def _list_hold_tests(hold: HoldKind, scope: ListScope) -> Iterator[Test]:
    yield _HAS_ACTIVE_HOLD, (hold, scope.now)


def _match_status(wanted: ClaimFilter) -> Sequence[object] | None:
    """Return the values for the index's condition, or None if the filter cannot use the index. The
    other `_match_` functions do the same for their indexes."""
    return None if wanted.status is None else (wanted.status,)


def _match_single_status(wanted: ClaimFilter) -> Sequence[object] | None:
    return wanted.statuses if len(wanted.statuses) == 1 else None


def _match_status_and_change(wanted: ClaimFilter) -> Sequence[object] | None:
    can_use_index = wanted.is_plain and None not in (wanted.status, wanted.updated_since)
    return (wanted.status, wanted.updated_since) if can_use_index else None


def _match_change(wanted: ClaimFilter) -> Sequence[object] | None:
    can_use_index = wanted.is_plain and wanted.updated_since is not None
    return (wanted.updated_since,) if can_use_index else None


async def _list_keys_if_few(scope: ListScope, wanted: ClaimFilter) -> FoundKeys[int] | None:
    """Return the claims of the filter's customer or time range. Return None if there are too many,
    or if the filter is plain: then the database chooses an index itself."""
    keys = await _list_keys_of_customer_if_few(scope, wanted)
    if keys is None and not wanted.is_plain:
        keys = await _list_keys_in_times_if_few(scope, wanted)
    return keys


async def _list_keys_for_sorting_if_few(
    scope: ListScope, wanted: ClaimFilter
) -> FoundKeys[int] | None:
    """The same for lists in another order, whose indexes do not serve a plain filter."""
    keys = await _list_keys_of_customer_if_few(scope, wanted)
    return await _list_keys_in_times_if_few(scope, wanted) if keys is None else keys


async def _list_keys_of_customer_if_few(
    scope: ListScope, wanted: ClaimFilter
) -> FoundKeys[int] | None:
    if wanted.customer_number is None:
        return None
    test: Test = ("c.customer_number = {}", (wanted.customer_number,))
    claim_ids = await list_claims_if_few(scope, "debtors", [test])
    return None if claim_ids is None else FoundKeys(claim_ids, covers=("customer_number",))


async def _list_keys_in_times_if_few(
    scope: ListScope, wanted: ClaimFilter
) -> FoundKeys[int] | None:
    ranges = (
        ("updated_at", wanted.updated_since, wanted.updated_until),
        ("due_at", wanted.next_step_since, wanted.next_step_until),
    )
    for column, since, until in ranges:
        if since is None and until is None:
            continue
        pairs = ((">=", since), ("<", until))
        tests: list[Test] = [(f"c.{column} {sign} {{}}", (at,)) for sign, at in pairs if at]
        if column == "due_at":
            tests.append(("c.due_at IS NOT NULL AND NOT c.held", ()))
        claim_ids = await list_claims_if_few(scope, "claims", tests)
        if claim_ids is not None:
            return FoundKeys(claim_ids)
    return None


CLAIMS: ListedTable[ClaimFilter, int, ClaimRow] = ListedTable(
    name="claims",
    table="claims",
    key="claim_id",
    key_type="bigint",
    index="claims_list",
    narrow_indexes=(
        NarrowIndex(
            "claims_reference",
            "l.reference_number = {}",
            lambda wanted: wanted.reference_number and (wanted.reference_number,),
            covers=("reference_number",),
            is_unique_index=True,
        ),
        NarrowIndex("claims_held", "l.held", lambda wanted: () if wanted.hold else None),
        # The database chooses between this index and the next.
        NarrowIndex(
            "claims_by_status",
            "l.status = {} AND l.updated_at >= {}",
            _match_status_and_change,
            covers=("status", "updated_since"),
        ),
        NarrowIndex(
            "claims_updated", "l.updated_at >= {}", _match_change, covers=("updated_since",)
        ),
        NarrowIndex("claims_by_status", "l.status = {}", _match_status, covers=("status",)),
        NarrowIndex(
            "claims_by_status", "l.status = {}", _match_single_status, covers=("statuses",)
        ),
    ),
    at="created_at",
    times=("created_since", "created_until"),
    filter=ClaimFilter,
    filters={
        "reference_number": "l.reference_number = {}",
        "customer_number": _HAS_CUSTOMER_NUMBER,
        "status": "l.status = {}",
        "statuses": _list_status_tests,
        "hold": _list_hold_tests,
        "workflow_id": "l.workflow_id = {}",
        "min_cents": f"{_OUTSTANDING} >= {{}}",
        "max_cents": f"{_OUTSTANDING} <= {{}}",
        "updated_since": "l.updated_at >= {}",
        "updated_until": "l.updated_at < {}",
        "next_step_since": "NOT l.held AND l.due_at >= {}",
        "next_step_until": "NOT l.held AND l.due_at < {}",
    },
    budgets={
        "min_cents": AMOUNT_FILTER_BUDGET,
        "max_cents": AMOUNT_FILTER_BUDGET,
        "hold": HOLD_FILTER_BUDGET,
    },
    list_keys_if_few=_list_keys_if_few,
    load=load_claim_rows,
)
_SORTED = replace(CLAIMS, narrow_indexes=(), list_keys_if_few=_list_keys_for_sorting_if_few)
_LISTS = {
    SortKey.CREATED: CLAIMS,
    SortKey.REFERENCE: replace(
        _SORTED,
        name="claims by reference",
        index="claims_reference",
        order=Order("reference_number", "text", is_unique=True),
    ),
    SortKey.CHANGED: replace(
        _SORTED,
        name="changed claims",
        index="claims_updated",
        order=Order("updated_at", "timestamptz"),
    ),
    SortKey.NEXT_STEP: replace(
        _SORTED,
        name="due claims",
        index="claims_due",
        order=Order("due_at", "timestamptz"),
        narrow_indexes=(
            NarrowIndex("claims_due", "l.due_at IS NOT NULL AND NOT l.held", lambda _: ()),
        ),
    ),
}


async def list_claims(
    work: Work, *, limit: int, cursor: str | None = None, wanted: ClaimFilter = NO_FILTER,
    order: ClaimOrder = NEWEST_FIRST,
) -> ListPage[ClaimRow]:  # fmt: skip
    """List claims. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    page = await list_page(
        work.scope(), _LISTS[order.key], wanted, limit=limit, cursor=cursor,
        oldest_first=not order.is_descending,
    )  # fmt: skip
    return page.map(lambda claim: hide_ended_holds(claim, work.now))


async def count_claims(
    work: Work, wanted: ClaimFilter = NO_FILTER, *, limit: int = MAX_COUNTED
) -> Count:
    """Count the claims, up to `limit` and the budget of a page."""
    work.require(Right.READ_CLAIMS)
    return await count_listed(work.scope(), CLAIMS, wanted, limit=limit)


def hide_ended_holds(claim: ClaimRow, now: datetime) -> ClaimRow:
    """Return the row without the holds that have ended."""
    return structs.replace(claim, holds=[hold for hold in claim.holds if hold.is_active(now)])
