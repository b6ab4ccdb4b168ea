"""The SQL of deliveries: finding, leasing, releasing, and recording what became of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from uuid import UUID

from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.retry import Decision, Delivered, RetryAt
from dunwell.core.events.store_endpoints import ENDPOINT_COLUMNS, read_endpoint
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose

# Primary key of webhook_endpoints from the place the last look ended at; each is one probe of
# deliveries_due: ordered, for where most deliveries are due a table read anyhow looks as good. A
# switched-off endpoint is found when its probe is due.
_FIND_DUE = compose(
    """
SELECT {endpoint_columns}
FROM webhook_endpoints endpoint
WHERE (endpoint.merchant_id, endpoint.endpoint_id) > ($2, $3)
    AND endpoint.removed_at IS NULL
    AND (endpoint.disabled_at IS NULL OR endpoint.probe_at <= $1)
    AND COALESCE(
        (
            SELECT true
            FROM deliveries
            WHERE deliveries.merchant_id = endpoint.merchant_id
                AND deliveries.endpoint_id = endpoint.endpoint_id
                AND deliveries.state = 'PENDING'
                AND NOT deliveries.is_replay
                AND deliveries.due_at <= $1
            ORDER BY deliveries.due_at
            LIMIT 1
        ),
        (
            SELECT true
            FROM deliveries
            WHERE deliveries.merchant_id = endpoint.merchant_id
                AND deliveries.endpoint_id = endpoint.endpoint_id
                AND deliveries.state = 'PENDING'
                AND deliveries.is_replay
                AND deliveries.due_at <= $1
            ORDER BY deliveries.due_at
            LIMIT 1
        ),
        false
    )
ORDER BY endpoint.merchant_id, endpoint.endpoint_id
LIMIT $4
""",
    endpoint_columns=ENDPOINT_COLUMNS,
)

_DELIVERIES = LeasedTable(
    "deliveries", ("merchant_id", "endpoint_id", "event_id"), ends_at="due_at"
)
# A statement of its own: replayed deliveries are leased only where live ones leave room, and
# each kind is an index scan that ends at the limit. Rides on deliveries_due twice, then on the
# primary keys of deliveries and events.
_LEASE = compose(
    """
WITH live AS (
    SELECT event_id
    FROM deliveries
    WHERE merchant_id = $1 AND endpoint_id = $2 AND state = 'PENDING'
        AND NOT is_replay AND {has_ended}
    ORDER BY due_at
    LIMIT $4
    FOR UPDATE SKIP LOCKED
), replayed AS (
    SELECT event_id
    FROM deliveries
    WHERE merchant_id = $1 AND endpoint_id = $2 AND state = 'PENDING'
        AND is_replay AND {has_ended}
    ORDER BY due_at
    LIMIT $4 - (SELECT count(*) FROM live)
    FOR UPDATE SKIP LOCKED
), picked AS (
    SELECT event_id FROM live
    UNION ALL
    SELECT event_id FROM replayed
)
UPDATE deliveries
SET {hold}
FROM picked
JOIN events ON events.merchant_id = $1 AND events.event_id = picked.event_id
WHERE deliveries.merchant_id = $1
    AND deliveries.endpoint_id = $2
    AND deliveries.event_id = picked.event_id
RETURNING events.event_id, events.sequence, events.body, deliveries.tries,
    deliveries.tries_before, deliveries.is_replay
""",
    has_ended=_DELIVERIES.has_ended("$3"),
    hold=_DELIVERIES.hold("$5", "$6"),
)

_RELEASE = _DELIVERIES.release(many=True)

# Primary key of deliveries, once for each outcome; the try is logged only where it counted.
_RECORD = compose(
    """
