"""What is done about an endpoint: tested, its secret rotated, switched on, sent to again.

What was done since its page was shown is told, and nothing is done twice.
"""

from datetime import timedelta

from starlette.responses import Response

from dunwell.core.events.deliveries.delivery_log import read_endpoint
from dunwell.core.events.deliveries.replay import replay_delivery, replay_given_up
from dunwell.core.events.webhooks.delivery import open_webhook_sender
from dunwell.core.events.webhooks.endpoints import rotate_secret, switch_on_endpoint
from dunwell.core.events.webhooks.retry import is_success
from dunwell.core.events.webhooks.send_test import begin_test, send_test
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.confirming import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.looking import read_id
from dunwell.interfaces.portal.web.paging import read_day, span_of_day
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.portal.webhooks.routes import answer_endpoint, read_place, show_delivery
from dunwell.interfaces.portal.webhooks.views import SecretPage, TestPage
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.crypto import SealBroken
from dunwell.platform.errors import InvalidState, ValidationError

_MILLISECOND = timedelta(milliseconds=1)


@at_merchant
async def go_back(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    """From the address of what was done, reloaded or in another language."""
    endpoint_id = read_id(visit, "endpoint_id")
    async with site.work(access) as work:
        await read_endpoint(work, endpoint_id)
    return site.redirect(visit, access, "endpoint", endpoint_id=endpoint_id)


@takes_form_at_merchant
async def test(
    site: PortalSite, visit: PortalRequest, access: Access, _fields: FormFields
) -> Response:
    """No transaction is open while the endpoint is waited for."""
    endpoint_id = read_id(visit, "endpoint_id")
    async with site.work(access) as work:
        begun = await begin_test(work, endpoint_id)
    settings = site.resources.settings
    async with open_webhook_sender(
        allow_loopback=settings.is_development, authorities=settings.ca
    ) as sender:
        try:
            reply = await send_test(sender, site.resources.keys, begun)
        except SealBroken:
            reply = None
    page = TestPage(
        endpoint_id=endpoint_id,
        url=begun.endpoint.url,
        event_id=begun.event_id,
        reply=reply,
        is_success=reply is not None and is_success(reply.status),
        milliseconds=reply.duration // _MILLISECOND if reply else 0,
    )
    return site.answer_at(visit, access, page)


@at_merchant
async def show_secret(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer_secret(site, visit, access)


@takes_form_at_merchant
@confirmed(SensitiveAction.WEBHOOK_SECRET)
async def rotate(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """The new secret stands in this answer alone: asked for again, the form is an old one."""
    endpoint_id = read_id(visit, "endpoint_id")
    try:
        async with site.work(access) as work:
            made = await rotate_secret(
                work, site.resources.keys, endpoint_id, fields["known_secret"]
            )
            known = await read_endpoint(work, endpoint_id)
    except InvalidState:
        return await _answer_secret(site, visit, access, is_conflict=True)
    until = known.endpoint.previous_secret_until
    page = SecretPage(endpoint_id, made.url, "", until, is_conflict=False, made=made)
    return site.answer_at(visit, access, page)


async def _answer_secret(
    site: PortalSite, visit: PortalRequest, access: Access, *, is_conflict: bool = False
) -> Response:
    endpoint_id = read_id(visit, "endpoint_id")
    async with site.work(access) as work:
        endpoint = (await read_endpoint(work, endpoint_id)).endpoint
    until = endpoint.previous_secret_until
    if until is not None and until <= site.now():
        until = None
    page = SecretPage(
        endpoint_id, endpoint.url, endpoint.secret_mark, until, is_conflict=is_conflict
    )
    return site.answer_at(visit, access, page, 409 if is_conflict else 200)


@takes_form_at_merchant
async def switch_on(
    site: PortalSite, visit: PortalRequest, access: Access, _fields: FormFields
) -> Response:
    endpoint_id, done = read_id(visit, "endpoint_id"), "on"
    try:
        async with site.work(access) as work:
            await switch_on_endpoint(work, endpoint_id)
    except InvalidState:
        done = "on_before"
    return site.redirect(visit, access, "endpoint", endpoint_id=endpoint_id, done=done)


@takes_form_at_merchant
async def replay_since(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """All that was given up of a day of the merchant's and later."""
    endpoint_id, typed = read_id(visit, "endpoint_id"), fields.text("since")
    since, _ = span_of_day(access.merchant, read_day(typed))
    if since is None:
        return await answer_endpoint(
            site, visit, access, since_typed=typed, since_error="DAY", status=422
        )
    try:
        async with site.work(access) as work:
            count = await replay_given_up(work, endpoint_id, since)
    except ValidationError:
        return await answer_endpoint(
            site, visit, access, since_typed=typed, since_error="TOO_MANY", status=422
        )
    return site.redirect(
        visit, access, "endpoint", endpoint_id=endpoint_id, done="again", again=count
    )


@takes_form_at_merchant
async def replay_one(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    (endpoint_id, event_id), done = read_place(visit), "one_again"
    try:
        async with site.work(access) as work:
            await replay_delivery(work, endpoint_id, event_id, fields["known_seen"])
    except InvalidState:
        done = "changed"
    return site.redirect(
        visit, access, "delivery", endpoint_id=endpoint_id, event_id=event_id, done=done
    )


PAGES: RoutedPages = {
    "endpoint_test": {"GET": go_back, "POST": test},
    "endpoint_secret": {"GET": show_secret, "POST": rotate},
    "endpoint_on": {"GET": go_back, "POST": switch_on},
    "endpoint_replay": {"GET": go_back, "POST": replay_since},
    "delivery": {"GET": show_delivery, "POST": replay_one},
}
