"""The page after signing in: the user's merchant, or the list of merchants to choose from."""

from starlette.responses import Response

from dunwell.accounts.merchants.find_merchants import search_merchants
from dunwell.accounts.users.user import SignedInUser
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.web.views import KeysPage, MerchantChoice, MerchantsPage

_PAGE = 50


@signed_in
async def enter(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    """Redirect to the only merchant, or to the list. Merchant staff usually has one merchant."""
    if person.global_role is None and len(person.memberships) == 1:
        (merchant_id,) = person.memberships
        return site.redirect(visit, None, "start", merchant_id=merchant_id)
    return site.redirect(visit, None, "merchants")


@signed_in
async def choose_merchant(site: PortalSite, visit: PortalRequest, person: SignedInUser) -> Response:
    query, after = visit.ask("q")[:100], visit.ask("after")
    reached = None if person.global_role is not None else [*person.memberships]
    async with site.resources.database.connection() as connection:
        found = await search_merchants(
            connection, query,
            among=reached, after=int(after) if after.isdecimal() and len(after) < 10 else 0,
            limit=_PAGE + 1,
        )  # fmt: skip
    shown = [
        MerchantChoice(each.merchant_id, each.key, each.name, each.is_sandbox)
        for each in found[:_PAGE]
    ]
    has_more = len(found) > _PAGE
    last = shown[-1].merchant_id if has_more else 0
    return site.answer(site.frame(visit), MerchantsPage(query, shown, has_more, last))


@signed_in
async def show_keys(site: PortalSite, visit: PortalRequest, _person: SignedInUser) -> Response:
    return site.answer(site.frame(visit), KeysPage())


PAGES: RoutedPages = {
    "portal": {"GET": enter},
    "merchants": {"GET": choose_merchant},
    "keys": {"GET": show_keys},
}
