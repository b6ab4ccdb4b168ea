"""The page after signing in: the user's merchant, or the list of merchants to choose from."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.store import search_merchants
from dunwell.accounts.users.user import SignedInUser
from dunwell.interfaces.portal.web.guards import RoutedPages, signed_in
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.templates import Page


class MerchantChoice(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    key: str
    name: str
    is_sandbox: bool


class MerchantsPage(Page, frozen=True):
    template: ClassVar[str] = "merchants.html"

    query: str
    merchants: Sequence[MerchantChoice]
    has_more: bool
    # The id after which the next page begins.
    after: int


class KeysPage(Page, frozen=True):
    template: ClassVar[str] = "keys.html"


_PAGE_SIZE = 50


@signed_in
async def redirect_to_first_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    """Redirect to the only merchant, or to the list. Merchant staff usually has one merchant."""
    if person.global_role is None and len(person.memberships) == 1:
        (merchant_id,) = person.memberships
        return site.redirect(request, None, "start", merchant_id=merchant_id)
    return site.redirect(request, None, "merchants")


@signed_in
async def get_merchants_page(
    site: PortalSite, request: PortalRequest, person: SignedInUser
) -> Response:
    query, after = request.ask("q")[:100], request.ask("after")
    reached = None if person.global_role is not None else [*person.memberships]
    async with site.resources.database.connection() as connection:
        found = await search_merchants(
            connection, query,
            among=reached, after=int(after) if after.isdecimal() and len(after) < 10 else 0,
            limit=_PAGE_SIZE + 1,
        )  # fmt: skip
    shown = [
        MerchantChoice(each.merchant_id, each.key, each.name, each.is_sandbox)
        for each in found[:_PAGE_SIZE]
    ]
    has_more = len(found) > _PAGE_SIZE
    last = shown[-1].merchant_id if has_more else 0
    return site.answer(site.build_context(request), MerchantsPage(query, shown, has_more, last))


@signed_in
async def get_keys_page(
    site: PortalSite, request: PortalRequest, _person: SignedInUser
) -> Response:
    return site.answer(site.build_context(request), KeysPage())


PAGES: RoutedPages = {
    "portal": {"GET": redirect_to_first_page},
    "merchants": {"GET": get_merchants_page},
    "keys": {"GET": get_keys_page},
}
