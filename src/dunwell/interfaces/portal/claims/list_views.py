"""What the list of claims shows: its rows, columns and orders, saved views, and search results."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.core.claims.lists.list_claims import ClaimOrder, SortKey
from dunwell.core.claims.lists.store import ClaimFilter, ClaimRow
from dunwell.core.claims.searching.search_claims import search_claims
from dunwell.interfaces.portal.web.claim_filters import ClaimListFilters
from dunwell.interfaces.portal.web.lists import Sorting, parse_sorting
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.texts import find_unprintable

MAX_NAME_LENGTH = 80
_MAX_QUERY_LENGTH = 2_000
MAX_VIEWS = 50
# Uses the unique key by user, and the index saved_views_shared.
_LOAD = """
SELECT v.view_id, v.name, v.query, v.is_shared, v.user_id = $2 AS is_own, u.name AS owner
FROM saved_views v
JOIN users u ON u.user_id = v.user_id
WHERE v.merchant_id = $1 AND v.list = 'CLAIMS' AND (v.user_id = $2 OR v.is_shared)
ORDER BY v.is_shared, lower(v.name), v.view_id
LIMIT 100
"""
# Uses the unique key. Counts the user's views without the one of this name, which is replaced.
_COUNT_OTHERS = """
SELECT count(*) FROM saved_views
WHERE merchant_id = $1 AND user_id = $2 AND list = 'CLAIMS' AND name <> $3
"""
_SAVE = """
INSERT INTO saved_views (merchant_id, view_id, user_id, is_shared, list, name, query, created_at)
VALUES ($1, $2, $3, $4, 'CLAIMS', $5, $6, $7)
ON CONFLICT (merchant_id, user_id, list, name) DO UPDATE
SET query = EXCLUDED.query, is_shared = EXCLUDED.is_shared
RETURNING view_id
"""
# Uses the primary key.
_DELETE = """
DELETE FROM saved_views
WHERE merchant_id = $1 AND view_id = $2 AND user_id = $3
RETURNING name
"""


@dataclass(frozen=True, slots=True)
class SavedView:
    view_id: UUID
    name: str
    # The query of the list's URL.
    query: str
    is_shared: bool
    is_own: bool
    owner: str


async def list_views(work: Work, user_id: UUID) -> Sequence[SavedView]:
    """List the user's own views first, then the shared ones."""
    work.require(Right.READ_CLAIMS)
    rows = await work.tx.fetch(_LOAD, work.merchant_id, user_id)
    return [SavedView(**row) for row in rows]


async def save_view(work: Work, user_id: UUID, name: str, query: str, *, is_shared: bool) -> UUID:
    """Save the filters under a name. A view of the user with this name is replaced. Raises
    ValidationError."""
    work.require(Right.READ_CLAIMS)
    if is_shared:
        work.require(Right.CHANGE_CLAIMS)
    faults = list(find_unprintable(name, ("name",)))
    if not 0 < len(name) <= MAX_NAME_LENGTH:
        faults.append(Fault("/name", f"Use 1 to {MAX_NAME_LENGTH} characters.", "WRONG_LENGTH"))
    if len(query) > _MAX_QUERY_LENGTH:
        faults.append(Fault("/query", "There are too many filters.", "TOO_LONG"))
    if await work.tx.fetchval(_COUNT_OTHERS, work.merchant_id, user_id, name) >= MAX_VIEWS:
        faults.append(Fault("/name", f"You have {MAX_VIEWS} views. Delete one first.", "TOO_MANY"))
    if faults:
        raise ValidationError(faults)
    view_id: UUID = await work.tx.fetchval(
        _SAVE, work.merchant_id, work.ids.new(work.real_now), user_id, is_shared, name, query,
        work.real_now,
    )  # fmt: skip
    # Mask the query, because the search text may be a person's name.
    after = {"name": name, "query": MASKED, "isShared": is_shared}
    await save_audit(work, "view.save", f"view:{view_id}", after=after, isShared=is_shared)
    return view_id


