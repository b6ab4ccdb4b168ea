"""The SQL of failing webhook endpoints over all merchants: which are to be logged, which their
merchants are to be told about, and what waits for whom. Instants are real time.

Rows that the recorder of deliveries has locked are skipped and found a minute later, so that
neither waits for the other.
"""

from collections.abc import Sequence
from datetime import datetime

from dunwell.core.events.endpoint_health import ToldEndpoint, UndeliveredEvents
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# delivery_tries_by_time, once for each endpoint.
_LAST_TRY = """
LEFT JOIN LATERAL (
    SELECT status, error
    FROM delivery_tries t
    WHERE t.merchant_id = e.merchant_id AND t.endpoint_id = e.endpoint_id
    ORDER BY t.at DESC
    LIMIT 1) last ON true
"""
# webhook_endpoints_failing.
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
# webhook_endpoints_failing; only merchants that can be written to, or the others would fill the
# limit for ever.
_MARK_FAILURES_TOLD = compose(
    """
WITH marked AS (
    UPDATE webhook_endpoints e SET failure_told_at = $1
    FROM (
        SELECT w.merchant_id, w.endpoint_id
        FROM webhook_endpoints w
        JOIN merchants m ON m.merchant_id = w.merchant_id AND NOT m.sandbox
        WHERE w.first_failure_at <= $2 AND w.removed_at IS NULL AND w.failure_told_at IS NULL
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
# webhook_endpoints_failure_told, then delivery_tries_by_time: one that was switched on by hand has
# not worked before a try of it has.
_MARK_RECOVERIES_TOLD = compose(
    """
WITH marked AS (
    UPDATE webhook_endpoints e SET failure_told_at = NULL
    FROM (
        SELECT w.merchant_id, w.endpoint_id
        FROM webhook_endpoints w
        WHERE w.failure_told_at IS NOT NULL AND w.removed_at IS NULL
            AND w.first_failure_at IS NULL
            AND (SELECT t.status
                 FROM delivery_tries t
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
# deliveries_due, of each endpoint as far as $1; what is sent again on request was sent before.
_COUNT_UNDELIVERED = """
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
# webhook_endpoints_failing.
_COUNT_FAILING = """
SELECT count(*) FILTER (WHERE e.disabled_at IS NULL) AS failing,
       count(*) FILTER (WHERE e.disabled_at IS NOT NULL) AS switched_off
FROM webhook_endpoints e
JOIN merchants m ON m.merchant_id = e.merchant_id AND NOT m.sandbox
WHERE e.first_failure_at IS NOT NULL AND e.removed_at IS NULL
"""


async def mark_logged(
    tx: Connection, now: datetime, logged_before: datetime, limit: int
) -> Sequence[ToldEndpoint]:
    """Those that fail and were last logged before; they count as logged now."""
    return _read(await tx.fetch(_MARK_LOGGED, now, logged_before, limit))


async def mark_failures_told(
    tx: Connection, now: datetime, failing_since: datetime, limit: int
) -> Sequence[ToldEndpoint]:
    """Those that have failed since then and whose merchants have not been told, by merchant; they
    count as told now. Sandboxes and merchants without a contact address are left out."""
    return _read(await tx.fetch(_MARK_FAILURES_TOLD, now, failing_since, limit))


async def mark_recoveries_told(tx: Connection, limit: int) -> Sequence[ToldEndpoint]:
    """Those whose merchants know that they fail, and which work, by merchant; from now on the next
    failure is told again."""
    return _read(await tx.fetch(_MARK_RECOVERIES_TOLD, limit))


async def count_undelivered(connection: Connection, most: int) -> Sequence[UndeliveredEvents]:
    """By endpoint, the one with the oldest event first. Of an endpoint for which more than `most`
    events wait, `most` are looked at."""
    rows = await connection.fetch(_COUNT_UNDELIVERED, most)
    return [UndeliveredEvents(*row) for row in rows]


async def count_failing(connection: Connection) -> tuple[int, int]:
    """How many endpoints fail, and how many were switched off for failing."""
    row = await connection.fetchrow(_COUNT_FAILING)
    assert row is not None, "a count is always a row"
    return row["failing"], row["switched_off"]


def _read(rows: Sequence[Row]) -> Sequence[ToldEndpoint]:
    return [ToldEndpoint(*row) for row in rows]
