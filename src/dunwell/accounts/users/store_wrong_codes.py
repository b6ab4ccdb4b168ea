"""The SQL of wrong second factors and of the lock that follows them: rows in, values out, no rules.

Setting or removing a password deletes these rows and the lock in the same statement (`store`).
"""

from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection

_INSERT = """
INSERT INTO wrong_second_factors (failure_id, user_id, failed_at, device_hash)
VALUES ($1, $2, $3, $4)
"""
# Both use wrong_second_factors_user.
_COUNT = "SELECT count(*) FROM wrong_second_factors WHERE user_id = $1 AND failed_at > $2"
_COUNT_OF_BROWSER = """
SELECT count(*) FROM wrong_second_factors
WHERE user_id = $1 AND failed_at > $2 AND device_hash = $3
"""
_LOCK = """
UPDATE users SET second_factor_locked_at = $2
WHERE user_id = $1 AND second_factor_locked_at IS NULL
RETURNING user_id
"""
# Uses wrong_second_factors_age.
_REMOVE = """
DELETE FROM wrong_second_factors
WHERE failure_id IN (SELECT failure_id FROM wrong_second_factors WHERE failed_at < $1 LIMIT $2)
"""


async def save_wrong_code(
    tx: Connection, failure_id: UUID, user_id: UUID, now: datetime, device_hash: bytes | None
) -> None:
    await tx.execute(_INSERT, failure_id, user_id, now, device_hash)


async def count_wrong_codes(
    tx: Connection, user_id: UUID, since: datetime, device_hash: bytes | None = None
) -> int:
    """Return the number after `since`, only those of one browser if its hash is given."""
    if device_hash is None:
        count: int = await tx.fetchval(_COUNT, user_id, since)
    else:
        count = await tx.fetchval(_COUNT_OF_BROWSER, user_id, since, device_hash)
    return count


async def save_second_factor_lock(tx: Connection, user_id: UUID, now: datetime) -> bool:
    """Return False if the user's second factor was locked before."""
    return await tx.fetchval(_LOCK, user_id, now) is not None


async def remove_wrong_codes(tx: Connection, failed_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE, failed_before, limit)
    return int(tag.rpartition(" ")[2])
