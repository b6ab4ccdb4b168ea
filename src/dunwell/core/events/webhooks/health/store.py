"""The SQL of endpoints' health: which fail, since when, and whose merchants must be notified.
Instants are real time."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from dunwell.core.events.deliveries.proof import MAX_GAPS, MAX_NUMBERED, DeliveryCounts, DeliveryGap
from dunwell.core.events.webhooks.endpoint import (
    MAX_COUNTED,
    EndpointHealth,
    ReportedEndpoint,
    UndeliveredEvents,
)
from dunwell.core.events.webhooks.retry import FailureHistory
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# Uses the primary key; deliveries_due for waiting deliveries; delivery_attempts_by_time for the
# newest attempts, up to a limit.
_LOAD = """
SELECT e.endpoint_id, e.url, e.types, e.created_at, e.first_failure_at, e.gone_at, e.disabled_at,
       e.disabled_reason, e.probe_at, e.probes,
       waiting.number AS waiting, tried.last_try_at, tried.last_success_at,
       CASE WHEN e.first_failure_at IS NULL THEN 0 ELSE tried.failures END AS failures
FROM webhook_endpoints e
CROSS JOIN LATERAL (
    SELECT count(*) AS number
    FROM (
        SELECT
        FROM deliveries d
        WHERE d.merchant_id = $1 AND d.endpoint_id = e.endpoint_id AND d.state = 'PENDING'
        LIMIT $3) counted
) waiting
CROSS JOIN LATERAL (
    SELECT max(newest.at) AS last_try_at,
           max(newest.at) FILTER (WHERE newest.is_success) AS last_success_at,
           count(*) FILTER (WHERE newest.successes = 0) AS failures
    FROM (
        SELECT t.at, t.status BETWEEN 200 AND 299 AS is_success,
               count(*) FILTER (WHERE t.status BETWEEN 200 AND 299)
                   OVER (ORDER BY t.at DESC) AS successes
        FROM (
            SELECT at, status
            FROM delivery_attempts
            WHERE merchant_id = $1 AND endpoint_id = e.endpoint_id
            ORDER BY at DESC
            LIMIT $3) t
    ) newest
) tried
WHERE e.merchant_id = $1 AND e.endpoint_id = ANY($2::uuid[])
"""
# Uses the primary key of deliveries backwards, then those of attempts and events. A replayed
# delivery is pending again although an attempt of it was acknowledged.
_LOAD_GAPS = """
WITH listed AS (
    SELECT event_id, is_tried, is_open, row_number() OVER (ORDER BY event_id DESC) AS place
    FROM (
        SELECT event_id, attempts > 0 AS is_tried, state <> 'DELIVERED' AS is_open
        FROM deliveries
        WHERE merchant_id = $1 AND endpoint_id = $2
        ORDER BY event_id DESC
        LIMIT $4) newest
), counted AS (
    SELECT count(*) AS numbered,
           coalesce(count(*) + 1 - min(place) FILTER (WHERE is_tried), 0) AS last_sent
    FROM listed
), missing AS (
    SELECT event_id, numbered + 1 - place AS number
    FROM listed, counted
    WHERE is_open
        AND place BETWEEN numbered + 1 - last_sent AND numbered + 1 - $3
        AND (NOT is_tried OR (
            SELECT true
            FROM delivery_attempts t
            WHERE t.merchant_id = $1 AND t.endpoint_id = $2 AND t.event_id = listed.event_id
                AND t.status BETWEEN 200 AND 299
            LIMIT 1) IS NULL)
)
SELECT counted.numbered, counted.last_sent, (SELECT count(*) FROM missing) AS open,
       gap.number, gap.event_id, e.type, e.claim_id, e.sequence, d.state, d.attempts
FROM counted
LEFT JOIN (SELECT * FROM missing ORDER BY number LIMIT $5) gap ON true
LEFT JOIN LATERAL (
    SELECT state, attempts
    FROM deliveries
    WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = gap.event_id
    OFFSET 0) d ON true
