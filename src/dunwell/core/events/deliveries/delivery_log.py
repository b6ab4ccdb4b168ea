"""List an endpoint's deliveries, get one delivery with all its attempts, and report which
deliveries are not acknowledged."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.deliveries.proof import MAX_NUMBERED, DeliveryGapReport, build_gap_report
from dunwell.core.events.deliveries.store import (
    DeliveryAttempt,
    DeliveryFilter,
    LoggedDelivery,
    list_event_ids_of_claim,
    load_attempts,
    load_body,
    load_deliveries,
)
from dunwell.core.events.webhooks.endpoint import EndpointHealth, WebhookEndpoint
from dunwell.core.events.webhooks.health.store import load_delivery_gaps, load_health
from dunwell.core.events.webhooks.store import load_endpoint
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import (
    FoundKeys,
    ListedTable,
    ListPage,
    ListScope,
    NarrowIndex,
    Order,
)
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound


async def _list_keys_if_few(scope: ListScope, wanted: DeliveryFilter) -> FoundKeys[UUID] | None:
    """Return the few events of the claim in the filter, or None if the filter has no claim."""
    if wanted.claim_id is None:
        return None
    merchant_id, _ = scope.ids
    assert isinstance(merchant_id, int)
    event_ids = await list_event_ids_of_claim(scope.tx, merchant_id, wanted.claim_id)
    return FoundKeys(event_ids, covers=("claim_id",))


# Listed in the order of the events.
_DELIVERIES: ListedTable[DeliveryFilter, UUID, LoggedDelivery] = ListedTable(
    name="deliveries",
    table="deliveries",
    scope=("merchant_id", "endpoint_id"),
    key="event_id",
    key_type="uuid",
    order=Order("event_id", "uuid", is_unique=True),
    index="deliveries_pkey",
    narrow_indexes=(
        NarrowIndex(
            "deliveries_given_up",
            "l.state = 'GIVEN_UP'",
            lambda wanted: () if wanted.state == "GIVEN_UP" else None,
            covers=("state",),
        ),
    ),
    filter=DeliveryFilter,
    filters={
        "state": "l.state = {}",
        "type": "(SELECT e.type FROM events e WHERE e.merchant_id = l.merchant_id"
        " AND e.event_id = l.event_id) = {}",
        "claim_id": "(SELECT e.claim_id FROM events e WHERE e.merchant_id = l.merchant_id"
        " AND e.event_id = l.event_id) = {}",
    },
    list_keys_if_few=_list_keys_if_few,
    load=load_deliveries,
)
NO_FILTER = DeliveryFilter()


@dataclass(frozen=True, slots=True)
class EndpointWithHealth:
    """An endpoint and its health."""

    endpoint: WebhookEndpoint
    health: EndpointHealth


@dataclass(frozen=True, slots=True)
class DeliveryDetails:
    delivery: LoggedDelivery
    # Exactly as sent.
    body: str
    # Oldest first.
    attempts: Sequence[DeliveryAttempt]


async def get_endpoint(work: Work, endpoint_id: UUID) -> EndpointWithHealth:
    """Return the endpoint. Raises NotFound, also for a removed one."""
    work.require(Right.CONFIGURE)
    async with snapshot(work.tx):
        endpoint = await load_endpoint(work.tx, work.merchant_id, endpoint_id)
        if endpoint is None:
            raise _build_not_found()
        health_by_id = await load_health(work.tx, work.merchant_id, [endpoint_id])
    return EndpointWithHealth(endpoint, health_by_id[endpoint_id])


async def list_deliveries(
    work: Work, endpoint_id: UUID, *, limit: int, cursor: str | None = None,
    wanted: DeliveryFilter = NO_FILTER,
) -> ListPage[LoggedDelivery]:  # fmt: skip
    """List deliveries, newest first. Raises ValidationError for an invalid cursor."""
    work.require(Right.CONFIGURE)
    return await list_page(work.scope(endpoint_id), _DELIVERIES, wanted, limit=limit, cursor=cursor)


async def get_delivery(work: Work, endpoint_id: UUID, event_id: UUID) -> DeliveryDetails:
    """Return the delivery. Raises NotFound."""
    work.require(Right.CONFIGURE)
    async with snapshot(work.tx):
        deliveries = await load_deliveries(work.tx, work.merchant_id, endpoint_id, [event_id])
        if event_id not in deliveries:
            raise NotFound("There is no such delivery.")
        body = await load_body(work.tx, work.merchant_id, event_id)
        attempts = await load_attempts(work.tx, work.merchant_id, endpoint_id, event_id)
    return DeliveryDetails(deliveries[event_id], body, attempts)


async def get_delivery_gap_report(
    work: Work, endpoint_id: UUID, first_number: int = 1
) -> DeliveryGapReport:
    """Report which deliveries are not acknowledged. `first_number` is the number of the first
    delivery to report. Raises NotFound."""
    work.require(Right.CONFIGURE)
    if await load_endpoint(work.tx, work.merchant_id, endpoint_id) is None:
        raise _build_not_found()
    first = max(1, min(first_number, MAX_NUMBERED))
    return build_gap_report(
        *await load_delivery_gaps(work.tx, work.merchant_id, endpoint_id, first)
    )


def _build_not_found() -> NotFound:
    return NotFound("There is no such endpoint.")
