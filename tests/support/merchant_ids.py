"""Merchant ids for all databases that a test process opens. Caches are keyed by these ids, so a
process uses each id only once."""

from itertools import count

from dunwell.platform.database.database import Connection

# The first id of each test. The gap is large because some tests create thousands of merchants.
FIRST_MERCHANT_IDS = count(10_000, 10_000)


async def use_next_merchant_ids(connection: Connection) -> None:
    """Give the next merchants of this database unused ids."""
    await connection.execute(
        f"ALTER TABLE merchants ALTER merchant_id RESTART WITH {next(FIRST_MERCHANT_IDS)}"
    )