LEFT JOIN events e ON e.merchant_id = $1 AND e.event_id = gap.event_id
ORDER BY gap.number
"""


async def load_health(
    tx: Connection, merchant_id: int, endpoint_ids: Sequence[UUID]
) -> dict[UUID, EndpointHealth]:
    """Return the health by endpoint id."""
    rows = await tx.fetch(_LOAD, merchant_id, list(endpoint_ids), MAX_COUNTED)
    return {row["endpoint_id"]: _build_health(row) for row in rows}


def _build_health(row: Row) -> EndpointHealth:
    return EndpointHealth(
        endpoint_id=row["endpoint_id"],
        url=row["url"],
        types=tuple(row["types"]),
        created_at=row["created_at"],
        health=FailureHistory(
            row["first_failure_at"],
            row["gone_at"],
            disabled_at=row["disabled_at"],
            disabled_reason=row["disabled_reason"],
            probe_at=row["probe_at"],
            probes=row["probes"],
        ),
        failures=row["failures"],
        waiting=row["waiting"],
        last_success_at=row["last_success_at"],
        last_try_at=row["last_try_at"],
    )


async def load_delivery_gaps(
    tx: Connection, merchant_id: int, endpoint_id: UUID, first_number: int
) -> tuple[DeliveryCounts, list[DeliveryGap]]:
    """Return the counts, and the first MAX_GAPS unacknowledged deliveries, by number.
    `first_number` is the number of the first delivery to check."""
    rows = await tx.fetch(
        _LOAD_GAPS, merchant_id, endpoint_id, first_number, MAX_NUMBERED, MAX_GAPS
    )  # fmt: skip
    first = rows[0]
    counts = DeliveryCounts(first["numbered"], first_number, first["last_sent"], first["open"])
    gaps = [
        DeliveryGap(
            number=row["number"],
            event_id=row["event_id"],
            type=row["type"],
            claim_id=row["claim_id"],
            sequence=row["sequence"],
            state=row["state"],
            attempts=row["attempts"],
        )
        for row in rows
        if row["number"] is not None
    ]
    return counts, gaps


# Uses delivery_attempts_by_time, once for each endpoint.
_LAST_TRY = """
LEFT JOIN LATERAL (
    SELECT status, error
    FROM delivery_attempts t
    WHERE t.merchant_id = e.merchant_id AND t.endpoint_id = e.endpoint_id
    ORDER BY t.at DESC
    LIMIT 1) last ON true
"""
# Uses webhook_endpoints_failing.
_MARK_LOGGED = compose(
    """
WITH marked AS (
    UPDATE webhook_endpoints e SET failure_logged_at = $1
    FROM (
        SELECT merchant_id, endpoint_id
        FROM webhook_endpoints
        WHERE first_failure_at IS NOT NULL AND removed_at IS NULL
            AND (failure_logged_at IS NULL OR failure_logged_at <= $2)
        ORDER BY merchant_id, endpoint_id
        LIMIT $3
        FOR NO KEY UPDATE SKIP LOCKED) found
    WHERE e.merchant_id = found.merchant_id AND e.endpoint_id = found.endpoint_id
    RETURNING e.merchant_id, e.endpoint_id, e.url, e.first_failure_at)
SELECT e.merchant_id, e.endpoint_id, e.url, e.first_failure_at AS since, last.status, last.error
FROM marked e
{last_try}
""",
    last_try=_LAST_TRY,
)
# Uses webhook_endpoints_failing. Merchants without a contact address are excluded, because their
# endpoints would use up the limit in every run.
_MARK_FAILURES_NOTIFIED = compose(
    """
WITH marked AS (
    UPDATE webhook_endpoints e SET failure_reported_at = $1
    FROM (
        SELECT w.merchant_id, w.endpoint_id
        FROM webhook_endpoints w
        JOIN merchants m ON m.merchant_id = w.merchant_id AND NOT m.sandbox
        WHERE w.first_failure_at <= $2 AND w.removed_at IS NULL AND w.failure_reported_at IS NULL
            AND m.configuration -> 'contact' ->> 'email' IS NOT NULL
        ORDER BY w.merchant_id, w.endpoint_id
        LIMIT $3
        FOR NO KEY UPDATE OF w SKIP LOCKED) found
    WHERE e.merchant_id = found.merchant_id AND e.endpoint_id = found.endpoint_id
    RETURNING e.merchant_id, e.endpoint_id, e.url, e.first_failure_at)
SELECT e.merchant_id, e.endpoint_id, e.url, e.first_failure_at AS since, last.status, last.error
FROM marked e
{last_try}
ORDER BY e.merchant_id, e.first_failure_at, e.endpoint_id
""",
    last_try=_LAST_TRY,
)
# Uses webhook_endpoints_failure_reported, then delivery_attempts_by_time. An endpoint that was
# enabled by hand counts as recovered only after a successful attempt.
_MARK_RECOVERIES_NOTIFIED = compose(
    """
