"""Send one signed test delivery to an address and say what it answers; nothing is stored.

The body is a CHECKPOINT_REACHED of claim 0, which no merchant has, so that no receiver takes it
for news of a claim.
"""

from datetime import datetime
from uuid import UUID

from dunwell.errors import NotFound
from dunwell.events.body import EventActionStep
from dunwell.events.endpoint import Endpoint
from dunwell.events.payloads import EventHead, checkpoint_reached
from dunwell.events.sender import Seals, WebhookSender
from dunwell.events.store_deliveries import Delivery, Lease, Reply
from dunwell.events.store_endpoints import load_endpoints
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Connection

_STEP = EventActionStep(0, "Test")
_MESSAGE = "A test delivery: no claim stands behind it."


async def find_endpoint(tx: Connection, merchant_id: int, url: str) -> Endpoint:
    """The merchant's endpoint at this address. Raises NotFound, naming those there are."""
    endpoints = await load_endpoints(tx, merchant_id)
    for each in endpoints:
        if each.url == url:
            return each
    known = ", ".join(each.url for each in endpoints) or "none"
    raise NotFound(f"The merchant has no webhook {url}. It has: {known}.")


async def send_test(
    sender: WebhookSender, keys: KeyRing, endpoint: Endpoint, event_id: UUID, now: datetime
) -> Reply:
    """One try, signed and authorised as a live one; a switched-off endpoint is tried too. Its
    answer changes nothing about the endpoint. `now` is real time. Raises SealBroken."""
    head = EventHead(
        event_id=event_id,
        merchant_id=endpoint.merchant_id,
        claim_id=0,
        sequence=0,
        occurred_at=now,
        reference_number="TEST",
    )
    event = checkpoint_reached(head, _STEP, 0, _MESSAGE)
    lease = Lease(event_id, now, now)  # nobody leases it: it is in no table
    delivery = Delivery(
        event_id=event_id, sequence=event.sequence, body=event.body, tries=0, lease=lease
    )
    return await sender.send(Seals(keys, endpoint), delivery, now)
