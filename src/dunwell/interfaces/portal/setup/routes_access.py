"""A merchant's API credentials and webhook endpoints: list, add, rotate and remove them."""

import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from starlette.responses import Response

from dunwell.accounts.merchants.credentials.credential import REQUESTS_PER_MINUTE
from dunwell.accounts.merchants.credentials.credentials import (
    create_credential,
    end_old_secret,
    get_rotation,
    list_credentials,
    revoke_credential,
    rotate_credential,
)
from dunwell.accounts.merchants.credentials.tokens import (
    CREDENTIAL_RANDOM_BYTES,
    SECRET_RANDOM_BYTES,
)
from dunwell.accounts.merchants.rights import Scope
from dunwell.core.events.body import KNOWN_EVENT_TYPES
from dunwell.core.events.webhooks.endpoint import ALL_TYPES, NewEndpoint, NewEndpointSecret
from dunwell.core.events.webhooks.endpoints import add_endpoint, list_endpoints, remove_endpoint
from dunwell.interfaces.portal.setup.views import (
    CredentialPage,
    CredentialSecretPage,
    CredentialsPage,
    WebhookSettingsPage,
    check_may_configure,
)
from dunwell.interfaces.portal.web.access import MerchantAccess, PortalRequest
from dunwell.interfaces.portal.web.confirm_identity import SensitiveAction, confirmed
from dunwell.interfaces.portal.web.guards import RoutedPages, at_merchant, takes_form_at_merchant
from dunwell.interfaces.portal.web.lists import PAGE_SIZE
from dunwell.interfaces.portal.web.site import PortalSite
from dunwell.interfaces.web.forms import FieldFaults, FormFields, find_field
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError

_FIELD_NAMES = ("name", "scope", "requestsPerMinute")


@at_merchant
async def get_credentials_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    typed = {"name": "", "scope": [str(Scope.ALL)], "requestsPerMinute": str(REQUESTS_PER_MINUTE)}
    return await _render_credentials_page(site, request, access, typed)