WITH marked AS (
    UPDATE webhook_endpoints e SET failure_reported_at = NULL
    FROM (
        SELECT w.merchant_id, w.endpoint_id
        FROM webhook_endpoints w
        WHERE w.failure_reported_at IS NOT NULL AND w.removed_at IS NULL
            AND w.first_failure_at IS NULL
            AND (SELECT t.status
                 FROM delivery_attempts t
                 WHERE t.merchant_id = w.merchant_id AND t.endpoint_id = w.endpoint_id
                 ORDER BY t.at DESC
                 LIMIT 1) BETWEEN 200 AND 299
        ORDER BY w.merchant_id, w.endpoint_id
        LIMIT $1
        FOR NO KEY UPDATE OF w SKIP LOCKED) found
    WHERE e.merchant_id = found.merchant_id AND e.endpoint_id = found.endpoint_id
    RETURNING e.merchant_id, e.endpoint_id, e.url)
SELECT e.merchant_id, e.endpoint_id, e.url, NULL::timestamptz AS since, last.status, last.error
FROM marked e
{last_try}
ORDER BY e.merchant_id, e.endpoint_id
""",
    last_try=_LAST_TRY,
)
# Uses deliveries_due, up to $1 rows for each endpoint. Replays are excluded, because their events
# can be old although they do not wait for long.
_LIST_UNDELIVERED = """
SELECT e.endpoint_id, waiting.number, waiting.event_id AS oldest
FROM webhook_endpoints e
JOIN merchants m ON m.merchant_id = e.merchant_id AND NOT m.sandbox
CROSS JOIN LATERAL (
    SELECT d.event_id, count(*) OVER () AS number
    FROM (
        SELECT event_id
        FROM deliveries
        WHERE merchant_id = e.merchant_id AND endpoint_id = e.endpoint_id
            AND state = 'PENDING' AND NOT is_replay
        ORDER BY due_at
        LIMIT $1) d
    ORDER BY d.event_id
    LIMIT 1) waiting
WHERE e.removed_at IS NULL
ORDER BY waiting.event_id
"""
# Uses webhook_endpoints_failing.
_COUNT_FAILING = """
SELECT count(*) FILTER (WHERE e.disabled_at IS NULL) AS failing,
       count(*) FILTER (WHERE e.disabled_at IS NOT NULL) AS switched_off
FROM webhook_endpoints e
JOIN merchants m ON m.merchant_id = e.merchant_id AND NOT m.sandbox
WHERE e.first_failure_at IS NOT NULL AND e.removed_at IS NULL
"""


async def mark_failures_logged(
    tx: Connection, now: datetime, logged_before: datetime, limit: int
) -> Sequence[ReportedEndpoint]:
    """Mark at most `limit` failing endpoints that were never logged, or not since `logged_before`,
    as logged now, and return them."""
    return _build_reported_endpoints(await tx.fetch(_MARK_LOGGED, now, logged_before, limit))


async def mark_failures_notified(
    tx: Connection, now: datetime, failing_since: datetime, limit: int
) -> Sequence[ReportedEndpoint]:
    """Record that merchants are notified of failing endpoints, and return these endpoints, sorted
    by merchant: at most `limit` that have been failing since `failing_since` or longer, and of
    which the merchant was not notified. Sandboxes and merchants without a contact address are left
    out."""
    return _build_reported_endpoints(
        await tx.fetch(_MARK_FAILURES_NOTIFIED, now, failing_since, limit)
    )


async def mark_recoveries_notified(tx: Connection, limit: int) -> Sequence[ReportedEndpoint]:
    """Record that merchants are notified of recoveries, and return the endpoints, sorted by
    merchant: at most `limit` that work again after a failure of which the merchant was notified.
    The merchant will be notified of the next failure again."""
    return _build_reported_endpoints(await tx.fetch(_MARK_RECOVERIES_NOTIFIED, limit))


async def list_undelivered_events(
    connection: Connection, limit: int
) -> Sequence[UndeliveredEvents]:
    """Return the undelivered events of each endpoint that has any, the one with the oldest event
    first. At most `limit` events of an endpoint are read. Sandboxes and replays are left out."""
    rows = await connection.fetch(_LIST_UNDELIVERED, limit)
    return [UndeliveredEvents(*row) for row in rows]


async def count_failing_endpoints(connection: Connection) -> tuple[int, int]:
    """Return how many endpoints are failing, and how many were disabled, without sandboxes."""
    row = await connection.fetchrow(_COUNT_FAILING)
    assert row is not None, "a count is always a row"
    return row["failing"], row["switched_off"]


def _build_reported_endpoints(rows: Sequence[Row]) -> Sequence[ReportedEndpoint]:
    return [ReportedEndpoint(*row) for row in rows]
