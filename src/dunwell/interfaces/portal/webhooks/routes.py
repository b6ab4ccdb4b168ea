"""The pages of webhooks: the list of endpoints, an endpoint with its log, a delivery."""

from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.body import EVENT_TYPES
from dunwell.core.events.deliveries.delivery_log import (
    list_deliveries,
    prove_deliveries,
    read_delivery,
    read_endpoint,
)
from dunwell.core.events.deliveries.store import LogFilter
from dunwell.core.events.list_endpoints import list_endpoints
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.paging import PAGE, find_page
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.webhooks.views import DeliveryPage, EndpointPage, EndpointsPage
from dunwell.platform.errors import NotFound

_STATES = ("PENDING", "DELIVERED", "GIVEN_UP")


@at_merchant
async def show_endpoints(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    after = visit.ask("after")
    async with site.work(access) as work:
        found = await find_page(
            lambda cursor: list_endpoints(work, limit=PAGE, cursor=cursor), after
        )
    return site.answer_at(visit, access, EndpointsPage(found.items, after, found.next_cursor))


@at_merchant
async def show_endpoint(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await answer_endpoint(site, visit, access)


async def answer_endpoint(
    site: PortalSite, visit: PortalRequest, access: Access, *, since_typed: str = "",
    since_error: str = "", status: int = 200,
) -> Response:  # fmt: skip
    """since_typed, since_error: of the form that replays what was given up."""
    endpoint_id, after = read_id(visit, "endpoint_id"), visit.ask("after")
    wanted = _read_filter(visit)
    asked_from = read_number(visit.ask("from")) or 1
    async with site.work(access) as work:
        known = await read_endpoint(work, endpoint_id)
        proof = await prove_deliveries(work, endpoint_id, asked_from)
        log = await find_page(
            lambda cursor: list_deliveries(
                work, endpoint_id, limit=PAGE, cursor=cursor, wanted=wanted
            ),
            after,
        )
    given = {"state": wanted.state, "type": wanted.type, "claim": wanted.claim_id}
    page = EndpointPage(
        known=known,
        proof=proof,
        asked_from=asked_from,
        types=EVENT_TYPES,
        filters={name: str(value) for name, value in given.items() if value},
        deliveries=log.items,
        after=after,
        next_cursor=log.next_cursor,
        done_here=visit.ask("done"),
        again=read_number(visit.ask("again")) or 0,
        since_error=since_error,
        since_typed=since_typed,
    )
    return site.answer_at(visit, access, page, status)


@at_merchant
async def show_delivery(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    endpoint_id, event_id = read_place(visit)
    async with site.work(access) as work:
        known = await read_endpoint(work, endpoint_id)
        view = await read_delivery(work, endpoint_id, event_id)
    page = DeliveryPage(endpoint_id, known.endpoint.url, view, visit.ask("done"))
    return site.answer_at(visit, access, page)


def read_place(visit: PortalRequest) -> tuple[UUID, UUID]:
    """The endpoint and the event of a delivery. Raises NotFound."""
    return read_id(visit, "endpoint_id"), read_id(visit, "event_id")


def read_number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= 18
    return int(text) if is_number else None


def _read_filter(visit: PortalRequest) -> LogFilter:
    """What means nothing is left out."""
    state, kind = visit.ask("state"), visit.ask("type")
    return LogFilter(
        state=next((each for each in _STATES if each == state), None),
        type=next((each for each in EVENT_TYPES if each == kind), None),
        claim_id=read_number(visit.ask("claim")),
    )


PAGES: RoutedPages = {
    "endpoints": {"GET": show_endpoints},
    "endpoint": {"GET": show_endpoint},
}
