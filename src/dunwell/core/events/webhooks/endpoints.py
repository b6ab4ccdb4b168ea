"""Manage a merchant's webhook endpoints: list, add, change, remove and enable them, and rotate
their secrets."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.webhooks.endpoint import (
    EndpointHealth,
    EndpointState,
    NewEndpoint,
    NewEndpointSecret,
    WebhookEndpoint,
    check_endpoint,
    find_endpoint_faults,
    sort_types,
)
from dunwell.core.events.webhooks.endpoint_secrets import (
    create_secret,
    seal_authorization,
    seal_secret,
)
from dunwell.core.events.webhooks.health.store import load_health
from dunwell.core.events.webhooks.retry import HEALTHY
from dunwell.core.events.webhooks.store import (
    insert_endpoint,
    load_reach,
    lock_endpoint,
    remove_endpoint_row,
    save_endpoint,
    save_health,
    save_secret,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import EditConflict, InvalidState, NotFound, ValidationError

# The SQL of EndpointHealth.state.
_STATES: dict[EndpointState, str] = {
    EndpointState.WORKING: "l.disabled_at IS NULL AND l.first_failure_at IS NULL",
    EndpointState.FAILING: "l.disabled_at IS NULL AND l.first_failure_at IS NOT NULL",
    EndpointState.SWITCHED_OFF: "l.disabled_at IS NOT NULL",
}


@dataclass(frozen=True, slots=True)
class EndpointFilter:
    """All given values must match. `since` (inclusive) and `until` (exclusive) apply to the
    creation."""

    state: EndpointState | None = None
    is_working: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


ENDPOINTS: ListedTable[EndpointFilter, UUID, EndpointHealth] = ListedTable(
    name="endpoints",
    table="webhook_endpoints",
    key="endpoint_id",
    key_type="uuid",
    index="webhook_endpoints_list",
    where="l.removed_at IS NULL",
    at="created_at",
    filter=EndpointFilter,
    filters={
        "state": lambda state, _: [(_STATES[state], ())],
        "is_working": "(l.disabled_at IS NULL AND l.first_failure_at IS NULL) = {}",
    },
    load=load_health,
)
EVERY_ENDPOINT = EndpointFilter()


async def list_endpoints(
    work: Work, *, limit: int, cursor: str | None = None, wanted: EndpointFilter = EVERY_ENDPOINT
) -> ListPage[EndpointHealth]:
    """List endpoints with their health. Without the permission CONFIGURE only the origin of each
    address is shown. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    page = await list_page(work.scope(), ENDPOINTS, wanted, limit=limit, cursor=cursor)
    return page if Right.CONFIGURE in work.actor.rights else page.map(EndpointHealth.without_path)


# How long the previous secret is used in addition to the new one after a rotation.
OVERLAP = timedelta(hours=24)


async def add_endpoint(
    work: Work, keys: KeyRing, wanted: NewEndpoint, *, is_development: bool
) -> NewEndpointSecret:
    """Add an endpoint, which gets events from now on. Its secret is returned only here.

    Raises ValidationError, and InvalidState if the merchant has an endpoint with this address.
    """
    work.require(Right.CONFIGURE)
    reach = await load_reach(work.tx, work.merchant_id)
    check_endpoint(wanted, reach, is_development=is_development)
    merchant_id, endpoint_id, secret = work.merchant_id, work.ids.new(work.now), create_secret()
    authorization_sealed = None
    if wanted.authorization is not None:
        authorization_sealed = seal_authorization(
            keys, merchant_id, endpoint_id, wanted.authorization
        )
    endpoint = WebhookEndpoint(
        merchant_id=merchant_id,
        endpoint_id=endpoint_id,
        url=wanted.url,
        types=sort_types(wanted.types),
        secret_sealed=seal_secret(keys, merchant_id, endpoint_id, secret),
        previous_secret_sealed=None,
        previous_secret_until=None,
        authorization_sealed=authorization_sealed,
        health=HEALTHY,
    )
    if not await insert_endpoint(work.tx, endpoint, work.now):
        message = "There is already an endpoint at this address; change or remove that one."
        raise InvalidState(message, state="EXISTS")
    await save_audit(
        work, "endpoint.add", f"endpoint:{endpoint_id}",
        after=_list_audit_values(endpoint), types=list(endpoint.types),
    )  # fmt: skip
    return NewEndpointSecret(endpoint_id, wanted.url, secret)


