"""The SQL of how endpoints are doing, and of the proof that one missed nothing: rows in, values
out, no rules."""

from collections.abc import Sequence
from uuid import UUID

from dunwell.core.events.endpoint_health import MOST_COUNTED, EndpointHealth
from dunwell.core.events.proof import MOST_GAPS, MOST_NUMBERED, Counted, Gap
from dunwell.core.events.retry import Health
from dunwell.platform.database.database import Connection, Row

# By primary key; what waits rides on deliveries_due, tries on delivery_tries_by_time, of which so
# many of the newest are looked at.
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
            FROM delivery_tries
            WHERE merchant_id = $1 AND endpoint_id = e.endpoint_id
            ORDER BY at DESC
            LIMIT $3) t
    ) newest
) tried
WHERE e.merchant_id = $1 AND e.endpoint_id = ANY($2::uuid[])
"""
# The primary key of deliveries backwards, then those of tries and events. What is replayed waits
# again though it was acknowledged, which its tries know.
_PROVE = """
WITH looked_at AS (
    SELECT event_id, is_tried, is_open, row_number() OVER (ORDER BY event_id DESC) AS place
    FROM (
        SELECT event_id, tries > 0 AS is_tried, state <> 'DELIVERED' AS is_open
        FROM deliveries
        WHERE merchant_id = $1 AND endpoint_id = $2
        ORDER BY event_id DESC
        LIMIT $4) newest
), counted AS (
    SELECT count(*) AS numbered,
           coalesce(count(*) + 1 - min(place) FILTER (WHERE is_tried), 0) AS last_sent
    FROM looked_at
), missing AS (
    SELECT event_id, numbered + 1 - place AS number
    FROM looked_at, counted
    WHERE is_open
        AND place BETWEEN numbered + 1 - last_sent AND numbered + 1 - $3
        AND (NOT is_tried OR (
            SELECT true
            FROM delivery_tries t
            WHERE t.merchant_id = $1 AND t.endpoint_id = $2 AND t.event_id = looked_at.event_id
                AND t.status BETWEEN 200 AND 299
            LIMIT 1) IS NULL)
)
SELECT counted.numbered, counted.last_sent, (SELECT count(*) FROM missing) AS open,
       gap.number, gap.event_id, e.type, e.claim_id, e.sequence, d.state, d.tries
FROM counted
LEFT JOIN (SELECT * FROM missing ORDER BY number LIMIT $5) gap ON true
LEFT JOIN LATERAL (
    SELECT state, tries
    FROM deliveries
    WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = gap.event_id
    OFFSET 0) d ON true
LEFT JOIN events e ON e.merchant_id = $1 AND e.event_id = gap.event_id
ORDER BY gap.number
"""


async def load_health(
    tx: Connection, merchant_id: int, endpoint_ids: Sequence[UUID]
) -> dict[UUID, EndpointHealth]:
    """By id."""
    rows = await tx.fetch(_LOAD, merchant_id, list(endpoint_ids), MOST_COUNTED)
    return {row["endpoint_id"]: _read(row) for row in rows}


def _read(row: Row) -> EndpointHealth:
    return EndpointHealth(
        endpoint_id=row["endpoint_id"],
        url=row["url"],
        types=tuple(row["types"]),
        created_at=row["created_at"],
        health=Health(
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


async def load_proof(
    tx: Connection, merchant_id: int, endpoint_id: UUID, asked_from: int
) -> tuple[Counted, list[Gap]]:
    """The counts, and the first MOST_GAPS of what is open, by number."""
    rows = await tx.fetch(
        _PROVE, merchant_id, endpoint_id, asked_from, MOST_NUMBERED, MOST_GAPS
    )  # fmt: skip
    first = rows[0]
    counted = Counted(first["numbered"], asked_from, first["last_sent"], first["open"])
    gaps = [
        Gap(
            number=row["number"],
            event_id=row["event_id"],
            type=row["type"],
            claim_id=row["claim_id"],
            sequence=row["sequence"],
            state=row["state"],
            tries=row["tries"],
        )
        for row in rows
        if row["number"] is not None
    ]
    return counted, gaps
