"""The debits that wait for their release, all debits, one debit, and holding it back."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.account import Work
from dunwell.cases.direct_debit.debit_values import CollectionState, compute_last_release_day
from dunwell.cases.direct_debit.files.hold_back import hold_back_debit
from dunwell.cases.direct_debit.files.store import DebitFile, DebitFileState
from dunwell.cases.direct_debit.listing.list_debits import (
    CollectionFilter,
    DebitFileFilter,
    ReleasableDebit,
    get_collection,
    list_collections,
    list_debit_accounts,
    list_debit_files,
    list_debits_to_release,
)
from dunwell.cases.direct_debit.listing.store import ListedCollection
from dunwell.interfaces.portal.debits.collectors import parse_collector
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, build_job_filter, load_page, parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.operations.jobs.job import Export, ExportedList
from dunwell.operations.jobs.jobs import start_export
from dunwell.platform.errors import InvalidState

# The rows of the form that releases debits. A form has at most 500 fields.
MAX_SHOWN = 200
_MAX_FILES = 10


class DebitsToReleasePage(Page, frozen=True):
    """The debits that wait for their release, and the files that wait for staff. `last_days` maps
    the day of a debit to the last day on which it can be released. `is_available` is True if the
    merchant's own bank collects debits."""

    template: ClassVar[str] = "debits_release.html"
    area: ClassVar[str] = "debits"

    debits: Sequence[ReleasableDebit]
    has_more: bool
    last_days: Mapping[date, date]
    to_confirm: Sequence[DebitFile]
    to_deliver: Sequence[DebitFile]
    result_code: str
    is_available: bool


class DebitsPage(Page, frozen=True):
    """All debits. `state`, `by`, `since` and `until` are the filters; `accounts` are those at
    providers that can be chosen."""

    template: ClassVar[str] = "debits_all.html"
    area: ClassVar[str] = "debits"

    debits: Sequence[ListedCollection]
    accounts: Sequence[str]
    state: str
    by: str
    since: date | None
    until: date | None
    after: str
    next_cursor: str | None


class DebitPage(Page, frozen=True):
    template: ClassVar[str] = "debit.html"
    area: ClassVar[str] = "debits"

    listed: ListedCollection
    can_be_held_back: bool
    result_code: str


@at_merchant
async def get_debits_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Show the debits that wait for their release, or all debits if a provider collects them and
    none waits."""
    if request.get_parameter("show") == "all":
        return await _render_all_debits(site, request, access)
    payment = access.merchant.configuration.payment
    settings = payment.direct_debit
    async with site.open_work(access) as work:
        waiting = await list_debits_to_release(work, limit=MAX_SHOWN + 1)
        to_confirm = await _list_files(work, DebitFileFilter(DebitFileState.PROPOSED))
        to_deliver = await _list_files(work, DebitFileFilter(needs_delivery=True))
    is_at_provider = settings is None and payment.direct_debit_provider is not None
    if is_at_provider and not (waiting or to_confirm or to_deliver):
        return await _render_all_debits(site, request, access)
    shown = waiting[:MAX_SHOWN]
    days = {each.listed.collection.collected_on for each in shown}
    lead_days = 0 if settings is None else settings.lead_days
    page = DebitsToReleasePage(
        debits=shown,
        has_more=len(waiting) > MAX_SHOWN,
        last_days={day: compute_last_release_day(day, lead_days) for day in days},
        to_confirm=to_confirm,
        to_deliver=to_deliver,
        result_code=request.get_parameter("done"),
        is_available=settings is not None,
    )
    return site.render_merchant_page(request, access, page)


async def _list_files(work: Work, wanted: DebitFileFilter) -> Sequence[DebitFile]:
    page = await list_debit_files(work, limit=_MAX_FILES, wanted=wanted, oldest_first=True)
    return page.items


async def _render_all_debits(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    after, by = request.get_parameter("after"), request.get_parameter("by")
    wanted = _parse_filter(request.get_parameter)
    async with site.open_work(access) as work:
        accounts = await list_debit_accounts(work)
        found = await load_page(
            lambda cursor: list_collections(work, limit=PAGE_SIZE, cursor=cursor, wanted=wanted),
            after,
        )
    page = DebitsPage(
        debits=found.items,
        accounts=accounts,
        state=wanted.state or "",
        by=by,
        since=wanted.collected_from,
        until=wanted.collected_to,
        after=after,
        next_cursor=found.next_cursor,
    )
    return site.render_merchant_page(request, access, page)


def _parse_filter(read: Callable[[str], str]) -> CollectionFilter:
    """Return the filter of a URL or a form."""
    asked, (account, by_bank) = read("state"), parse_collector(read("by"))
    state = next((each for each in CollectionState if each == asked), None)
    since, until = parse_day(read("since")), parse_day(read("until"))
    return CollectionFilter(
        state, account=account, by_bank=by_bank, collected_from=since, collected_to=until
    )


@takes_form_at_merchant
async def submit_export(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Start a job that exports the list of all debits as CSV."""
    wanted = build_job_filter(_parse_filter(fields.text))
    async with site.open_work(access) as work:
        job = await start_export(work, Export(ExportedList.COLLECTIONS, wanted))
    return site.redirect(request, access, "job", job_id=job.job_id)


@at_merchant
async def redirect_to_all(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect users who open the URL of a form by hand."""
    return site.redirect(request, access, "debits", show="all")


@at_merchant
async def get_debit_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    async with site.open_work(access) as work:
        listed = await get_collection(work, parse_path_id(request, "collection_id"))
    state = listed.collection.state
    page = DebitPage(
        listed=listed,
        can_be_held_back=state in (CollectionState.PLANNED, CollectionState.PRENOTIFIED),
        result_code=request.get_parameter("done"),
    )
    return site.render_merchant_page(request, access, page)


@takes_form_at_merchant
async def submit_hold_back(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Hold the debit back. If it was released meanwhile, the page says so."""
    collection_id: UUID = parse_path_id(request, "collection_id")
    done = "held_back"
    try:
        async with site.open_work(access) as work:
            await hold_back_debit(work, collection_id)
    except InvalidState:
        done = "not_held_back"
    return site.redirect(request, access, "debit", collection_id=collection_id, done=done)


PAGES: RoutedPages = {
    "debits": {"GET": get_debits_page},
    "debits_export": {"GET": redirect_to_all, "POST": submit_export},
    "debit": {"GET": get_debit_page, "POST": submit_hold_back},
}
