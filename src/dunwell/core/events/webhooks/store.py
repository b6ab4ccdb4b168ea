"""The SQL of webhook endpoints, their health, and deliveries to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import itemgetter
from uuid import UUID

from dunwell.accounts.installation.installation_file import PUBLIC_REACH, WebhookReach, parse_reach
from dunwell.core.events.webhooks.endpoint import WebhookEndpoint
from dunwell.core.events.webhooks.retry import Delivered, DeliveryDecision, FailureHistory, RetryAt
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose

ENDPOINT_COLUMNS = """
    endpoint.merchant_id, endpoint.endpoint_id, endpoint.url, endpoint.types,
    endpoint.secret_sealed, endpoint.previous_secret_sealed, endpoint.previous_secret_until,
    endpoint.authorization_sealed, endpoint.first_failure_at, endpoint.gone_at,
    endpoint.disabled_at, endpoint.disabled_reason, endpoint.probe_at, endpoint.probes
"""

_LOAD_ALL = compose(
    """
SELECT {endpoint_columns}
FROM webhook_endpoints endpoint
WHERE merchant_id = $1 AND removed_at IS NULL
ORDER BY created_at, endpoint_id
""",
    endpoint_columns=ENDPOINT_COLUMNS,
)

# Uses the primary key, once for each leased batch.
_LOAD_ONE = compose(
    """
