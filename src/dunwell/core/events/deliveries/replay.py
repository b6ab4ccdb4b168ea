"""Replay events: one delivery, all failed ones, or the events of a period. Replays are sent after
new deliveries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.deliveries.store import load_deliveries
from dunwell.core.events.store import render_is_subscribed
from dunwell.core.events.webhooks.endpoint import ALL_TYPES
from dunwell.core.events.webhooks.store import load_endpoints, lock_endpoint
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.ids import uuid7

# The limit of one request, so that its transaction stays short.
MAX_DELIVERIES = 50_000

# Uses events_by_time, then the primary keys of endpoints and deliveries. Deliveries that are due or
# leased are skipped. A delivery that waits for its next attempt becomes due now. An endpoint that
# was added after the event, or subscribed to its type after it, gets the event for the first time.
_WANTED = compose(
    """
SELECT endpoint.endpoint_id, event.event_id
FROM events event
JOIN webhook_endpoints endpoint
    ON endpoint.merchant_id = $1
    AND endpoint.removed_at IS NULL
    AND {is_subscribed}
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
""",
    is_subscribed=render_is_subscribed("endpoint", "event"),
)
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
class ReplayFilter:
    """Which events to replay, by their date: `since` is inclusive, `until` exclusive. If `types` is
    None, all types; if `endpoint_id` is None, to all endpoints that subscribe to them."""

    since: datetime
    until: datetime | None = None
    types: tuple[str, ...] | None = None
    endpoint_id: UUID | None = None


async def replay_events(work: Work, wanted: ReplayFilter) -> int:
    """Replay the events and return the number of deliveries. Raises ValidationError for invalid
    values and for more than MAX_DELIVERIES, in which case nothing is replayed."""
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
    await _check_count(work.tx, values)
    status = await work.tx.execute(_REPLAY, *values, MAX_DELIVERIES)
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
        yield Fault("/until", "until must be later than since.", "WRONG_ORDER")


async def _find_endpoint_faults(work: Work, wanted: ReplayFilter) -> list[Fault]:
    if wanted.endpoint_id is None:
        return []
    known = await load_endpoints(work.tx, work.merchant_id)
    if wanted.endpoint_id in {each.endpoint_id for each in known}:
        return []
    message = "There is no such endpoint. Leave endpointId out to send to all your endpoints."
    return [Fault("/endpointId", message, "UNKNOWN_ENDPOINT")]


async def _check_count(tx: Connection, values: Sequence[object]) -> None:
    if await tx.fetchval(_COUNT, *values, MAX_DELIVERIES + 1) > MAX_DELIVERIES:
        message = (
            f"More than {MAX_DELIVERIES} deliveries are in this range. Nothing was sent; use "
            f"shorter ranges or fewer types."
        )
        raise ValidationError([Fault("/since", message, "TOO_MANY")])


# Uses the primary key. Skips a delivery that is leased or due, or whose state or number of attempts
# has changed since it was shown ($5 and $6).
_REPLAY_ONE = """
UPDATE deliveries
SET state = 'PENDING', due_at = $4, is_replay = true, attempts_before = attempts, lease_id = NULL
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = $3 AND state = $5 AND attempts = $6
    AND (state <> 'PENDING' OR lease_id IS NULL AND due_at > $4)
RETURNING event_id
"""
# Uses deliveries_given_up from $3 on, the lowest event id of the time $4, then events.
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


async def replay_delivery(work: Work, endpoint_id: UUID, event_id: UUID, expected: str) -> None:
    """Replay one delivery. `expected` is the `LoggedDelivery.state_mark` that the user saw. Raises
    NotFound, and InvalidState if the delivery has changed since then or is already due."""
    work.require(Right.OPERATE)
    await _lock_endpoint(work, endpoint_id)
    deliveries = await load_deliveries(work.tx, work.merchant_id, endpoint_id, [event_id])
    delivery = deliveries.get(event_id)
    if delivery is None:
        raise NotFound("There is no such delivery.")
    if delivery.state_mark != expected:
        message = "The delivery was changed since you opened it. Reload the page and decide again."
        raise InvalidState(message, state=delivery.state)
    is_saved = await save_replay(
        work.tx, work.merchant_id, endpoint_id, event_id,
        now=work.real_now, expected=(delivery.state, delivery.attempts),
    )  # fmt: skip
    if not is_saved:
        message = "This delivery is already due and is being sent."
        raise InvalidState(message, state=delivery.state)
    await save_audit(
        work, "delivery.replay", f"endpoint:{endpoint_id}",
        before={"state": delivery.state, "attempts": delivery.attempts}, after={"state": "PENDING"},
        eventId=str(event_id),
    )  # fmt: skip


async def replay_given_up(work: Work, endpoint_id: UUID, since: datetime) -> int:
    """Replay the failed deliveries of events that occurred at `since` (in the merchant's time) or
    later, and return their number. Raises NotFound, and ValidationError for more than
    MAX_DELIVERIES, in which case nothing is replayed."""
    work.require(Right.OPERATE)
    await _lock_endpoint(work, endpoint_id)
    # An event's id contains its time in milliseconds, rounded down.
    first_event_id = uuid7(since, bytes(10))
    endpoint_key = (work.tx, work.merchant_id, endpoint_id)
    count = await count_given_up(
        *endpoint_key, first_event_id=first_event_id, since=since, limit=MAX_DELIVERIES + 1
    )
    if count > MAX_DELIVERIES:
        message = f"More than {MAX_DELIVERIES} have failed since then. Choose a later day."
        raise ValidationError([Fault("/since", message, "TOO_MANY")])
    replayed = await replay_all_given_up(
        *endpoint_key, first_event_id=first_event_id, since=since, now=work.real_now
    )
    await save_audit(
        work, "delivery.replay_given_up", f"endpoint:{endpoint_id}",
        since=since.isoformat(), replayed=replayed,
    )  # fmt: skip
    return replayed


async def _lock_endpoint(work: Work, endpoint_id: UUID) -> None:
    """Lock the endpoint, always before its deliveries. Raises NotFound."""
    if await lock_endpoint(work.tx, work.merchant_id, endpoint_id) is None:
        raise NotFound("There is no such endpoint.")


async def save_replay(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_id: UUID, *, now: datetime,
    expected: tuple[str, int],
) -> bool:  # fmt: skip
    """Make the delivery due. `expected` is the state and number of attempts that it must have.
    Return False if they have changed, or if the delivery is due already."""
    saved = await tx.fetchval(_REPLAY_ONE, merchant_id, endpoint_id, event_id, now, *expected)
    return saved is not None


async def count_given_up(
    tx: Connection,
    merchant_id: int,
    endpoint_id: UUID,
    *,
    first_event_id: UUID,
    since: datetime,
    limit: int,
) -> int:
    """Count the failed deliveries of events that occurred at `since` or later, up to `limit`.
    `first_event_id` is the lowest event id of that time."""
    return int(
        await tx.fetchval(_COUNT_GIVEN_UP, merchant_id, endpoint_id, first_event_id, since, limit)
    )


async def replay_all_given_up(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, first_event_id: UUID, since: datetime,
    now: datetime,
) -> int:  # fmt: skip
    """Make due the failed deliveries that `count_given_up` counts, and return their number."""
    status = await tx.execute(
        _REPLAY_GIVEN_UP, merchant_id, endpoint_id, first_event_id, since, now
    )
    return int(status.rsplit(" ", 1)[1])
