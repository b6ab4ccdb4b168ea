"""The SQL of an endpoint's delivery log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.core.events.deliveries.proof import render_event_title
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

_COLUMNS = """d.event_id, e.type, e.claim_id, e.sequence, e.occurred_at, c.reference_number,
    d.state, d.attempts, d.attempts_before, d.due_at, d.is_replay, d.lease_id IS NOT NULL
        AS is_leased,
    t.at AS tried_at, t.status, t.error"""
# Uses primary keys, for the claim and the last attempt.
_JOINS = """
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = e.claim_id
LEFT JOIN delivery_attempts t
    ON t.merchant_id = $1 AND t.endpoint_id = $2 AND t.event_id = d.event_id
        AND t.attempt = d.attempts
"""
# Uses the unique key of the claim's sequence.
_LIST_EVENT_IDS_OF_CLAIM = "SELECT event_id FROM events WHERE merchant_id = $1 AND claim_id = $2"
# Uses primary keys.
_LOAD = compose(
    """
SELECT {columns}
FROM deliveries d
JOIN events e ON e.merchant_id = $1 AND e.event_id = d.event_id
{joins}
WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.event_id = ANY($3::uuid[])
""",
    columns=_COLUMNS,
    joins=_JOINS,
)
_LOAD_BODY = """
SELECT body
FROM events
WHERE merchant_id = $1 AND event_id = $2
"""
_LOAD_ATTEMPTS = """
SELECT attempt AS number, at, duration_ms, status, error, response
FROM delivery_attempts
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = $3
ORDER BY attempt
"""


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    """The delivery of an event to an endpoint, with the time, HTTP status and error of the last
    attempt. `occurred_at` is the merchant's time; `due_at` and `tried_at` are real time."""

    event_id: UUID
    type: str
    claim_id: int
    # None for an additional type.
    sequence: int | None
    occurred_at: datetime
    reference_number: str
    state: str
    attempts: int
    # How many of the attempts were made before the last replay; 0 without a replay.
    attempts_before: int
    due_at: datetime | None
    is_replay: bool
    # True if the delivery is being sent now.
    is_leased: bool
    tried_at: datetime | None
    status: int | None
    error: str | None

    @property
    def title(self) -> str:
        return render_event_title(self.type, self.sequence)

    @property
    def state_mark(self) -> str:
        """The state and the number of attempts as one text, by which a form detects changes."""
        return f"{self.state}-{self.attempts}"


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """An attempt. `status` is the HTTP status of the response and `response` the beginning of its
    body as printable text. `error` says why there was no response."""

    number: int
    at: datetime
    duration_ms: int
    status: int | None
    error: str | None
    response: str | None


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """All values that are set must match."""

    state: str | None = None
    type: str | None = None
    claim_id: int | None = None


async def list_event_ids_of_claim(
    tx: Connection, merchant_id: int, claim_id: int
) -> Sequence[UUID]:
    return [
        row["event_id"] for row in await tx.fetch(_LIST_EVENT_IDS_OF_CLAIM, merchant_id, claim_id)
    ]


async def load_deliveries(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_ids: Sequence[UUID]
) -> Mapping[UUID, LoggedDelivery]:
    """Return the deliveries by event id."""
    rows = await tx.fetch(_LOAD, merchant_id, endpoint_id, list(event_ids))
    return {row["event_id"]: LoggedDelivery(**row) for row in rows}


async def load_body(tx: Connection, merchant_id: int, event_id: UUID) -> str:
    """Return the body exactly as it is sent and signed."""
    return str(await tx.fetchval(_LOAD_BODY, merchant_id, event_id))


async def load_attempts(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_id: UUID
) -> Sequence[DeliveryAttempt]:
    rows = await tx.fetch(_LOAD_ATTEMPTS, merchant_id, endpoint_id, event_id)
    return [DeliveryAttempt(**row) for row in rows]
