"""The first page after signing in (the user's merchant, or the list of merchants to choose from),
and the overview page of a merchant.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import ClassVar

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import search_merchants
from dunwell.accounts.users.user import SignedInUser
from dunwell.core.files.upload import StorageUse
from dunwell.core.files.uploads import get_storage_use
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, signed_in
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.templates import Page
from dunwell.operations.alerts.check_alerts import load_alert_overview
from dunwell.operations.dashboards.overview import (
    MAX_CLAIMS,
    MAX_NEWEST,
    PAYMENT_DAYS,
    AttentionItem,
    AttentionKind,
    PaidDay,
    TomorrowForecast,
    count_attention_items,
    load_overview,
)


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
    query, after = request.get_parameter("q")[:100], request.get_parameter("after")
    accessible_ids = None if person.global_role is not None else [*person.memberships]
    async with site.resources.database.connection() as connection:
        found = await search_merchants(
            connection, query,
            among=accessible_ids, after=int(after) if after.isdecimal() and len(after) < 10 else 0,
            limit=_PAGE_SIZE + 1,
        )  # fmt: skip
    shown = [
        MerchantChoice(each.merchant_id, each.key, each.name, each.is_sandbox)
        for each in found[:_PAGE_SIZE]
    ]
    has_more = len(found) > _PAGE_SIZE
    last = shown[-1].merchant_id if has_more else 0
    return site.render_page(
        site.build_context(request), MerchantsPage(query, shown, has_more, last)
    )


@signed_in
async def get_keys_page(
    site: PortalSite, request: PortalRequest, _person: SignedInUser
) -> Response:
    return site.render_page(site.build_context(request), KeysPage())


class AttentionRow(msgspec.Struct, frozen=True, gc=False):
    """A list of items that need attention. The template has the text for each `kind`."""

    kind: str
    count: int
    is_more: bool
    # None if the oldest item is beyond the counted ones.
    since: datetime | None


class StartPage(Page, frozen=True):
    template: ClassVar[str] = "start.html"
    area: ClassVar[str] = "start"

    attention_rows: Sequence[AttentionRow]
    # The number of overdue items, by the kind of the row that shows them.
    overdue: Mapping[str, int]
    states: Sequence[tuple[str, int]]
    max_counted: int
    held: int
    tomorrow: TomorrowForecast
    tomorrow_on: date
    # One entry for each day, with payments in the currency in which most was paid.
    days: Sequence[PaidDay]
    currency: str
    paid_cents: int
    has_more_payments: bool
    max_newest: int
    # Tuples of channel, planned, accepted, failed and unknown contacts.
    channels: Sequence[tuple[str, int, int, int, int]]
    now: datetime
    # For operators of the installation: the number of active alerts.
    alerts: int
    is_alert_check_stale: bool
    # Set when 80 % or more of the storage is used.
    storage: StorageUse | None


# The kind of the overdue items that a row also shows, by the kind of the row.
OVERDUE_KIND: Mapping[AttentionKind, AttentionKind] = {
    AttentionKind.OPEN_DISPUTES: AttentionKind.OVERDUE_DISPUTES,
    AttentionKind.REQUESTED_MODALITIES: AttentionKind.OVERDUE_MODALITIES,
}
_BEGINNING_OF_TIME = datetime.min.replace(tzinfo=UTC)


def build_attention_rows(
    attention_items: Mapping[AttentionKind, AttentionItem],
) -> list[AttentionRow]:
    """Return the rows, the oldest first. Overdue items are shown in the row of their kind
    (`OVERDUE_KIND`)."""
    attention_rows = [
        AttentionRow(str(kind), each.count.number, each.count.is_more, each.oldest_at)
        for kind, each in attention_items.items()
        if kind not in OVERDUE_KIND.values() and each.count.number
    ]
    return sorted(attention_rows, key=lambda each: each.since or _BEGINNING_OF_TIME)


def fill_days(paid: Sequence[PaidDay], currency: str, today: date) -> list[PaidDay]:
    """Return one entry for each day, including days without payments."""
    found = {each.day: each for each in paid if each.currency == currency}
    days = [today - timedelta(days=days_ago) for days_ago in range(PAYMENT_DAYS - 1, -1, -1)]
    return [found.get(day, PaidDay(day, currency, 0, 0)) for day in days]


def build_channel_rows(contacts: dict[str, dict[str, int]]) -> list[tuple[str, int, int, int, int]]:
    """Return tuples of channel, all, accepted, failed and unknown contacts."""
    return [
        (
            channel, sum(states.values()), states.get("ACCEPTED", 0), states.get("FAILED", 0),
            states.get("UNKNOWN", 0),
        )
        for channel, states in sorted(contacts.items())
    ]  # fmt: skip


@at_merchant
async def get_start_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    context = site.build_context(request, access)
    assert context.today is not None
    async with site.open_work(access) as work:
        attention_items = await count_attention_items(work)
        overview = await load_overview(work)
        now = work.now
        storage = await get_storage_use(work, site.resources.settings.merchant_storage_bytes)
        alerts = None
        if Right.OPERATE in access.person.rights_everywhere:
            alerts = await load_alert_overview(work.tx, access.person.actor, work.real_now)
    by_currency = Counter[str]()
    for each in overview.paid:
        by_currency[each.currency] += each.cents
    currency = next(iter(by_currency.most_common(1)), (access.merchant.configuration.currency, 0))[
        0
    ]
    page = StartPage(
        attention_rows=build_attention_rows(attention_items),
        overdue={
            str(kind): attention_items[overdue_kind].count.number
            for kind, overdue_kind in OVERDUE_KIND.items()
        },
        states=list(overview.states.items()),
        max_counted=MAX_CLAIMS,
        held=overview.held,
        tomorrow=overview.tomorrow,
        tomorrow_on=context.today + timedelta(days=1),
        days=fill_days(overview.paid, currency, context.today),
        currency=currency,
        paid_cents=by_currency[currency],
        has_more_payments=overview.is_cut,
        max_newest=MAX_NEWEST,
        channels=build_channel_rows(overview.contacts),
        now=now,
        alerts=len(alerts.active) if alerts else 0,
        storage=storage if storage.is_near_limit else None,
        is_alert_check_stale=alerts is not None and alerts.is_stale,
    )
    return site.render_page(context, page)


PAGES: RoutedPages = {
    "portal": {"GET": redirect_to_first_page},
    "merchants": {"GET": get_merchants_page},
    "keys": {"GET": get_keys_page},
    "start": {"GET": get_start_page},
}
