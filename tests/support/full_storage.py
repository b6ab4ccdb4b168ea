"""A merchant whose uploads take most of the storage, or all of it, without so many bytes."""

from dunwell.platform.resources import Resources

_SAVE = """
INSERT INTO storage_use (merchant_id, used_bytes)
VALUES ($1, $2)
ON CONFLICT (merchant_id) DO UPDATE SET used_bytes = excluded.used_bytes
"""


async def leave_free(resources: Resources, merchant_id: int, free_bytes: int) -> int:
    """What is counted as used from now on."""
    used_bytes = resources.settings.merchant_storage_bytes - free_bytes
    async with resources.database.transaction() as tx:
        await tx.execute(_SAVE, merchant_id, used_bytes)
    return used_bytes
