"""Sends to one endpoint again what it did not acknowledge: one delivery, or all that were given up.

Ids and bodies stay; what is sent again runs behind what is new, and its schedule begins anew.
"""

from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.replay_events import MOST_DELIVERIES
from dunwell.core.events.store_endpoints import lock_endpoint
from dunwell.core.events.store_log import load_deliveries
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.ids import uuid7

# By primary key; left alone is what is under lease or due already, and what was tried since.
_REPLAY_ONE = """
UPDATE deliveries
SET state = 'PENDING', due_at = $4, is_replay = true, tries_before = tries, lease_id = NULL
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = $3 AND state = $5 AND tries = $6
    AND (state <> 'PENDING' OR lease_id IS NULL AND due_at > $4)
RETURNING event_id
"""
# deliveries_given_up from the first id that an event of that instant may bear, then events.
_COUNT_GIVEN_UP = """
SELECT count(*)
FROM (
    SELECT
    FROM deliveries d
    JOIN events e ON e.merchant_id = $1 AND e.event_id = d.event_id
    WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.state = 'GIVEN_UP' AND d.event_id >= $3
        AND e.occurred_at >= $4
    LIMIT $5) found
"""
_REPLAY_GIVEN_UP = """
UPDATE deliveries d
SET state = 'PENDING', due_at = $5, is_replay = true, tries_before = tries, lease_id = NULL
FROM events e
WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.state = 'GIVEN_UP' AND d.event_id >= $3
    AND e.merchant_id = $1 AND e.event_id = d.event_id AND e.occurred_at >= $4
"""


async def replay_delivery(work: Work, endpoint_id: UUID, event_id: UUID, seen: str) -> None:
    """seen: of the delivery that was looked at (`LoggedDelivery.seen`). Raises NotFound, and
    InvalidState when something has become of it since, or it is being sent anyhow."""
    work.need(Right.OPERATE)
    await _lock(work, endpoint_id)
    found = await load_deliveries(work.tx, work.merchant_id, endpoint_id, [event_id])
    delivery = found.get(event_id)
    if delivery is None:
        raise NotFound("There is no such delivery.")
    if delivery.seen != seen:
        message = "Something has become of this delivery since you looked at it. Look again."
        raise InvalidState(message, state=delivery.state)
    is_due = await save_replay(
        work.tx, work.merchant_id, endpoint_id, event_id,
        now=work.real_now, seen=(delivery.state, delivery.tries),
    )  # fmt: skip
    if not is_due:
        message = "This delivery is due already; it is being sent."
        raise InvalidState(message, state=delivery.state)
    await save_audit(
        work, "delivery.replay", f"endpoint:{endpoint_id}",
        before={"state": delivery.state, "tries": delivery.tries}, after={"state": "PENDING"},
        eventId=str(event_id),
    )  # fmt: skip


async def replay_given_up(work: Work, endpoint_id: UUID, since: datetime) -> int:
    """How many, of events since that instant (the merchant's time). Raises NotFound, and
    ValidationError for more than MOST_DELIVERIES: then nothing is sent."""
    work.need(Right.OPERATE)
    await _lock(work, endpoint_id)
    # An event's id bears its instant to the millisecond, rounded down.
    least = uuid7(since, bytes(10))
    place = (work.tx, work.merchant_id, endpoint_id)
    found = await count_given_up(*place, least=least, since=since, most=MOST_DELIVERIES + 1)
    if found > MOST_DELIVERIES:
        message = f"More than {MOST_DELIVERIES} were given up since then. Choose a later day."
        raise ValidationError([Fault("/since", message, "TOO_MANY")])
    replayed = await replay_all_given_up(*place, least=least, since=since, now=work.real_now)
    await save_audit(
        work, "delivery.replay_given_up", f"endpoint:{endpoint_id}",
        since=since.isoformat(), replayed=replayed,
    )  # fmt: skip
    return replayed


async def _lock(work: Work, endpoint_id: UUID) -> None:
    """Endpoints are locked before deliveries. Raises NotFound."""
    if await lock_endpoint(work.tx, work.merchant_id, endpoint_id) is None:
        raise NotFound("There is no such endpoint.")


async def save_replay(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_id: UUID, *, now: datetime,
    seen: tuple[str, int],
) -> bool:  # fmt: skip
    """seen: its state and tries. False: they are not these any more, or it is due already."""
    saved = await tx.fetchval(_REPLAY_ONE, merchant_id, endpoint_id, event_id, now, *seen)
    return saved is not None


async def count_given_up(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, least: UUID, since: datetime, most: int
) -> int:
    """Of events since an instant, as far as `most`. least: the least id that one of them bears."""
    return int(await tx.fetchval(_COUNT_GIVEN_UP, merchant_id, endpoint_id, least, since, most))


async def replay_all_given_up(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, least: UUID, since: datetime,
    now: datetime,
) -> int:  # fmt: skip
    """How many."""
    status = await tx.execute(_REPLAY_GIVEN_UP, merchant_id, endpoint_id, least, since, now)
    return int(status.rsplit(" ", 1)[1])
