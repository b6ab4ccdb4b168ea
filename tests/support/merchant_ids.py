"""Ids of merchants for every database that a test process opens: caches are keyed by them, so
none is given twice in a process."""

from itertools import count

from dunwell.platform.database.database import Connection

# The first of each test; some make thousands of merchants.
FIRST_MERCHANT_IDS = count(10_000, 10_000)


async def count_on(connection: Connection) -> None:
    """The next merchants of this database get ids of their own."""
    await connection.execute(
        f"ALTER TABLE merchants ALTER merchant_id RESTART WITH {next(FIRST_MERCHANT_IDS)}"
    )
