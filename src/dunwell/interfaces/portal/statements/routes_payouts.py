"""Payouts of payment providers: the list, and one payout with what it consists of."""

from collections.abc import Sequence
from typing import ClassVar

from starlette.responses import Response

from dunwell.cases.statements.payouts.list_payouts import (
    ExplainedMovement,
    ExplainedPayout,
    ListedPayout,
    PayoutFilter,
    explain_payout,
    list_payouts,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, load_page
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.templates import Page

_MAX_MOVEMENTS = 500


class PayoutsPage(Page, frozen=True):
    """`show` is "awaited" for payouts that are on no statement yet, and "" for all."""

    template: ClassVar[str] = "payouts.html"
    area: ClassVar[str] = "payments"

    payouts: Sequence[ListedPayout]
    show: str
    after: str
    next_cursor: str | None


class PayoutDetailsPage(Page, frozen=True):
    """A payout. `movements` are the first ones of the merchant's claims; the sum of the rest is
    `further_cents`."""

    template: ClassVar[str] = "payout.html"
    area: ClassVar[str] = "payments"

    explained: ExplainedPayout
    movements: Sequence[ExplainedMovement]
    further_count: int
    further_cents: int


@at_merchant
async def get_payouts_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after = request.get_parameter("after")
    show = "awaited" if request.get_parameter("show") == "awaited" else ""
    wanted = PayoutFilter(has_arrived=False if show else None)
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_payouts(work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted), after
        )
    page = PayoutsPage(found.items, show, after, found.next_cursor)
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_payout_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    async with site.open_work(access) as work:
        explained = await explain_payout(work, parse_path_id(request, "record_id"))
    shown, further = explained.movements[:_MAX_MOVEMENTS], explained.movements[_MAX_MOVEMENTS:]
    further_cents = sum(each.amount_cents for each in further)
    page = PayoutDetailsPage(explained, shown, len(further), further_cents)
    return site.render_merchant_page(request, access, page)


PAGES: RoutedPages = {"payouts": {"GET": get_payouts_page}, "payout": {"GET": get_payout_page}}
