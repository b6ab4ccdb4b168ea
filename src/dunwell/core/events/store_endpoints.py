"""The SQL of webhook endpoints: rows in, values out."""

from datetime import datetime
from uuid import UUID

from dunwell.accounts.installation.webhook_networks import PUBLIC_REACH, WebhookReach, read_reach
from dunwell.core.events.endpoint import Endpoint
from dunwell.core.events.retry import Health
from dunwell.platform.database.database import Connection, Row
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

# Primary key; once for each leased set.
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

# deliveries_due; what was not delivered to a removed endpoint waits for no one.
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

# The primary keys of merchants and installation_revisions; once for each leased set, and for each
# try of a merchant whose webhooks reach networks of the operator's.
_LOAD_REACH = """
SELECT m.key, (
    SELECT document -> 'webhookNetworks'
    FROM installation_revisions
    ORDER BY revision DESC
    LIMIT 1) AS networks
FROM merchants m
WHERE m.merchant_id = $1
"""


async def load_endpoints(tx: Connection, merchant_id: int) -> list[Endpoint]:
    """The merchant's endpoints, oldest first; removed ones left out."""
    return [read_endpoint(row) for row in await tx.fetch(_LOAD_ALL, merchant_id)]


async def load_endpoint(tx: Connection, merchant_id: int, endpoint_id: UUID) -> Endpoint | None:
    row = await tx.fetchrow(_LOAD_ONE, merchant_id, endpoint_id)
    return None if row is None else read_endpoint(row)


async def lock_endpoint(tx: Connection, merchant_id: int, endpoint_id: UUID) -> Endpoint | None:
    """Load it for a change of its health; events go on being written for it meanwhile."""
    row = await tx.fetchrow(_LOCK_ONE, merchant_id, endpoint_id)
    return None if row is None else read_endpoint(row)


async def load_reach(tx: Connection, merchant_id: int) -> WebhookReach:
    """Where this merchant's webhooks may be sent at this moment."""
    row = await tx.fetchrow(_LOAD_REACH, merchant_id)
    return PUBLIC_REACH if row is None else read_reach(row["networks"], row["key"])


async def insert_endpoint(tx: Connection, endpoint: Endpoint, created_at: datetime) -> bool:
    """False when the merchant already has an endpoint at this address."""
    status = await tx.execute(
        _INSERT, endpoint.merchant_id, endpoint.endpoint_id, endpoint.url, list(endpoint.types),
        endpoint.secret_sealed, endpoint.authorization_sealed, created_at,
    )  # fmt: skip
    return bool(status == "INSERT 0 1")


async def save_endpoint(tx: Connection, endpoint: Endpoint) -> None:
    """Write the types and the authorization."""
    await tx.execute(
        _UPDATE, endpoint.merchant_id, endpoint.endpoint_id,
        list(endpoint.types), endpoint.authorization_sealed,
    )  # fmt: skip


async def save_secret(
    tx: Connection, merchant_id: int, endpoint_id: UUID, sealed: bytes, previous_until: datetime
) -> None:
    """Put a secret in place; the one before stays usable until `previous_until`."""
    await tx.execute(_ROTATE, merchant_id, endpoint_id, sealed, previous_until)


async def mark_removed(
    tx: Connection, merchant_id: int, endpoint_id: UUID, removed_at: datetime
) -> int:
    """Remove the endpoint; give up what was still to be delivered to it, and say how much."""
    return int(await tx.fetchval(_REMOVE, merchant_id, endpoint_id, removed_at))


async def save_health(tx: Connection, merchant_id: int, endpoint_id: UUID, health: Health) -> None:
    await tx.execute(
        _UPDATE_HEALTH, merchant_id, endpoint_id, health.first_failure_at, health.gone_at,
        health.disabled_at, health.disabled_reason, health.probe_at, health.probes,
    )  # fmt: skip


def read_endpoint(row: Row) -> Endpoint:
    """A row that has ENDPOINT_COLUMNS."""
    return Endpoint(
        merchant_id=row["merchant_id"],
        endpoint_id=row["endpoint_id"],
        url=row["url"],
        types=tuple(row["types"]),
        secret_sealed=row["secret_sealed"],
        previous_secret_sealed=row["previous_secret_sealed"],
        previous_secret_until=row["previous_secret_until"],
        authorization_sealed=row["authorization_sealed"],
        health=Health(
            first_failure_at=row["first_failure_at"],
            gone_at=row["gone_at"],
            disabled_at=row["disabled_at"],
            disabled_reason=row["disabled_reason"],
            probe_at=row["probe_at"],
            probes=row["probes"],
        ),
    )