async def change_endpoint(
    work: Work, keys: KeyRing, endpoint_id: UUID, types: tuple[str, ...], authorization: str | None
) -> None:
    """Set event types and authorization; None removes the Authorization header. The address cannot
    be changed. Raises ValidationError, NotFound."""
    work.require(Right.CONFIGURE)
    endpoint = await _lock_endpoint(work, endpoint_id)
    # The address itself was checked when it was added, and is checked again at each delivery.
    faults = list(find_endpoint_faults(NewEndpoint(endpoint.url, types, authorization)))
    if faults:
        raise ValidationError(faults)
    authorization_sealed = None
    if authorization is not None:
        authorization_sealed = seal_authorization(
            keys, work.merchant_id, endpoint_id, authorization
        )
    changed = replace(endpoint, types=sort_types(types), authorization_sealed=authorization_sealed)
    await save_endpoint(work.tx, changed)
    before, after = select_changed_fields(_list_audit_values(endpoint), _list_audit_values(changed))
    await save_audit(
        work,
        "endpoint.change",
        f"endpoint:{endpoint_id}",
        before=before,
        after=after,
        types=list(changed.types),
        hasAuthorization=authorization is not None,
    )


async def rotate_secret(
    work: Work, keys: KeyRing, endpoint_id: UUID, shown_mark: str | None = None
) -> NewEndpointSecret:
    """Rotate the secret. For 24 hours of real time deliveries are signed with both secrets; another
    rotation in this time drops the oldest at once.

    `shown_mark` is the `WebhookEndpoint.secret_mark` that was shown; None means no check. Raises
    NotFound, and EditConflict if the secret was rotated since then.
    """
    work.require(Right.CONFIGURE)
    endpoint = await _lock_endpoint(work, endpoint_id)
    if shown_mark is not None and shown_mark != endpoint.secret_mark:
        message = "The secret was rotated since you opened the page. Nothing was changed."
        raise EditConflict(message, state="ROTATED")
    secret = create_secret()
    sealed = seal_secret(keys, work.merchant_id, endpoint_id, secret)
    previous_until = work.real_now + OVERLAP
    await save_secret(
        work.tx, work.merchant_id, endpoint_id, sealed=sealed, previous_until=previous_until
    )
    old_until = endpoint.previous_secret_until
    await save_audit(
        work, "endpoint.rotate_secret", f"endpoint:{endpoint_id}",
        before={"secret": MASKED, "previousUntil": old_until and old_until.isoformat()},
        after={"secret": MASKED, "previousUntil": previous_until.isoformat()},
    )  # fmt: skip
    return NewEndpointSecret(endpoint_id, endpoint.url, secret)


async def remove_endpoint(work: Work, endpoint_id: UUID) -> None:
    """Remove the endpoint and give up its pending deliveries. The log of attempts remains. Raises
    NotFound."""
    work.require(Right.CONFIGURE)
    endpoint = await _lock_endpoint(work, endpoint_id)
    given_up = await remove_endpoint_row(work.tx, work.merchant_id, endpoint_id, work.now)
    await save_audit(
        work, "endpoint.remove", f"endpoint:{endpoint_id}",
        before=_list_audit_values(endpoint), deliveriesGivenUp=given_up,
    )  # fmt: skip


async def _lock_endpoint(work: Work, endpoint_id: UUID) -> WebhookEndpoint:
    """Lock the endpoint. Raises NotFound."""
    endpoint = await lock_endpoint(work.tx, work.merchant_id, endpoint_id)
    if endpoint is None:
        raise NotFound("There is no such endpoint.")
    return endpoint


def _list_audit_values(endpoint: WebhookEndpoint) -> dict[str, object]:
    """Return the values for the audit log, without secrets and without the query, which can hold
    one."""
    return {
        "url": endpoint.url.partition("?")[0],
        "types": list(endpoint.types),
        "authorization": None if endpoint.authorization_sealed is None else MASKED,
    }


async def switch_on_endpoint(work: Work, endpoint_id: UUID) -> None:
    """Enable a disabled endpoint. Raises NotFound, and InvalidState if it is enabled."""
    work.require(Right.CONFIGURE)
    health = (await _lock_endpoint(work, endpoint_id)).health
    if health.disabled_at is None:
        raise InvalidState("This endpoint is already enabled.", state="ON")
    await save_health(work.tx, work.merchant_id, endpoint_id, HEALTHY)
    await save_audit(
        work, "endpoint.switch_on", f"endpoint:{endpoint_id}",
        before={"state": "SWITCHED_OFF", "reason": health.disabled_reason,
                "since": health.disabled_at.isoformat()},
        after={"state": "WORKING"},
    )  # fmt: skip
