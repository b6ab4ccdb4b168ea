"""The start page of a merchant."""

from collections import Counter
from datetime import timedelta

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.uploads import read_storage_use
from dunwell.interfaces.portal.start.views import (
    OVERDUE,
    StartPage,
    count_channels,
    fill_days,
    list_waiting,
)
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.operations.alerts.look import read_alarms
from dunwell.operations.explanation.overview import MOST, NEWEST, read_overview, read_waiting


@at_merchant
async def show_start(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    frame = site.frame(visit, access)
    assert frame.today is not None
    async with site.work(access) as work:
        waiting = await read_waiting(work)
        overview = await read_overview(work)
        now = work.now
        storage = await read_storage_use(work, site.resources.settings.merchant_storage_bytes)
        alarms = None
        if Right.OPERATE in access.person.rights_everywhere:
            alarms = await read_alarms(work.tx, access.person.actor, work.real_now)
    by_currency = Counter[str]()
    for each in overview.paid:
        by_currency[each.currency] += each.cents
    currency = next(iter(by_currency.most_common(1)), (access.merchant.configuration.currency, 0))[
        0
    ]
    page = StartPage(
        lines=list_waiting(waiting),
        overdue={str(kind): waiting[late].count.number for kind, late in OVERDUE.items()},
        states=list(overview.states.items()),
        most=MOST,
        held=overview.held,
        tomorrow=overview.tomorrow,
        tomorrow_on=frame.today + timedelta(days=1),
        days=fill_days(overview.paid, currency, frame.today),
        currency=currency,
        paid_cents=by_currency[currency],
        is_cut=overview.is_cut,
        newest=NEWEST,
        channels=count_channels(overview.contacts),
        now=now,
        alarms=len(alarms.standing) if alarms else 0,
        storage=storage if storage.is_near_limit else None,
        is_unwatched=alarms is not None and alarms.is_stale,
    )
    return site.answer(frame, page)


PAGES: RoutedPages = {"start": {"GET": show_start}}
