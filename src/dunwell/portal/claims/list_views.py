"""What the list of claims shows."""

from collections.abc import Sequence
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.claims.store_lists import ListedClaim
from dunwell.messages.formatting import render_line
from dunwell.portal.claims.saved_views import SavedView
from dunwell.portal.render.pages import Page
from dunwell.portal.render.sorting import Sorting
from dunwell.portal.web.claim_filters import Filters


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