async def delete_view(work: Work, user_id: UUID, view_id: UUID) -> None:
    """Delete one of the user's own views. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    name = await work.tx.fetchval(_DELETE, work.merchant_id, view_id, user_id)
    if name is None:
        raise NotFound("You have no such view.")
    await save_audit(work, "view.end", f"view:{view_id}", before={"name": name})


# All columns, in the order in which they are shown.
COLUMNS = (
    "debtor", "company", "state", "open", "owed", "next", "customer", "changed", "created",
    "number",
)  # fmt: skip
_DEFAULT_COLUMNS = frozenset({"debtor", "state", "open", "next", "customer", "changed", "created"})
ORDERS = {
    "reference": SortKey.REFERENCE,
    "next": SortKey.NEXT_STEP,
    "changed": SortKey.CHANGED,
    "created": SortKey.CREATED,
}
_DEFAULT_ORDER = "-created"
# The value in the URL that shows no column except the reference.
REFERENCE_ONLY = "reference"


class ClaimListRow(msgspec.Struct, frozen=True, gc=False):
    """A row of the list. `name` is the debtor's name or the company."""

    claim: ClaimRow
    name: str


class ClaimsPage(Page, frozen=True):
    template: ClassVar[str] = "claims.html"
    area: ClassVar[str] = "claims"

    filters: ClaimListFilters
    sorting: Sorting
    # The columns shown next to the reference, in order.
    shown: Sequence[str]
    # True if the user chose the columns. Otherwise narrow screens show only some of them.
    are_chosen: bool
    faults: Sequence[tuple[str, str]]
    rows: Sequence[ClaimListRow]
    # The number of claims, up to the limit of counting. None if they are not counted.
    count: int | None
    is_more: bool
    after: str
    next_cursor: str | None
    currency: str
    workflows: Sequence[tuple[str, str]]
    views: Sequence[SavedView]
    # The saved view that has these filters.
    view_id: UUID | None


def describe_row(claim: ClaimRow) -> ClaimListRow:
    person = " ".join(part for part in (claim.first_name, claim.last_name) if part)
    return ClaimListRow(claim, render_line(person or claim.company_name or ""))


def parse_columns(given: str) -> tuple[str, ...]:
    """Return the columns that the URL names, in the fixed order, or () if it names none."""
    named = given.split(".")
    chosen = tuple(each for each in COLUMNS if each in named)
    return chosen or ((REFERENCE_ONLY,) if REFERENCE_ONLY in named else ())


def render_columns(chosen: Sequence[str]) -> str:
    """Return the columns as the URL has them, or "" for the default ones."""
    known = [each for each in COLUMNS if each in chosen]
    if not known:
        return REFERENCE_ONLY if REFERENCE_ONLY in chosen else ""
    return "" if set(known) == _DEFAULT_COLUMNS else ".".join(known)


def choose_columns(asked: Sequence[str], claims: Sequence[ClaimRow]) -> list[str]:
    """Return the columns to show: those that the URL names, or the default ones that are not
    empty for all of these claims."""
    if asked:
        return [each for each in asked if each != REFERENCE_ONLY]
    return [
        each
        for each in COLUMNS
        if each in _DEFAULT_COLUMNS
        and (each != "customer" or any(claim.customer_number for claim in claims))
        and (each != "next" or any(claim.next_step_at for claim in claims))
    ]


def parse_claim_order(given: str) -> tuple[Sorting, ClaimOrder]:
    sorting = parse_sorting(given, ORDERS, _DEFAULT_ORDER)
    return sorting, ClaimOrder(ORDERS[sorting.column], sorting.is_descending)


_PAGE_SIZE = 50


async def search_rows(
    work: Work, text: str, wanted: ClaimFilter, after: str
) -> tuple[list[ClaimListRow], str | None]:
    """Search claims. Return one page and the cursor of the next. A text without a word finds
    nothing."""
    work.require(Right.READ_CLAIMS)
    try:
        found = await search_claims(work, text, limit=_PAGE_SIZE, cursor=after or None)
    except ValidationError:
        return [], None
    return [
        describe_row(each) for each in found.items if matches_filter(each, wanted)
    ], found.next_cursor


def matches_filter(claim: ClaimRow, wanted: ClaimFilter) -> bool:
    """Return whether a claim that the search found matches the other filters."""
    cents = claim.balance.outstanding_cents
    next_at = claim.next_step_at
    return (
        wanted.status in (None, claim.status)
        and wanted.workflow_id in (None, claim.workflow_id)
        and (wanted.hold is None or any(each.kind is wanted.hold for each in claim.holds))
        and (wanted.min_cents is None or cents >= wanted.min_cents)
        and (wanted.max_cents is None or cents <= wanted.max_cents)
        and (
            wanted.next_step_since is None
            or (next_at is not None and next_at >= wanted.next_step_since)
        )
        and (
            wanted.next_step_until is None
            or (next_at is not None and next_at < wanted.next_step_until)
        )
    )