@takes_form_at_merchant
@confirmed(SensitiveAction.CREDENTIALS)
async def submit_credential(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    check_may_configure(access)
    name, limit, scopes = fields.text("name"), fields.text("requestsPerMinute"), fields.all("scope")
    typed = {"name": name, "scope": scopes, "requestsPerMinute": limit}
    is_number = limit.isascii() and limit.isdecimal() and len(limit) < 9
    try:
        async with site.open_work(access) as work:
            created = await create_credential(
                work, name,
                randomness=secrets.token_bytes(CREDENTIAL_RANDOM_BYTES),
                requests_per_minute=int(limit) if is_number else 0,
                scopes=[each for each in Scope if each in scopes],
            )  # fmt: skip
    except ValidationError as refusal:
        faults = [(find_field(_FIELD_NAMES, fault.path), fault) for fault in refusal.faults]
        return await _render_credentials_page(
            site, request, access=access, typed=typed, faults=faults
        )
    except InvalidState as refusal:
        taken = Fault("/name", refusal.message, "TAKEN")
        return await _render_credentials_page(
            site, request, access=access, typed=typed, faults=[("name", taken)]
        )
    page = CredentialSecretPage(created.client_id, created.client_secret, is_rotated=False)
    return site.render_merchant_page(request, access, page)


@at_merchant
async def get_credential_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_credential_page(site, request, access)


@takes_form_at_merchant
@confirmed(SensitiveAction.CREDENTIALS)
async def submit_credential_change(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Rotate a credential, end its old secret, or revoke it, as the field `do` says. A change that
    was made in the meantime is reported and not repeated."""
    check_may_configure(access)
    client_id, action = request.path_params["client_id"], fields["do"]
    try:
        async with site.open_work(access) as work:
            if action == "rotate":
                created = await rotate_credential(
                    work, client_id,
                    randomness=secrets.token_bytes(SECRET_RANDOM_BYTES),
                    known_created_at=_parse_rotation_time(fields["known_made_at"]),
                )  # fmt: skip
            elif action == "end-old":
                await end_old_secret(work, client_id)
            elif action == "revoke":
                await revoke_credential(work, client_id)
    except InvalidState:
        return await _render_credential_page(site, request, access, is_conflict=True)
    except NotFound:
        return site.redirect(request, access, "credentials", done="credential_over")
    if action == "rotate":
        page = CredentialSecretPage(client_id, created.client_secret, is_rotated=True)
        return site.render_merchant_page(request, access, page)
    return site.redirect(
        request, access, "credentials", done=f"credential_{action.replace('-', '_')}"
    )


async def _render_credentials_page(
    site: PortalSite,
    request: PortalRequest,
    access: MerchantAccess,
    typed: Mapping[str, Any],
    faults: FieldFaults = (),
) -> Response:
    check_may_configure(access)
    async with site.open_work(access) as work:
        credentials = await list_credentials(work)
    page = CredentialsPage(credentials, typed, faults, [str(each) for each in Scope])
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


async def _render_credential_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, *, is_conflict: bool = False
) -> Response:
    """Render the page of one credential. Raises NotFound if it does not exist or is revoked."""
    check_may_configure(access)
    client_id = request.path_params["client_id"]
    async with site.open_work(access) as work:
        rotation = await get_rotation(work, client_id)
        [credential] = [
            each for each in await list_credentials(work) if each.client_id == client_id
        ]
    page = CredentialPage(credential, rotation, is_conflict=is_conflict)
    return site.render_merchant_page(request, access, page, 409 if is_conflict else 200)


def _parse_rotation_time(text: str) -> datetime:
    """Return the time, or a time that matches no credential if `text` is not a time."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return datetime.min.replace(tzinfo=UTC)


_WEBHOOK_FIELDS = ("url", "events", "authorization")


@at_merchant
async def get_webhooks_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess
) -> Response:
    return await _render_page(
        site, request, access, {"url": "", "events": [ALL_TYPES], "authorization": ""}
    )


@takes_form_at_merchant
@confirmed(SensitiveAction.WEBHOOKS)
async def submit_webhooks(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, fields: FormFields
) -> Response:
    """Remove the named endpoint if the field `do` is "remove"; otherwise add one."""
    check_may_configure(access)
    if fields["do"] == "remove":
        return await _remove_webhook(site, request, access, fields["endpoint"])
    url, events, authorization = (
        fields.text("url"), fields.all("events"), fields.text("authorization"),
    )  # fmt: skip
    typed = {"url": url, "events": events, "authorization": authorization}
    wanted = NewEndpoint(url, tuple(events), authorization or None)
    is_development = site.resources.settings.is_development
    try:
        async with site.open_work(access) as work:
            created = await add_endpoint(
                work, site.resources.keys, wanted, is_development=is_development
            )
    except ValidationError as refusal:
        faults = [(find_field(_WEBHOOK_FIELDS, fault.path), fault) for fault in refusal.faults]
        return await _render_page(site, request, access=access, typed=typed, faults=faults)
    except InvalidState as refusal:
        taken = Fault("/url", refusal.message, "TAKEN")
        return await _render_page(
            site, request, access=access, typed=typed, faults=[("url", taken)]
        )
    return await _render_page(
        site, request, access, {**typed, "url": "", "authorization": ""}, created=created
    )


async def _remove_webhook(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, given: str
) -> Response:
    """Remove an endpoint. If another user already removed it, the page says so."""
    done = "removed"
    try:
        async with site.open_work(access) as work:
            await remove_endpoint(work, UUID(given))
    except (NotFound, ValueError):
        done = "endpoint_over"
    return site.redirect(request, access, "settings_webhooks", done=done)


async def _render_page(
    site: PortalSite, request: PortalRequest, access: MerchantAccess, typed: Mapping[str, Any],
    faults: FieldFaults = (), *, created: NewEndpointSecret | None = None,
) -> Response:  # fmt: skip
    """Render the endpoints. `created` is a new endpoint with its secret, which is shown only in
    this response."""
    check_may_configure(access)
    async with site.open_work(access) as work:
        found = await list_endpoints(work, limit=PAGE_SIZE)
    page = WebhookSettingsPage(
        found.items, KNOWN_EVENT_TYPES, typed=typed, faults=faults, created=created
    )
    return site.render_merchant_page(request, access, page, 422 if faults else 200)


PAGES: RoutedPages = {
    "credentials": {"GET": get_credentials_page, "POST": submit_credential},
    "credential": {"GET": get_credential_page, "POST": submit_credential_change},
    "settings_webhooks": {"GET": get_webhooks_page, "POST": submit_webhooks},
}