WITH settled AS (
    UPDATE deliveries
    SET state = outcome.state, {clear}, tries = outcome.try
    FROM UNNEST(
        $1::integer[], $2::uuid[], $3::uuid[], $4::uuid[], $5::integer[], $6::text[],
        $7::timestamptz[], $8::timestamptz[], $9::integer[], $10::smallint[], $11::text[],
        $12::text[]
    ) AS outcome (
        merchant_id, endpoint_id, event_id, lease_id, try, state,
        due_at, at, duration_ms, status, error, answer
    )
    WHERE deliveries.merchant_id = outcome.merchant_id
        AND deliveries.endpoint_id = outcome.endpoint_id
        AND deliveries.event_id = outcome.event_id
        AND {is_held}
    RETURNING outcome.merchant_id, outcome.endpoint_id, outcome.event_id, outcome.try,
        outcome.at, outcome.duration_ms, outcome.status, outcome.error, outcome.answer
)
INSERT INTO delivery_tries
    (merchant_id, endpoint_id, event_id, try, at, duration_ms, status, error, answer)
SELECT * FROM settled
""",
    clear=_DELIVERIES.clear("outcome.due_at"),
    is_held=_DELIVERIES.is_held("outcome.lease_id", "deliveries."),
)


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event on its way to one endpoint; `tries` were made before, `tries_before` of them before
    it was replayed."""

    event_id: UUID
    sequence: int
    body: str
    tries: int
    lease: Lease
    tries_before: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a try brought: a status with an excerpt of the answer, or the error in words; both short
    and printable."""

    status: int | None
    error: str | None
    answer: str | None
    # How long the endpoint asks to be left alone.
    wish: timedelta | None
    duration: timedelta


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a try begun `at` an instant, and what follows."""

    endpoint: Endpoint
    delivery: Delivery
    decision: Decision
    at: datetime
    reply: Reply


async def find_due_endpoints(
    tx: Connection, now: datetime, behind: tuple[int, UUID], limit: int
) -> list[Endpoint]:
    """Endpoints with something due, in the order of merchants, from behind the given one on."""
    rows = await tx.fetch(_FIND_DUE, now, *behind, limit)
    return [read_endpoint(row) for row in rows]


async def lease_deliveries(
    tx: Connection, endpoint: Endpoint, lease: Lease, *, now: datetime, size: int
) -> list[Delivery]:
    """Take at most `size` of the endpoint's due deliveries that nobody else is just taking."""
    rows = await tx.fetch(
        _LEASE,
        endpoint.merchant_id, endpoint.endpoint_id, now, size, lease.until, lease.lease_id,
    )  # fmt: skip
    # Live ones first: the queue sends a set in this order.
    return [
        Delivery(
            event_id=row["event_id"],
            sequence=row["sequence"],
            body=row["body"],
            tries=row["tries"],
            lease=lease,
            tries_before=row["tries_before"],
        )
        for row in sorted(rows, key=itemgetter("is_replay"))
    ]


async def release_deliveries(
    tx: Connection, endpoint: Endpoint, deliveries: Sequence[Delivery], due_at: datetime
) -> None:
    """Give back what was leased and not begun."""
    await tx.execute(
        _RELEASE,
        endpoint.merchant_id,
        endpoint.endpoint_id,
        [each.event_id for each in deliveries],
        list({each.lease.lease_id for each in deliveries}),
        due_at,
    )


async def save_outcomes(tx: Connection, outcomes: Sequence[Outcome]) -> None:
    """Write the deliveries' new states and the log of tries; sorted, so that two who write the
    same rows wait for each other instead of locking each other out."""
    ordered = sorted(outcomes, key=lambda each: each.delivery.event_id)
    await tx.execute(
        _RECORD,
        [each.endpoint.merchant_id for each in ordered],
        [each.endpoint.endpoint_id for each in ordered],
        [each.delivery.event_id for each in ordered],
        [each.delivery.lease.lease_id for each in ordered],
        [each.delivery.tries + 1 for each in ordered],
        [_state(each.decision) for each in ordered],
        [each.decision.at if isinstance(each.decision, RetryAt) else None for each in ordered],
        [each.at for each in ordered],
        [each.reply.duration // timedelta(milliseconds=1) for each in ordered],
        [each.reply.status for each in ordered],
        [each.reply.error for each in ordered],
        [each.reply.answer for each in ordered],
    )


def _state(decision: Decision) -> str:
    if isinstance(decision, Delivered):
        return "DELIVERED"
    return "PENDING" if isinstance(decision, RetryAt) else "GIVEN_UP"
