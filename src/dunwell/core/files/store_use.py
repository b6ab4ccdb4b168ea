"""The SQL of how much storage a merchant's uploads take.

The merchant's row is locked before an upload is written or removed, and until that transaction
ends, so that two uploads at once are counted one after the other.
"""

from dunwell.core.files.storage_use import StorageUse
from dunwell.platform.database.database import Connection

_LOAD = "SELECT coalesce((SELECT used_bytes FROM storage_use WHERE merchant_id = $1), 0)"
_LOCK = "SELECT used_bytes FROM storage_use WHERE merchant_id = $1 FOR UPDATE"
_SAVE = "UPDATE storage_use SET used_bytes = $2 WHERE merchant_id = $1"
# With a merchant's first upload.
_BEGIN = """
INSERT INTO storage_use (merchant_id, used_bytes)
VALUES ($1, 0)
ON CONFLICT (merchant_id) DO NOTHING
"""
# Those that are near it, the fullest first.
_LIST_NEAR = """
SELECT merchant.key, use.used_bytes
FROM storage_use AS use
JOIN merchants AS merchant USING (merchant_id)
WHERE use.used_bytes >= $1
ORDER BY use.used_bytes DESC, merchant.key
LIMIT $2
"""


async def load_storage_use(tx: Connection, merchant_id: int, limit_bytes: int) -> StorageUse:
    return StorageUse(await tx.fetchval(_LOAD, merchant_id), limit_bytes)


async def lock_used_bytes(tx: Connection, merchant_id: int) -> int:
    """Return what they take, locked until the transaction ends."""
    used_bytes: int | None = await tx.fetchval(_LOCK, merchant_id)
    if used_bytes is None:
        await tx.execute(_BEGIN, merchant_id)
        used_bytes = await tx.fetchval(_LOCK, merchant_id)
    assert used_bytes is not None
    return used_bytes


async def save_used_bytes(tx: Connection, merchant_id: int, used_bytes: int) -> None:
    await tx.execute(_SAVE, merchant_id, used_bytes)


async def list_near_limit(tx: Connection, least_bytes: int, most: int) -> list[tuple[str, int]]:
    """Merchants whose files take so much, by their keys."""
    rows = await tx.fetch(_LIST_NEAR, least_bytes, most)
    return [(row["key"], row["used_bytes"]) for row in rows]
