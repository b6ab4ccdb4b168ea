"""Send a signed test event to one endpoint and return its response. Only an audit entry is stored,
not the event."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.installation.installation_file import WebhookReach
from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.body import EventActionStep
from dunwell.core.events.payloads import EventHead, checkpoint_reached
from dunwell.core.events.webhooks.delivery import WebhookRequestSigner, WebhookSender
from dunwell.core.events.webhooks.endpoint import WebhookEndpoint
from dunwell.core.events.webhooks.store import (
    AttemptResult,
    LeasedDelivery,
    load_endpoint,
    load_endpoints,
    load_reach,
)
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.errors import NotFound

_STEP = EventActionStep(0, "Test")
_MESSAGE = "A test delivery that belongs to no claim."


@dataclass(frozen=True, slots=True)
class TestEvent:
    """A test event for an endpoint. `at` is real time."""

    endpoint: WebhookEndpoint
    event_id: UUID
    at: datetime
    # Where the merchant's webhooks may be sent.
    reach: WebhookReach


async def start_test(work: Work, endpoint_id: UUID) -> TestEvent:
    """Record the test and return what `send_test` needs. Call this in a transaction that is
    committed before `send_test`. Raises NotFound."""
    work.require(Right.CONFIGURE)
    endpoint = await load_endpoint(work.tx, work.merchant_id, endpoint_id)
    if endpoint is None:
        raise NotFound("There is no such endpoint.")
    reach = await load_reach(work.tx, work.merchant_id)
    test = TestEvent(endpoint, work.ids.new(work.real_now), work.real_now, reach)
    await save_audit(
        work, "endpoint.test", f"endpoint:{endpoint_id}", eventId=str(test.event_id)
    )  # fmt: skip
    return test


async def get_endpoint_by_url(tx: Connection, merchant_id: int, url: str) -> WebhookEndpoint:
    """Return the merchant's endpoint with this address. Raises NotFound, which lists the merchant's
    endpoints."""
    endpoints = await load_endpoints(tx, merchant_id)
    for each in endpoints:
        if each.url == url:
            return each
    known = ", ".join(each.url for each in endpoints) or "none"
    raise NotFound(f"The merchant has no webhook {url}. It has: {known}.")


async def send_test(sender: WebhookSender, keys: KeyRing, test: TestEvent) -> AttemptResult:
    """Make one attempt, signed and authorised like a real delivery, also to a disabled endpoint.
    The response does not change the endpoint's health. Call this without an open transaction.
    Raises DecryptionFailed."""
    head = EventHead(
        event_id=test.event_id,
        merchant_id=test.endpoint.merchant_id,
        claim_id=0,
        sequence=0,
        occurred_at=test.at,
        reference_number="TEST",
    )
    event = checkpoint_reached(head, _STEP, 0, _MESSAGE)
    lease = Lease(test.event_id, test.at)  # The event is in no table, so nothing is leased.
    delivery = LeasedDelivery(
        event_id=test.event_id, sequence=event.sequence, body=event.body, attempts=0, lease=lease
    )
    return await sender.send(
        WebhookRequestSigner(keys, test.endpoint), delivery, test.at, test.reach
    )
