"""Mandates: all of a merchant's, one with its debits, and revoking it."""

from collections.abc import Sequence
from typing import ClassVar

from starlette.responses import Response

from dunwell.cases.direct_debit.debit_values import MandateState
from dunwell.cases.direct_debit.listing.list_debits import (
    MandateFilter,
    get_mandate,
    list_all_mandates,
    list_collections_of_mandate,
)
from dunwell.cases.direct_debit.listing.store import ListedCollection, ListedMandate
from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.contact.messages.templates.formatting import render_name
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, Sorting, load_page, parse_sorting
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import InvalidState

# A plan has at most this many instalments.
_MAX_DEBITS = 100


class MandatesPage(Page, frozen=True):
    template: ClassVar[str] = "mandates.html"
    area: ClassVar[str] = "debits"

    mandates: Sequence[ListedMandate]
    state: str
    sorting: Sorting
    after: str
    next_cursor: str | None


class MandateDetailsPage(Page, frozen=True):
    """A mandate with its debits, by their instalments. `name` is the debtor's."""

    template: ClassVar[str] = "mandate.html"
    area: ClassVar[str] = "debits"

    listed: ListedMandate
    debits: Sequence[ListedCollection]
    name: str
    result_code: str


@at_merchant
async def get_mandates_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after, asked = request.get_parameter("after"), request.get_parameter("state")
    state = next((each for each in MandateState if each == asked), None)
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, "-time")
    oldest_first = not sorting.is_descending
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_all_mandates(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=MandateFilter(state),
                oldest_first=oldest_first,
            ),
            after,
        )  # fmt: skip
    page = MandatesPage(
        mandates=found.items,
        state=state or "",
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_mandate_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    claim_id, mandate_id = parse_claim_id(request), parse_path_id(request, "mandate_id")
    async with site.open_work(access) as work:
        claim = await open_claim(work, access, claim_id)
        listed = await get_mandate(work, claim_id, mandate_id)
        debits = await list_collections_of_mandate(work, claim_id, mandate_id, limit=_MAX_DEBITS)
    page = MandateDetailsPage(
        listed=listed,
        debits=sorted(debits.items, key=lambda each: each.collection.instalment),
        name=render_name(claim.debtor),
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_revocation(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Revoke the mandate. If it has ended in another way, the page says so."""
    claim_id, mandate_id = parse_claim_id(request), parse_path_id(request, "mandate_id")
    done = "revoked"
    try:
        async with site.open_work(access) as work:
            await revoke_mandate(work, claim_id, mandate_id)
    except InvalidState:
        done = "not_revoked"
    return site.redirect(
        request, access, "mandate", claim_id=claim_id, mandate_id=mandate_id, done=done
    )


PAGES: RoutedPages = {
    "mandates": {"GET": get_mandates_page},
    "mandate": {"GET": get_mandate_page, "POST": submit_revocation},
}
