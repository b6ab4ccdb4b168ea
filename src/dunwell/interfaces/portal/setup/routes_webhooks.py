"""Where a merchant's events are sent to: endpoints added and taken away. What was sent there, and
how it is doing, are the pages of webhooks."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from starlette.responses import Response

from dunwell.core.events.body import EVENT_TYPES
from dunwell.core.events.list_endpoints import list_endpoints
from dunwell.core.events.webhooks.endpoint import ALL_TYPES, NewSecret, WantedEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint, remove_endpoint
from dunwell.interfaces.portal.setup.surroundings import need_configure
from dunwell.interfaces.portal.setup.views import HooksPage
from dunwell.interfaces.portal.web.access import Access
from dunwell.interfaces.portal.web.confirming import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.paging import PAGE
from dunwell.interfaces.portal.web.portal_request import PortalRequest
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.forms import PlacedFaults, find_field
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError

_NAMES = ("url", "events", "authorization")


@at_merchant
async def show_hooks(site: PortalSite, visit: PortalRequest, access: Access) -> Response:
    return await _answer(
        site, visit, access, {"url": "", "events": [ALL_TYPES], "authorization": ""}
    )


@takes_form_at_merchant
@confirmed(SensitiveAction.WEBHOOKS)
async def change(
    site: PortalSite, visit: PortalRequest, access: Access, fields: FormFields
) -> Response:
    """do: "remove" takes away the endpoint that is named; anything else adds one."""
    need_configure(access)
    if fields["do"] == "remove":
        return await _remove(site, visit, access, fields["endpoint"])
    url, events, authorization = (
        fields.text("url"), fields.all("events"), fields.text("authorization"),
    )  # fmt: skip
    typed = {"url": url, "events": events, "authorization": authorization}
    wanted = WantedEndpoint(url, tuple(events), authorization or None)
    is_development = site.resources.settings.is_development
    try:
        async with site.work(access) as work:
            made = await add_endpoint(
                work, site.resources.keys, wanted, is_development=is_development
            )
    except ValidationError as refusal:
        faults = [(find_field(_NAMES, fault.path), fault) for fault in refusal.faults]
        return await _answer(site, visit, access=access, typed=typed, faults=faults)
    except InvalidState as refusal:
        taken = Fault("/url", refusal.message, "TAKEN")
        return await _answer(site, visit, access=access, typed=typed, faults=[("url", taken)])
    return await _answer(site, visit, access, {**typed, "url": "", "authorization": ""}, made=made)


async def _remove(site: PortalSite, visit: PortalRequest, access: Access, given: str) -> Response:
    """Of two who take away the same, the second is told."""
    done = "removed"
    try:
        async with site.work(access) as work:
            await remove_endpoint(work, UUID(given))
    except (NotFound, ValueError):
        done = "endpoint_over"
    return site.redirect(visit, access, "settings_webhooks", done=done)


async def _answer(
    site: PortalSite, visit: PortalRequest, access: Access, typed: Mapping[str, Any],
    faults: PlacedFaults = (), *, made: NewSecret | None = None,
) -> Response:  # fmt: skip
    """made: its secret stands in this answer alone."""
    need_configure(access)
    async with site.work(access) as work:
        found = await list_endpoints(work, limit=PAGE)
    page = HooksPage(found.items, EVENT_TYPES, typed=typed, faults=faults, made=made)
    return site.answer_at(visit, access, page, 422 if faults else 200)


PAGES: RoutedPages = {"settings_webhooks": {"GET": show_hooks, "POST": change}}
