"""The SQL that makes single deliveries, or those given up, due again."""

from datetime import datetime
from uuid import UUID

from dunwell.kit.db import Connection

# By primary key; left alone is what is under lease or due already, and what was tried since.
_REPLAY_ONE = """
UPDATE deliveries
SET state = 'PENDING', due_at = $4, is_replay = true, tries_before = tries, lease_id = NULL
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = $3 AND state = $5 AND tries = $6
    AND (state <> 'PENDING' OR lease_id IS NULL AND due_at > $4)
RETURNING event_id
"""
# deliveries_given_up from the first id that an event of that instant may bear, then events.
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
SET state = 'PENDING', due_at = $5, is_replay = true, tries_before = tries, lease_id = NULL
FROM events e
WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.state = 'GIVEN_UP' AND d.event_id >= $3
    AND e.merchant_id = $1 AND e.event_id = d.event_id AND e.occurred_at >= $4
"""


async def save_replay(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_id: UUID, *, now: datetime,
    seen: tuple[str, int],
) -> bool:  # fmt: skip
    """seen: its state and tries. False: they are not these any more, or it is due already."""
    saved = await tx.fetchval(_REPLAY_ONE, merchant_id, endpoint_id, event_id, now, *seen)
    return saved is not None


async def count_given_up(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, least: UUID, since: datetime, most: int
) -> int:
    """Of events since an instant, as far as `most`. least: the least id that one of them bears."""
    return int(await tx.fetchval(_COUNT_GIVEN_UP, merchant_id, endpoint_id, least, since, most))


async def replay_all_given_up(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, least: UUID, since: datetime,
    now: datetime,
) -> int:  # fmt: skip
    """How many."""
    status = await tx.execute(_REPLAY_GIVEN_UP, merchant_id, endpoint_id, least, since, now)
    return int(status.rsplit(" ", 1)[1])
