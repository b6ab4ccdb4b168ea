"""Webhook endpoints: the list, an endpoint with its delivery log, and a delivery; and the actions
on an endpoint: test it, rotate its secret, enable it, replay deliveries."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import ClassVar
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.body import KNOWN_EVENT_TYPES
from dunwell.core.events.deliveries.delivery_log import (
    DeliveryDetails,
    EndpointWithHealth,
    get_delivery,
    get_delivery_gap_report,
    get_endpoint,
    list_deliveries,
)
from dunwell.core.events.deliveries.proof import DeliveryGapReport
from dunwell.core.events.deliveries.replay import replay_delivery, replay_given_up
from dunwell.core.events.deliveries.store import DeliveryFilter, LoggedDelivery
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.endpoint import EndpointHealth, NewEndpointSecret
from dunwell.core.events.webhooks.endpoints import list_endpoints, rotate_secret, switch_on_endpoint
from dunwell.core.events.webhooks.retry import is_success
from dunwell.core.events.webhooks.send_test import send_test, start_test
from dunwell.core.events.webhooks.store import AttemptResult
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest, parse_path_id
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE, compute_day_span, load_page, parse_day
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FormFields
from dunwell.interfaces.web.templates import Page
from dunwell.platform.crypto import DecryptionFailed
from dunwell.platform.errors import InvalidState, NotFound, ValidationError


class EndpointsPage(Page, frozen=True):
    template: ClassVar[str] = "endpoints.html"
    area: ClassVar[str] = "endpoints"

    endpoints: Sequence[EndpointHealth]
    after: str
    next_cursor: str | None


class EndpointPage(Page, frozen=True):
    """One endpoint. `filters` are the filters of the log, as in the query. `since_error` is the
    fault of the form that replays deliveries: DAY, TOO_MANY or "". `replayed` is the number of
    deliveries that were just scheduled again."""

    template: ClassVar[str] = "endpoint.html"
    area: ClassVar[str] = "endpoints"

    endpoint_state: EndpointWithHealth
    gap_report: DeliveryGapReport
    first_number: int
    types: Sequence[str]
    filters: Mapping[str, str]
    deliveries: Sequence[LoggedDelivery]
    after: str
    next_cursor: str | None
    result_code: str
    replayed: int
    since_error: str = ""
    since_typed: str = ""


class DeliveryPage(Page, frozen=True):
    template: ClassVar[str] = "delivery.html"
    area: ClassVar[str] = "endpoints"

    endpoint_id: UUID
    url: str
    view: DeliveryDetails
    result_code: str


class EndpointTestPage(Page, frozen=True):
    """The result of a test event. `test_result` is None if the endpoint's secrets cannot be
    decrypted."""

    template: ClassVar[str] = "endpoint_test.html"
    area: ClassVar[str] = "endpoints"

    endpoint_id: UUID
    url: str
    event_id: UUID
    test_result: AttemptResult | None
    is_success: bool
    milliseconds: int


class EndpointSecretPage(Page, frozen=True):
    """The page before and after a rotation. `secret_mark` identifies the current secret, so that
    a form cannot rotate it twice. `until` is when the previous secret expires, while both sign.
    `new_secret` is shown only in this response."""

    template: ClassVar[str] = "endpoint_secret.html"
    area: ClassVar[str] = "endpoints"

    endpoint_id: UUID
    url: str
    secret_mark: str
    until: datetime | None
    is_conflict: bool
    new_secret: NewEndpointSecret | None = None


_STATES = ("PENDING", "DELIVERED", "GIVEN_UP")


@at_merchant
async def get_endpoints_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    if not access.may(Right.CONFIGURE):
        raise NotFound("There is no such page.")
    after = request.get_parameter("after")
    async with site.open_work(access) as work:
        found = await load_page(
            lambda cursor: list_endpoints(work, limit=PAGE_SIZE, cursor=cursor), after
        )
    return site.render_merchant_page(
        request, access, EndpointsPage(found.items, after, found.next_cursor)
    )


@at_merchant
async def get_endpoint_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await render_endpoint_page(site, request, access)


async def render_endpoint_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, since_typed: str = "",
    since_error: str = "", status: int = 200,
) -> Response:  # fmt: skip
    """Render an endpoint. `since_typed` and `since_error` belong to the form that replays failed
    deliveries."""
    endpoint_id, after = parse_path_id(request, "endpoint_id"), request.get_parameter("after")
    wanted = _parse_filter(request)
    first_number = parse_number(request.get_parameter("from")) or 1
    async with site.open_work(access) as work:
        endpoint_state = await get_endpoint(work, endpoint_id)
        gap_report = await get_delivery_gap_report(work, endpoint_id, first_number)
        log = await load_page(
            lambda cursor: list_deliveries(
                work, endpoint_id, limit=PAGE_SIZE, cursor=cursor, wanted=wanted
            ),
            after,
        )
    given = {"state": wanted.state, "type": wanted.type, "claim": wanted.claim_id}
    page = EndpointPage(
        endpoint_state=endpoint_state,
        gap_report=gap_report,
        first_number=first_number,
        types=KNOWN_EVENT_TYPES,
        filters={name: str(value) for name, value in given.items() if value},
        deliveries=log.items,
        after=after,
        next_cursor=log.next_cursor,
        result_code=request.get_parameter("done"),
        replayed=parse_number(request.get_parameter("again")) or 0,
        since_error=since_error,
        since_typed=since_typed,
    )
    return site.render_merchant_page(request, access, page, status)


@at_merchant
async def get_delivery_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    endpoint_id, event_id = parse_delivery_ids(request)
    async with site.open_work(access) as work:
        endpoint_state = await get_endpoint(work, endpoint_id)
        view = await get_delivery(work, endpoint_id, event_id)
    page = DeliveryPage(
        endpoint_id, endpoint_state.endpoint.url, view, request.get_parameter("done")
    )
    return site.render_merchant_page(request, access, page)


def parse_delivery_ids(request: PortalRequest) -> tuple[UUID, UUID]:
    """Return the ids of the endpoint and the event in the path. Raises NotFound."""
    return parse_path_id(request, "endpoint_id"), parse_path_id(request, "event_id")


def parse_number(text: str) -> int | None:
    is_number = text.isascii() and text.isdecimal() and len(text) <= 18
    return int(text) if is_number else None


def _parse_filter(request: PortalRequest) -> DeliveryFilter:
    """Return the filter of the query without values that do not exist."""
    state, kind = request.get_parameter("state"), request.get_parameter("type")
    return DeliveryFilter(
        state=next((each for each in _STATES if each == state), None),
        type=next((each for each in KNOWN_EVENT_TYPES if each == kind), None),
        claim_id=parse_number(request.get_parameter("claim")),
    )


_MILLISECOND = timedelta(milliseconds=1)


@at_merchant
async def redirect_to_endpoint(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    """Redirect a GET of an action's URL, such as a reload or a change of the language."""
    endpoint_id = parse_path_id(request, "endpoint_id")
    async with site.open_work(access) as work:
        await get_endpoint(work, endpoint_id)
    return site.redirect(request, access, "endpoint", endpoint_id=endpoint_id)


