"""What the list of claims shows: its rows, and the columns and orders that its address says.

The reference is always there and first. Of the usual columns one that no claim of the page has
anything in is left out; one that was asked for is not.
"""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.contact.messages.formatting import render_line
from dunwell.core.claims.lists.list_claims import ClaimOrder, SortKey
from dunwell.core.claims.lists.store import ListedClaim
from dunwell.interfaces.portal.claims.saved_views import SavedView
from dunwell.interfaces.portal.render.sorting import Sorting, read_sorting
from dunwell.interfaces.portal.web.claim_filters import Filters
from dunwell.interfaces.web.templates import Page

# In the order they stand in.
COLUMNS = (
    "debtor", "company", "state", "open", "owed", "next", "customer", "changed", "created",
    "number",
)  # fmt: skip
_USUAL = frozenset({"debtor", "state", "open", "next", "customer", "changed", "created"})
ORDERS = {
    "reference": SortKey.REFERENCE,
    "next": SortKey.NEXT_STEP,
    "changed": SortKey.CHANGED,
    "created": SortKey.CREATED,
}
_USUAL_ORDER = "-created"
# Says that the address names columns, and none but the reference.
NONE = "reference"


class Row(msgspec.Struct, frozen=True, gc=False):
    claim: ListedClaim
    name: str


class ClaimsPage(Page, frozen=True):
    template: ClassVar[str] = "claims.html"
    area: ClassVar[str] = "claims"

    filters: Filters
    sorting: Sorting
    # The columns beside the reference, in their order.
    shown: Sequence[str]
    # By somebody; else they are the usual ones, and a narrow screen shows a part of them.
    are_chosen: bool
    faults: Sequence[tuple[str, str]]
    rows: Sequence[Row]
    # How many there are; beyond `counted_to` nobody counts. None: not counted.
    count: int | None
    is_more: bool
    after: str
    next_cursor: str | None
    currency: str
    workflows: Sequence[tuple[str, str]]
    views: Sequence[SavedView]
    # The view whose filters these are.
    view_id: UUID | None


def describe_row(claim: ListedClaim) -> Row:
    person = " ".join(part for part in (claim.first_name, claim.last_name) if part)
    return Row(claim, render_line(person or claim.company_name or ""))


def read_columns(given: str) -> tuple[str, ...]:
    """What an address names, in our order; (): nothing, which means the usual ones."""
    named = given.split(".")
    chosen = tuple(each for each in COLUMNS if each in named)
    return chosen or ((NONE,) if NONE in named else ())


def write_columns(chosen: Sequence[str]) -> str:
    """For the address; "" for the usual ones."""
    known = [each for each in COLUMNS if each in chosen]
    if not known:
        return NONE if NONE in chosen else ""
    return "" if set(known) == _USUAL else ".".join(known)


def choose_columns(asked: Sequence[str], claims: Sequence[ListedClaim]) -> list[str]:
    """Those to show."""
    if asked:
        return [each for each in asked if each != NONE]
    return [
        each
        for each in COLUMNS
        if each in _USUAL
        and (each != "customer" or any(claim.customer_number for claim in claims))
        and (each != "next" or any(claim.next_step_at for claim in claims))
    ]


def read_claim_order(given: str) -> tuple[Sorting, ClaimOrder]:
    sorting = read_sorting(given, ORDERS, _USUAL_ORDER)
    return sorting, ClaimOrder(ORDERS[sorting.column], sorting.is_descending)
