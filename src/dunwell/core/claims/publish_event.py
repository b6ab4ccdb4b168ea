"""Publish one event of one claim, in the transaction of the change, such as a payment or an access.
The escalation engine publishes its events in batches."""

from collections.abc import Callable

from dunwell.accounts.merchants.account import Work
from dunwell.core.claims.store import (
    EventNumbers,
    find_event_numbers,
    increment_event_sequence,
)
from dunwell.core.events.event_log import save_events
from dunwell.core.events.payloads import Event, EventHead
from dunwell.platform.errors import NotFound


async def publish_event(
    work: Work, claim_id: int, build_event: Callable[[EventHead], Event]
) -> Event:
    """Publish the event that `build_event` builds. Deliveries are due from `work.real_now`. Raises
    NotFound."""
    numbers = await increment_event_sequence(work.tx, work.merchant_id, claim_id)
    return await _publish(work, claim_id, numbers, build_event)


async def publish_additional_event(
    work: Work, claim_id: int, build_event: Callable[[EventHead], Event]
) -> Event:
    """Publish an event of an additional type, which has no sequence number. Only endpoints that
    subscribe to this type by name receive it. Raises NotFound."""
    numbers = await find_event_numbers(work.tx, work.merchant_id, claim_id)
    return await _publish(work, claim_id, numbers, build_event)


async def _publish(
    work: Work,
    claim_id: int,
    numbers: EventNumbers | None,
    build_event: Callable[[EventHead], Event],
) -> Event:
    if numbers is None:
        raise NotFound(f"There is no claim {claim_id}.")
    head = EventHead(
        event_id=work.ids.new(work.now),
        merchant_id=work.merchant_id,
        claim_id=claim_id,
        sequence=numbers.sequence,
        occurred_at=work.now,
        reference_number=numbers.reference_number,
        customer_number=numbers.customer_number,
    )
    event = build_event(head)
    await save_events(work.tx, work.merchant_id, [event], work.real_now)
    return event
