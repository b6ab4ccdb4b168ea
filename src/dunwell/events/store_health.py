"""The SQL of how endpoints are doing: rows in, values out, no rules."""

from collections.abc import Sequence
from uuid import UUID

from dunwell.events.endpoint_health import MOST_COUNTED, EndpointHealth
from dunwell.events.retry import Health
from dunwell.kit.db import Connection, Row

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
