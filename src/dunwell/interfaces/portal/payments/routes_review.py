"""Movements of money and refunds that staff has to review."""

from collections.abc import Mapping, Sequence
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.list_movements import (
    ListedMovement,
    MovementFilter,
    list_movements,
)
from dunwell.cases.payments.refunds.store import ListedRefund
from dunwell.cases.payments.review_money import (
    RefundReview,
    decide_refund_review,
    list_refunds_to_review,
    review_movement,
    review_refund,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_form_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, load_page
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState, NotFound


class MovementsReviewPage(Page, frozen=True):
    """The refunds and the movements that need review. The refunds are on the first page only.

    `reasons` maps the id of each refund to the reason why it needs review. `has_more_refunds` is
    True if more refunds need review than are shown.
    """

    template: ClassVar[str] = "payments_review.html"
    area: ClassVar[str] = "payments"

    refunds: Sequence[ListedRefund]
    reasons: Mapping[UUID, RefundReview | None]
    has_more_refunds: bool
    movements: Sequence[ListedMovement]
    after: str
    next_cursor: str | None
    result_code: str


@at_merchant
async def get_review_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show what needs review, the oldest first."""
    after = request.get_parameter("after")
    wanted = MovementFilter(needs_review=True)
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_movements(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, oldest_first=True
            ),
            after,
        )
        refunds = await list_refunds_to_review(work, limit=PAGE_SIZE)
        now = work.real_now
    page = MovementsReviewPage(
        refunds=() if after else refunds.items,
        reasons={
            each.refund.refund_id: decide_refund_review(each.refund, now) for each in refunds.items
        },
        has_more_refunds=refunds.next_cursor is not None,
        movements=found.items,
        after=after,
        next_cursor=found.next_cursor,
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_review(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Mark a movement or a refund as reviewed. A second click changes nothing."""
    if not access.may(Right.RECORD_MONEY):
        raise NotFound("There is no such page.")
    done = "reviewed"
    try:
        async with site.open_work(access) as work:
            if fields["refund"]:
                await review_refund(work, parse_form_id(fields, "refund"))
            else:
                await review_movement(work, parse_form_id(fields, "movement"))
    except InvalidState:
        done = ""
    return site.redirect(request, access, "payments_review", done=done)


PAGES: RoutedPages = {"payments_review": {"GET": get_review_page, "POST": submit_review}}
