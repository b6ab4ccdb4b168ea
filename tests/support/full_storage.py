"""A merchant that has used most or all of its storage, without that many bytes on the disk."""

from dunwell.platform.resources import Resources

_SAVE = """
INSERT INTO storage_use (merchant_id, used_bytes)
VALUES ($1, $2)
ON CONFLICT (merchant_id) DO UPDATE SET used_bytes = excluded.used_bytes
"""


async def leave_free(resources: Resources, merchant_id: int, free_bytes: int) -> int:
    """Set the counted use so that only `free_bytes` remain free."""
    used_bytes = resources.settings.merchant_storage_bytes - free_bytes
    async with resources.database.transaction() as tx:
        await tx.execute(_SAVE, merchant_id, used_bytes)
    return used_bytes