SELECT {endpoint_columns}
FROM webhook_endpoints endpoint
WHERE merchant_id = $1 AND endpoint_id = $2 AND removed_at IS NULL
""",
    endpoint_columns=ENDPOINT_COLUMNS,
)

_LOCK_ONE = compose("{load} FOR NO KEY UPDATE", load=_LOAD_ONE)

_INSERT = """
INSERT INTO webhook_endpoints
    (merchant_id, endpoint_id, url, types, secret_sealed, authorization_sealed, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (merchant_id, url) WHERE removed_at IS NULL DO NOTHING
"""

_UPDATE = """
UPDATE webhook_endpoints
SET types = $3, authorization_sealed = $4
WHERE merchant_id = $1 AND endpoint_id = $2 AND removed_at IS NULL
"""

_ROTATE = """
UPDATE webhook_endpoints
SET secret_sealed = $3, previous_secret_sealed = secret_sealed, previous_secret_until = $4
WHERE merchant_id = $1 AND endpoint_id = $2 AND removed_at IS NULL
"""

# Uses deliveries_due. Pending deliveries to a removed endpoint are given up.
_REMOVE = """
WITH removed AS (
    UPDATE webhook_endpoints
    SET removed_at = $3
    WHERE merchant_id = $1 AND endpoint_id = $2 AND removed_at IS NULL
    RETURNING merchant_id, endpoint_id
), ended AS (
    UPDATE deliveries
    SET state = 'GIVEN_UP', due_at = NULL, lease_id = NULL
    FROM removed
    WHERE deliveries.merchant_id = removed.merchant_id
        AND deliveries.endpoint_id = removed.endpoint_id
        AND deliveries.state = 'PENDING'
    RETURNING deliveries.event_id
)
SELECT count(*) FROM ended
"""

_UPDATE_HEALTH = """
UPDATE webhook_endpoints
SET first_failure_at = $3, gone_at = $4, disabled_at = $5, disabled_reason = $6,
    probe_at = $7, probes = $8
WHERE merchant_id = $1 AND endpoint_id = $2
"""

# Uses the primary keys of merchants and installation_revisions, once for each leased batch, and for
# each attempt in private networks.
_LOAD_REACH = """
SELECT m.key, (
    SELECT document -> 'webhookNetworks'
    FROM installation_revisions
    ORDER BY revision DESC
    LIMIT 1) AS networks
FROM merchants m
WHERE m.merchant_id = $1
"""


async def load_endpoints(tx: Connection, merchant_id: int) -> list[WebhookEndpoint]:
    """Return the merchant's endpoints, oldest first, without removed ones."""
    return [build_endpoint(row) for row in await tx.fetch(_LOAD_ALL, merchant_id)]


async def load_endpoint(
    tx: Connection, merchant_id: int, endpoint_id: UUID
) -> WebhookEndpoint | None:
    row = await tx.fetchrow(_LOAD_ONE, merchant_id, endpoint_id)
    return None if row is None else build_endpoint(row)


async def lock_endpoint(
    tx: Connection, merchant_id: int, endpoint_id: UUID
) -> WebhookEndpoint | None:
    """Load the endpoint and lock it until the transaction ends. Endpoints are locked before their
    deliveries. Deliveries to the endpoint can still be inserted."""
    row = await tx.fetchrow(_LOCK_ONE, merchant_id, endpoint_id)
    return None if row is None else build_endpoint(row)


async def load_reach(tx: Connection, merchant_id: int) -> WebhookReach:
    """Return where the merchant's webhooks may be sent now."""
    row = await tx.fetchrow(_LOAD_REACH, merchant_id)
    return PUBLIC_REACH if row is None else parse_reach(row["networks"], row["key"])


async def insert_endpoint(tx: Connection, endpoint: WebhookEndpoint, created_at: datetime) -> bool:
    """Insert the endpoint. Return False if the merchant has one with this address."""
    status = await tx.execute(
        _INSERT, endpoint.merchant_id, endpoint.endpoint_id, endpoint.url, list(endpoint.types),
        endpoint.secret_sealed, endpoint.authorization_sealed, created_at,
    )  # fmt: skip
    return bool(status == "INSERT 0 1")


async def save_endpoint(tx: Connection, endpoint: WebhookEndpoint) -> None:
    """Save event types and authorization."""
    await tx.execute(
        _UPDATE, endpoint.merchant_id, endpoint.endpoint_id,
        list(endpoint.types), endpoint.authorization_sealed,
    )  # fmt: skip


async def save_secret(
    tx: Connection, merchant_id: int, endpoint_id: UUID, sealed: bytes, previous_until: datetime
) -> None:
    """Save a new secret. The previous one can be used until `previous_until`."""
    await tx.execute(_ROTATE, merchant_id, endpoint_id, sealed, previous_until)


async def remove_endpoint_row(
    tx: Connection, merchant_id: int, endpoint_id: UUID, removed_at: datetime
) -> int:
    """Remove the endpoint, give up its pending deliveries, and return their number."""
    return int(await tx.fetchval(_REMOVE, merchant_id, endpoint_id, removed_at))


async def save_health(
    tx: Connection, merchant_id: int, endpoint_id: UUID, health: FailureHistory
) -> None:
    await tx.execute(
        _UPDATE_HEALTH, merchant_id, endpoint_id, health.first_failure_at, health.gone_at,
        health.disabled_at, health.disabled_reason, health.probe_at, health.probes,
    )  # fmt: skip


def build_endpoint(row: Row) -> WebhookEndpoint:
    """Build the endpoint from a row with ENDPOINT_COLUMNS."""
    return WebhookEndpoint(
        merchant_id=row["merchant_id"],
        endpoint_id=row["endpoint_id"],
        url=row["url"],
        types=tuple(row["types"]),
        secret_sealed=row["secret_sealed"],
        previous_secret_sealed=row["previous_secret_sealed"],
        previous_secret_until=row["previous_secret_until"],
        authorization_sealed=row["authorization_sealed"],
        health=FailureHistory(
            first_failure_at=row["first_failure_at"],
            gone_at=row["gone_at"],
            disabled_at=row["disabled_at"],
            disabled_reason=row["disabled_reason"],
            probe_at=row["probe_at"],
            probes=row["probes"],
        ),
    )


# Uses the primary key of webhook_endpoints from where the last search ended, and at most two
# lookups in deliveries_due for each endpoint. ORDER BY keeps the planner from scanning the table
# when most deliveries are due. A disabled endpoint is found when its probe is due.
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
# `LeasedTable.lease` cannot express this: replayed deliveries are leased only if new ones do not
# fill the limit, and each of the two is found by an index scan that ends at the limit. Uses
# deliveries_due twice, then the primary keys of deliveries and events.
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
RETURNING events.event_id, events.sequence, events.body, deliveries.attempts,
    deliveries.attempts_before, deliveries.is_replay
""",
    has_ended=_DELIVERIES.has_ended("$3"),
    hold=_DELIVERIES.hold("$5", "$6"),
)

_RELEASE = _DELIVERIES.release(takes_key_array=True)

# Uses the primary key of deliveries, once for each outcome. An attempt is logged only if its lease
# was still held.
_RECORD = compose(
    """
WITH settled AS (
    UPDATE deliveries
    SET state = outcome.state, {clear}, attempts = outcome.attempt
    FROM UNNEST(
        $1::integer[], $2::uuid[], $3::uuid[], $4::uuid[], $5::integer[], $6::text[],
        $7::timestamptz[], $8::timestamptz[], $9::integer[], $10::smallint[], $11::text[],
        $12::text[]
    ) AS outcome (
        merchant_id, endpoint_id, event_id, lease_id, attempt, state,
        due_at, at, duration_ms, status, error, response
    )
    WHERE deliveries.merchant_id = outcome.merchant_id
        AND deliveries.endpoint_id = outcome.endpoint_id
        AND deliveries.event_id = outcome.event_id
        AND {is_held}
    RETURNING outcome.merchant_id, outcome.endpoint_id, outcome.event_id, outcome.attempt,
        outcome.at, outcome.duration_ms, outcome.status, outcome.error, outcome.response
)
INSERT INTO delivery_attempts
    (merchant_id, endpoint_id, event_id, attempt, at, duration_ms, status, error, response)
SELECT * FROM settled
""",
    clear=_DELIVERIES.clear("outcome.due_at"),
    is_held=_DELIVERIES.is_held("outcome.lease_id", "deliveries."),
)


@dataclass(frozen=True, slots=True)
class LeasedDelivery:
    """A leased delivery of one event to one endpoint. `attempts` counts all attempts so far, and
    `attempts_before` those before the last replay."""

    event_id: UUID
    # None for an additional type.
    sequence: int | None
    body: str
    attempts: int
    lease: Lease
    attempts_before: int = 0


@dataclass(frozen=True, slots=True)
class AttemptResult:
    """The result of an attempt: a status with the beginning of the response body, or an error. Both
    texts are short and printable."""

    status: int | None
    error: str | None
    response: str | None
    # The response's Retry-After.
    retry_after: timedelta | None
    duration: timedelta


@dataclass(frozen=True, slots=True)
class DeliveryOutcome:
    """An attempt that started at `at`, its result, and the decision about what follows."""

    endpoint: WebhookEndpoint
    delivery: LeasedDelivery
    decision: DeliveryDecision
    at: datetime
    result: AttemptResult


async def list_due_endpoints(
    tx: Connection, now: datetime, after_key: tuple[int, UUID], limit: int
) -> list[WebhookEndpoint]:
    """Return endpoints with due deliveries, in the order of their keys, after `after_key`."""
    rows = await tx.fetch(_FIND_DUE, now, *after_key, limit)
    return [build_endpoint(row) for row in rows]


async def lease_deliveries(
    tx: Connection, endpoint: WebhookEndpoint, lease: Lease, *, now: datetime, size: int
) -> list[LeasedDelivery]:
    """Lease at most `size` due deliveries of the endpoint that no other worker has locked."""
    rows = await tx.fetch(
        _LEASE,
        endpoint.merchant_id, endpoint.endpoint_id, now, size, lease.until, lease.lease_id,
    )  # fmt: skip
    # New deliveries first: the queue sends them in this order.
    return [
        LeasedDelivery(
            event_id=row["event_id"],
            sequence=row["sequence"],
            body=row["body"],
            attempts=row["attempts"],
            lease=lease,
            attempts_before=row["attempts_before"],
        )
        for row in sorted(rows, key=itemgetter("is_replay"))
    ]


async def release_deliveries(
    tx: Connection,
    endpoint: WebhookEndpoint,
    deliveries: Sequence[LeasedDelivery],
    due_at: datetime,
) -> None:
    """Release deliveries that were leased and not started."""
    await tx.execute(
        _RELEASE,
        endpoint.merchant_id,
        endpoint.endpoint_id,
        [each.event_id for each in deliveries],
        list({each.lease.lease_id for each in deliveries}),
        due_at,
    )


async def save_outcomes(tx: Connection, outcomes: Sequence[DeliveryOutcome]) -> None:
    """Save the deliveries' states and the log of attempts, in a fixed order so that concurrent
    writers do not deadlock."""
    ordered = sorted(outcomes, key=lambda each: each.delivery.event_id)
    await tx.execute(
        _RECORD,
        [each.endpoint.merchant_id for each in ordered],
        [each.endpoint.endpoint_id for each in ordered],
        [each.delivery.event_id for each in ordered],
        [each.delivery.lease.lease_id for each in ordered],
        [each.delivery.attempts + 1 for each in ordered],
        [_get_state(each.decision) for each in ordered],
        [each.decision.at if isinstance(each.decision, RetryAt) else None for each in ordered],
        [each.at for each in ordered],
        [each.result.duration // timedelta(milliseconds=1) for each in ordered],
        [each.result.status for each in ordered],
        [each.result.error for each in ordered],
        [each.result.response for each in ordered],
    )


def _get_state(decision: DeliveryDecision) -> str:
    if isinstance(decision, Delivered):
        return "DELIVERED"
    return "PENDING" if isinstance(decision, RetryAt) else "GIVEN_UP"
