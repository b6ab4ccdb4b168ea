"""Payments and requests, messages, and addresses that are not written to any more."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, time, timedelta
from typing import TypeVar, get_args
from zoneinfo import ZoneInfo

from starlette.responses import Response

from dunwell.errors import InvalidState, NotFound, ValidationError
from dunwell.escalation.settle_unknown import settle_unknown
from dunwell.events.find_endpoints import find_endpoints
from dunwell.merchants.configuration import Channel
from dunwell.merchants.rights import Right
from dunwell.messages.communication_store import load_found_communications
from dunwell.messages.communication_views import CommunicationState
from dunwell.messages.lists.find_communications import CommunicationFilter, find_communications
from dunwell.messages.lists.find_suppressions import find_suppressions
from dunwell.payments.find_payments import PaymentFilter, find_payment_requests, find_payments
from dunwell.portal.lists.views import (
    EndpointsPage,
    MessagesPage,
    PaymentsPage,
    SettlePage,
    SuppressionsPage,
)
from dunwell.portal.web.days import read_day
from dunwell.portal.web.desk import Desk
from dunwell.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.portal.web.looking import read_id
from dunwell.portal.web.site import Site
from dunwell.portal.web.visit import Fields, Visit

PAGE = 50
_Found = TypeVar("_Found")


@at_merchant
async def show_payments(site: Site, visit: Visit, desk: Desk) -> Response:
    """Of the day in the address, if one is named."""
    on, is_requests = read_day(visit.ask("on")), visit.ask("show") == "requests"
    since = until = None
    if on is not None:
        zone = ZoneInfo(desk.merchant.configuration.timezone)
        since = datetime.combine(on, time(), zone).astimezone(UTC)
        until = datetime.combine(on + timedelta(days=1), time(), zone).astimezone(UTC)
    after = visit.ask("after")
    async with site.work(desk) as work:
        if is_requests:
            asked = await _page(
                lambda cursor: find_payment_requests(work, limit=PAGE, cursor=cursor), after
            )
            page = PaymentsPage("requests", on, (), asked.requests, after, asked.next_cursor)
        else:
            wanted = PaymentFilter(since=since, until=until)
            found = await _page(
                lambda cursor: find_payments(work, limit=PAGE, cursor=cursor, wanted=wanted), after
            )
            page = PaymentsPage("payments", on, found.payments, (), after, found.next_cursor)
    return site.answer_at(visit, desk, page)


@at_merchant
async def show_messages(site: Site, visit: Visit, desk: Desk) -> Response:
    state, channel, after = visit.ask("state"), visit.ask("channel"), visit.ask("after")
    wanted = CommunicationFilter(
        state=next((each for each in get_args(CommunicationState) if each == state), None),
        channel=next((each for each in get_args(Channel) if each == channel), None),
    )
    async with site.work(desk) as work:
        found = await _page(
            lambda cursor: find_communications(work, limit=PAGE, cursor=cursor, wanted=wanted),
            after,
        )
    given = {"state": wanted.state or "", "channel": wanted.channel or ""}
    filters = {name: str(value) for name, value in given.items() if value}
    page = MessagesPage(filters, found.communications, after, found.next_cursor)
    return site.answer_at(visit, desk, page)


@at_merchant
async def show_settling(site: Site, visit: Visit, desk: Desk) -> Response:
    message_id = read_id(visit, "message_id")
    if not desk.may(Right.CONTACT_SETTINGS):
        raise NotFound("There is no such page.")
    async with site.work(desk) as work:
        work.need(Right.READ_CLAIMS)
        found = await load_found_communications(work.tx, work.merchant_id, [message_id])
    message = found.get(message_id)
    if message is None or message.state != "UNKNOWN":
        return site.redirect(visit, desk, "messages", state="UNKNOWN")
    return site.answer_at(visit, desk, SettlePage(message))


@takes_form_at_merchant
async def settle(site: Site, visit: Visit, desk: Desk, fields: Fields) -> Response:
    """Of two who settle at once the second is told what the first said."""
    outcome = fields["outcome"]
    if outcome not in ("sent", "not_sent"):
        return await show_settling(site, visit)
    try:
        async with site.work(desk) as work:
            message_id = read_id(visit, "message_id")
            await settle_unknown(work, message_id, was_sent=outcome == "sent")
    except InvalidState:
        return site.redirect(visit, desk, "messages", state="UNKNOWN", done="settled_before")
    return site.redirect(visit, desk, "messages", state="UNKNOWN", done="settled")


@at_merchant
async def show_suppressions(site: Site, visit: Visit, desk: Desk) -> Response:
    after = visit.ask("after")
    async with site.work(desk) as work:
        found = await _page(
            lambda cursor: find_suppressions(work, limit=PAGE, cursor=cursor), after
        )
    page = SuppressionsPage(found.suppressions, after, found.next_cursor)
    return site.answer_at(visit, desk, page)


@at_merchant
async def show_endpoints(site: Site, visit: Visit, desk: Desk) -> Response:
    if not desk.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    async with site.work(desk) as work:
        found = await find_endpoints(work, limit=PAGE)
    return site.answer_at(visit, desk, EndpointsPage(found.endpoints))


async def _page(find: Callable[[str | None], Awaitable[_Found]], after: str) -> _Found:
    """The first page, where the address names none of ours."""
    try:
        return await find(after or None)
    except ValidationError:
        return await find(None)


PAGES: RoutedPages = {
    "payments": {"GET": show_payments},
    "messages": {"GET": show_messages},
    "settle": {"GET": show_settling, "POST": settle},
    "endpoints": {"GET": show_endpoints},
    "suppressions": {"GET": show_suppressions},
}
