"""The test clock of a sandbox: show it, advance it, and list the events that this caused."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import msgspec
from starlette.responses import Response

from dunwell.accounts.merchants.account import check_right
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.event_log import EventFilter, list_events
from dunwell.interfaces.portal.setup.views import ClockPage
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.operations.sandbox.advance_clock import TestClockState, advance_clock, get_test_clock
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.errors import NotFound, ValidationError

_STEPS: Mapping[str, timedelta] = {
    "hour": timedelta(hours=1), "day": timedelta(days=1), "week": timedelta(weeks=1),
}  # fmt: skip
# Limits the work after a typing error in the year.
_MAX_ADVANCE = timedelta(days=366)


@at_merchant
async def get_clock_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_page(site, request, access)


@takes_form_at_merchant
async def submit_clock(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Advance the clock, as the field `do` says: by an "hour", "day" or "week", to the "next" due
    time, or "to" the entered time. The request names the time that the page showed, so that a form
    submitted twice advances the clock once."""
    _check_is_sandbox(access)
    check_right(access.actor, Right.OPERATE)
    typed = fields.text("to")
    async with site.open_work(access) as work:
        clock = await get_test_clock(work)
    known, wanted = (
        _parse_instant(fields["known_now"]),
        _compute_target(access, clock, fields["do"], typed),
    )
    if known != clock.now:
        return await _render_page(site, request, access, typed=typed, error="MOVED")
    if wanted is None or not clock.now <= wanted <= clock.now + _MAX_ADVANCE:
        return await _render_page(
            site, request, access, typed=typed, error="DAY" if wanted is None else "RANGE"
        )
    try:
        await advance_clock(
            site.resources, site.services.channels, access.merchant, access.actor, advance_to=wanted
        )
    except ValidationError:
        return await _render_page(site, request, access, typed=typed, error="MOVED")
    return site.redirect(request, access, "clock", since=clock.now.isoformat())


def _compute_target(
    access: MerchantAccess, clock: TestClockState, action: str, typed: str
) -> datetime | None:
    if action in _STEPS:
        return clock.now + _STEPS[action]
    if action == "next":
        return clock.next_at and max(clock.next_at, clock.now)
    try:
        local = datetime.fromisoformat(typed)
    except ValueError:
        return None
    if not 1900 < local.year < 9000:
        return None
    zone = ZoneInfo(access.merchant.configuration.timezone)
    return local.replace(tzinfo=zone).astimezone(UTC)


async def _render_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    *,
    typed: str = "",
    error: str = "",
) -> Response:
    _check_is_sandbox(access)
    since = _parse_instant(request.get_parameter("since"))
    new_events: ListPage[str] = ListPage([], None)
    async with site.open_work(access) as work:
        clock = await get_test_clock(work)
        if since is not None:
            wanted = EventFilter(since=since)
            new_events = await list_events(work, limit=PAGE_SIZE, wanted=wanted)
    page = ClockPage(
        now=clock.now,
        next_at=clock.next_at,
        since=since,
        new_events=[_parse_event(each) for each in new_events.items],
        has_more=new_events.next_cursor is not None,
        typed=typed,
        error=error,
    )
    status = 200 if not error else 409 if error == "MOVED" else 422
    return site.render_merchant_page(request, access, page, status)


def _check_is_sandbox(access: MerchantAccess) -> None:
    """Raise NotFound for a live merchant, which has no test clock."""
    if not access.merchant.is_sandbox:
        raise NotFound("There is no such page.")


def _parse_event(body: str) -> dict[str, Any]:
    event: dict[str, Any] = msgspec.json.decode(body)
    return event


def _parse_instant(text: str) -> datetime | None:
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    is_plain = instant.tzinfo is not None and 1900 < instant.year < 9000
    return instant.astimezone(UTC) if is_plain else None


PAGES: RoutedPages = {"clock": {"GET": get_clock_page, "POST": submit_clock}}
