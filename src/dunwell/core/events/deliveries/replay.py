"""Sends events again: one delivery, all that were given up, or the events of a period. The repeated
deliveries are due after the live ones.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.deliveries.store import load_deliveries
from dunwell.core.events.webhooks.endpoint import ALL_TYPES
from dunwell.core.events.webhooks.store import load_endpoints, lock_endpoint
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.ids import uuid7

# What one request may set off, so that it stays a short transaction.
MOST_DELIVERIES = 50_000

# events_by_time, then the primary keys of endpoints and deliveries. Left alone are deliveries that
# are due already or under lease; one that waits for its next try is brought forward. An endpoint
# that was added later, or has asked for the type since, is sent the event for the first time.
_WANTED = """
SELECT endpoint.endpoint_id, event.event_id
FROM events event
JOIN webhook_endpoints endpoint
    ON endpoint.merchant_id = $1
    AND endpoint.removed_at IS NULL
    AND endpoint.types && ARRAY[event.type, '*']
LEFT JOIN deliveries delivery
    ON delivery.merchant_id = $1
    AND delivery.endpoint_id = endpoint.endpoint_id
    AND delivery.event_id = event.event_id
WHERE event.merchant_id = $1
    AND event.occurred_at >= $2
    AND ($3::timestamptz IS NULL OR event.occurred_at < $3)
    AND ($4::text[] IS NULL OR event.type = ANY ($4))
    AND ($5::uuid IS NULL OR endpoint.endpoint_id = $5)
    AND (delivery.state IS DISTINCT FROM 'PENDING'
        OR delivery.lease_id IS NULL AND delivery.due_at > $6)
"""
_COUNT = compose(
    "SELECT count(*) FROM ({wanted} LIMIT $7) found",
    wanted=_WANTED,
)
_REPLAY = compose(
    """
INSERT INTO deliveries (merchant_id, endpoint_id, event_id, due_at, is_replay)
SELECT $1, found.endpoint_id, found.event_id, $6, true
FROM ({wanted} LIMIT $7) found
ORDER BY found.event_id, found.endpoint_id
ON CONFLICT (merchant_id, endpoint_id, event_id) DO UPDATE
SET state = 'PENDING', due_at = excluded.due_at, is_replay = true,
    attempts_before = deliveries.attempts, lease_id = NULL
WHERE deliveries.state <> 'PENDING'
    OR deliveries.lease_id IS NULL AND deliveries.due_at > excluded.due_at
""",
    wanted=_WANTED,
)


@dataclass(frozen=True, slots=True)
class Replay:
    """Which events, by their date: `since` inclusive, `until` exclusive. Without `types` all,
    without `endpoint_id` to every endpoint that asks for them."""

    since: datetime
    until: datetime | None = None
    types: tuple[str, ...] | None = None
    endpoint_id: UUID | None = None


async def replay_events(work: Work, wanted: Replay) -> int:
    """How many deliveries were made due again. Raises ValidationError, for more than
    MOST_DELIVERIES too: then nothing is sent."""
    work.require(Right.OPERATE)
    faults = [
        *find_time_faults(wanted.since, wanted.until),
        *await _find_endpoint_faults(work, wanted),
    ]
    if faults:
        raise ValidationError(faults)
    values = (
        work.merchant_id, wanted.since, wanted.until,
        None if wanted.types is None else list(wanted.types), wanted.endpoint_id, work.real_now,
    )  # fmt: skip
    await _check_size(work.tx, values)
    status = await work.tx.execute(_REPLAY, *values, MOST_DELIVERIES)
    replayed = int(status.rsplit(" ", 1)[1])
    await save_audit(
        work,
        "events.replay",
        f"merchant:{work.merchant_id}",
        since=wanted.since.isoformat(),
        until=wanted.until.isoformat() if wanted.until else None,
        types=list(wanted.types or [ALL_TYPES]),
        endpointId=str(wanted.endpoint_id) if wanted.endpoint_id else None,
        replayed=replayed,
    )
    return replayed


def find_time_faults(since: datetime, until: datetime | None) -> Iterator[Fault]:
    if until is not None and until <= since:
        yield Fault("/until", "until is not later than since; nothing lies between.", "WRONG_ORDER")


async def _find_endpoint_faults(work: Work, wanted: Replay) -> list[Fault]:
    if wanted.endpoint_id is None:
        return []
    known = await load_endpoints(work.tx, work.merchant_id)
    if wanted.endpoint_id in {each.endpoint_id for each in known}:
        return []
    message = "There is no such endpoint. Leave endpointId out to send to all of yours."
    return [Fault("/endpointId", message, "UNKNOWN_ENDPOINT")]


async def _check_size(tx: Connection, values: Sequence[object]) -> None:
    if await tx.fetchval(_COUNT, *values, MOST_DELIVERIES + 1) > MOST_DELIVERIES:
        message = (
            f"More than {MOST_DELIVERIES} deliveries lie in this range. Nothing was sent; "
            "ask in shorter ranges, or for fewer types."
        )
        raise ValidationError([Fault("/since", message, "TOO_MANY")])


# By primary key; left alone is what is under lease or due already, and what was tried since.
_REPLAY_ONE = """
UPDATE deliveries
SET state = 'PENDING', due_at = $4, is_replay = true, attempts_before = attempts, lease_id = NULL
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = $3 AND state = $5 AND attempts = $6
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
SET state = 'PENDING', due_at = $5, is_replay = true, attempts_before = attempts, lease_id = NULL
FROM events e
WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.state = 'GIVEN_UP' AND d.event_id >= $3
    AND e.merchant_id = $1 AND e.event_id = d.event_id AND e.occurred_at >= $4
"""


async def replay_delivery(work: Work, endpoint_id: UUID, event_id: UUID, seen: str) -> None:
    """seen: of the delivery that was looked at (`LoggedDelivery.seen`). Raises NotFound, and
    InvalidState when something has become of it since, or it is being sent anyhow."""
    work.require(Right.OPERATE)
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
        now=work.real_now, seen=(delivery.state, delivery.attempts),
    )  # fmt: skip
    if not is_due:
        message = "This delivery is due already; it is being sent."
        raise InvalidState(message, state=delivery.state)
    await save_audit(
        work, "delivery.replay", f"endpoint:{endpoint_id}",
        before={"state": delivery.state, "attempts": delivery.attempts}, after={"state": "PENDING"},
        eventId=str(event_id),
    )  # fmt: skip


async def replay_given_up(work: Work, endpoint_id: UUID, since: datetime) -> int:
    """How many, of events since that instant (the merchant's time). Raises NotFound, and
    ValidationError for more than MOST_DELIVERIES: then nothing is sent."""
    work.require(Right.OPERATE)
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
