"""Mandates: all of a merchant's, one with its debits, and revoking it."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from starlette.responses import Response

from dunwell.cases.direct_debit.debit_values import MandateState
from dunwell.cases.direct_debit.listing.list_debits import (
    MandateFilter,
    get_mandate,
    list_all_mandates,
    list_collections_of_mandate,
    list_debit_accounts,
)
from dunwell.cases.direct_debit.listing.store import ListedCollection, ListedMandate
from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.contact.messages.templates.formatting import render_name
from dunwell.interfaces.portal.debits.collectors import parse_collector
from dunwell.interfaces.portal.web.access import (
    MerchantAccess,
    PortalRequest,
    open_claim,
    parse_claim_id,
    parse_path_id,
)
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import (
    PAGE_SIZE,
    Sorting,
    build_job_filter,
    load_page,
    parse_sorting,
)
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.job import Export, ExportedList
from dunwell.operations.jobs.jobs import start_export
from dunwell.platform.errors import InvalidState

# A plan has at most this many instalments.
_MAX_DEBITS = 100


class MandatesPage(Page, frozen=True):
    template: ClassVar[str] = "mandates.html"
    area: ClassVar[str] = "debits"

    mandates: Sequence[ListedMandate]
    # The accounts at providers that can be chosen, and the filters.
    accounts: Sequence[str]
    state: str
    by: str
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
    after, by = request.get_parameter("after"), request.get_parameter("by")
    wanted = _parse_filter(request.get_parameter)
    sorting = parse_sorting(request.get_parameter("sort"), {"time"}, "-time")
    oldest_first = not sorting.is_descending
    async with site.open_work(access) as work:
        accounts = await list_debit_accounts(work)
        found = await load_page(
            lambda cursor: list_all_mandates(
                work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted, oldest_first=oldest_first
            ),
            after,
        )  # fmt: skip
    page = MandatesPage(
        mandates=found.items,
        accounts=accounts,
        state=wanted.state or "",
        by=by,
        sorting=sorting,
        after=after,
        next_cursor=found.next_cursor,
    )
    return site.render_merchant_page(request, access, page)


def _parse_filter(read: Callable[[str], str]) -> MandateFilter:
    """Return the filter of a URL or a form."""
    asked, (account, by_bank) = read("state"), parse_collector(read("by"))
    state = next((each for each in MandateState if each == asked), None)
    return MandateFilter(state, account=account, by_bank=by_bank)


@takes_form_at_merchant
async def submit_export(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Start a job that exports the list of mandates as CSV."""
    wanted = build_job_filter(_parse_filter(fields.text))
    async with site.open_work(access) as work:
        job = await start_export(work, Export(ExportedList.MANDATES, wanted))
    return site.redirect(request, access, "job", job_id=job.job_id)


@at_merchant
async def redirect_to_mandates(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand."""
    return site.redirect(request, access, "mandates")


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
    "mandates_export": {"GET": redirect_to_mandates, "POST": submit_export},
    "mandate": {"GET": get_mandate_page, "POST": submit_revocation},
}