@takes_form_at_merchant
async def submit_test(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    """Send a test event. No transaction is open while the endpoint responds."""
    endpoint_id = parse_path_id(request, "endpoint_id")
    async with site.open_work(access) as work:
        test = await start_test(work, endpoint_id)
    settings = site.resources.settings
    async with open_webhook_sender(
        allow_loopback=settings.is_development, authorities=settings.ca
    ) as sender:
        try:
            result = await send_test(sender, site.resources.keys, test)
        except DecryptionFailed:
            result = None
    page = EndpointTestPage(
        endpoint_id=endpoint_id,
        url=test.endpoint.url,
        event_id=test.event_id,
        test_result=result,
        is_success=result is not None and is_success(result.status),
        milliseconds=result.duration // _MILLISECOND if result else 0,
    )
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_secret_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_secret_page(site, request, access)


@takes_form_at_merchant
@confirmed(SensitiveAction.WEBHOOK_SECRET)
async def submit_rotation(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Rotate the secret. The new secret is shown only in this response; submitting the form again
    causes a conflict."""
    endpoint_id = parse_path_id(request, "endpoint_id")
    try:
        async with site.open_work(access) as work:
            new_secret = await rotate_secret(
                work, site.resources.keys, endpoint_id, fields["known_secret"]
            )
            endpoint_state = await get_endpoint(work, endpoint_id)
    except InvalidState:
        return await _render_secret_page(site, request, access, is_conflict=True)
    until = endpoint_state.endpoint.previous_secret_until
    page = EndpointSecretPage(
        endpoint_id, new_secret.url, "", until, is_conflict=False, new_secret=new_secret
    )
    return site.render_merchant_page(request, access, page)


async def _render_secret_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, is_conflict: bool = False
) -> Response:
    endpoint_id = parse_path_id(request, "endpoint_id")
    async with site.open_work(access) as work:
        endpoint = (await get_endpoint(work, endpoint_id)).endpoint
    until = endpoint.previous_secret_until
    if until is not None and until <= site.now():
        until = None
    page = EndpointSecretPage(
        endpoint_id, endpoint.url, endpoint.secret_mark, until, is_conflict=is_conflict
    )
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 200)


@takes_form_at_merchant
async def submit_enable(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, _fields: FormFields
) -> Response:
    endpoint_id, done = parse_path_id(request, "endpoint_id"), "on"
    try:
        async with site.open_work(access) as work:
            await switch_on_endpoint(work, endpoint_id)
    except InvalidState:
        done = "on_before"
    return site.redirect(request, access, "endpoint", endpoint_id=endpoint_id, done=done)


@takes_form_at_merchant
async def submit_replay(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Replay all failed deliveries since a day in the merchant's time zone."""
    endpoint_id, typed = parse_path_id(request, "endpoint_id"), fields.text("since")
    since, _ = compute_day_span(access.merchant, parse_day(typed))
    if since is None:
        return await render_endpoint_page(
            site, request, access, since_typed=typed, since_error="DAY", status=422
        )
    try:
        async with site.open_work(access) as work:
            count = await replay_given_up(work, endpoint_id, since)
    except ValidationError:
        return await render_endpoint_page(
            site, request, access, since_typed=typed, since_error="TOO_MANY", status=422
        )
    return site.redirect(
        request, access, "endpoint", endpoint_id=endpoint_id, done="again", again=count
    )


@takes_form_at_merchant
async def submit_delivery_replay(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    (endpoint_id, event_id), done = parse_delivery_ids(request), "one_again"
    try:
        async with site.open_work(access) as work:
            await replay_delivery(work, endpoint_id, event_id, fields["known_seen"])
    except InvalidState:
        done = "changed"
    return site.redirect(
        request, access, "delivery", endpoint_id=endpoint_id, event_id=event_id, done=done
    )


PAGES: RoutedPages = {
    "endpoints": {"GET": get_endpoints_page},
    "endpoint": {"GET": get_endpoint_page},
    "endpoint_test": {"GET": redirect_to_endpoint, "POST": submit_test},
    "endpoint_secret": {"GET": get_secret_page, "POST": submit_rotation},
    "endpoint_on": {"GET": redirect_to_endpoint, "POST": submit_enable},
    "endpoint_replay": {"GET": redirect_to_endpoint, "POST": submit_replay},
    "delivery": {"GET": get_delivery_page, "POST": submit_delivery_replay},
}
