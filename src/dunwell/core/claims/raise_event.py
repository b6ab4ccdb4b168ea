"""Publish one event of one claim, in the transaction of the change, such as a payment or an access.
The escalation engine publishes its events in batches."""

from collections.abc import Callable

from dunwell.accounts.merchants.account import Work
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import Event, EventHead
from dunwell.platform.errors import NotFound

# Locks the claim, so that event sequences have no gaps and no duplicates. Uses primary keys.
_NEXT = """
UPDATE claims c
SET event_sequence = c.event_sequence + 1
FROM debtors d
WHERE c.merchant_id = $1 AND c.claim_id = $2 AND d.merchant_id = $1 AND d.claim_id = $2
RETURNING c.event_sequence, c.reference_number, d.customer_number
"""


async def publish_event(work: Work, claim_id: int, compose: Callable[[EventHead], Event]) -> Event:
    """Publish the event that `compose` builds. Deliveries are due from `work.real_now`. Raises
    NotFound."""
    row = await work.tx.fetchrow(_NEXT, work.merchant_id, claim_id)
    if row is None:
        raise NotFound(f"There is no claim {claim_id}.")
    head = EventHead(
        event_id=work.ids.new(work.now),
        merchant_id=work.merchant_id,
        claim_id=claim_id,
        sequence=row["event_sequence"],
        occurred_at=work.now,
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
    )
    event = compose(head)
    await save_events(work.tx, work.merchant_id, [event], work.real_now)
    return event
