"""Movements of money that staff has to review."""

from collections.abc import Sequence
from typing import ClassVar

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.list_movements import (
    ListedMovement,
    MovementFilter,
    list_movements,
    review_movement,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_form_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, load_page
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound


class MovementsReviewPage(Page, frozen=True):
    template: ClassVar[str] = "payments_review.html"
    area: ClassVar[str] = "payments"

    movements: Sequence[ListedMovement]
    after: str
    next_cursor: str | None
    result_code: str


@at_merchant
async def get_review_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the movements that need review, the oldest first."""
    after = request.get_parameter("after")
    wanted = MovementFilter(needs_review=True)
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_movements(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, oldest_first=True
            ),
            after,
        )
    done = request.get_parameter("done")
    page = MovementsReviewPage(found.items, after, found.next_cursor, done)
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_review(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Mark a movement as reviewed. A second click changes nothing."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    done = "reviewed"
    try:
        async with site.open_work(access) as work:
            await review_movement(work, parse_form_id(fields, "movement"))
    except InvalidState:
        done = ""
    return site.redirect(request, access, "payments_review", done=done)


PAGES: RoutedPages = {"payments_review": {"GET": get_review_page, "POST": submit_review}}
