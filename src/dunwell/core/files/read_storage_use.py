"""Read how much of its file storage a merchant uses, for people and before a file is taken in."""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.storage_use import StorageUse
from dunwell.core.files.store_use import load_storage_use
from dunwell.platform.database.database import Database


async def read_storage_use(work: Work, limit_bytes: int) -> StorageUse:
    work.need(Right.READ_CLAIMS)
    return await load_storage_use(work.tx, work.merchant_id, limit_bytes)


async def check_storage_room(
    database: Database, merchant_id: int, size_bytes: int, limit_bytes: int
) -> None:
    """Refuse early what would not fit; what passes may still be refused by `put_away`.

    Raises StorageFull.
    """
    async with database.connection() as connection:
        use = await load_storage_use(connection, merchant_id, limit_bytes)
    use.check_room(size_bytes)
