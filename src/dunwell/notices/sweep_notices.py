"""Takes addresses and contents out of notices some days after they were settled.

That one was sent, of which kind, when and with which outcome, stays with the claim.
"""

from datetime import timedelta

from dunwell.kit.resources import Resources
from dunwell.notices.store import empty_notices

KEPT_FOR = timedelta(days=7)
_ROWS_AT_ONCE = 5000


async def sweep_notices(resources: Resources) -> int:
    """Notices emptied; 0 when nothing was left."""
    async with resources.database.transaction() as tx:
        return await empty_notices(tx, resources.clock.now() - KEPT_FOR, _ROWS_AT_ONCE)
