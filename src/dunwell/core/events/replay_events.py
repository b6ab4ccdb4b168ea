"""Send events of the past again: their deliveries are made due anew, behind the live ones.

One statement, whatever the size of the range. An event keeps its id and its bytes, so receivers
that know it skip it. What was erased is not there any more and is not sent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.endpoint import ALL_TYPES
from dunwell.core.events.store_endpoints import load_endpoints
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import Fault, ValidationError

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
    tries_before = deliveries.tries, lease_id = NULL
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
    work.need(Right.OPERATE)
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
