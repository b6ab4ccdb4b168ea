"""Wakes the contacts of a claim that wait for an attachment: they are tried again at once.

Written in the transaction that attaches one; the claim must be locked.
"""

from datetime import datetime

from dunwell.kit.db import Connection

# By the unique key (merchant_id, claim_id, run, step_id, place). One whose seven days run out at
# this moment is taken from whoever is about to give it up.
_WAKE = """
UPDATE communications
SET state = 'PLANNED', not_before = $3, lease_id = NULL, lease_until = NULL
WHERE merchant_id = $1 AND claim_id = $2 AND state = 'ATTACHMENT_MISSING'
"""


async def wake_contacts(tx: Connection, merchant_id: int, claim_id: int, now: datetime) -> None:
    """now: the merchant's time."""
    await tx.execute(_WAKE, merchant_id, claim_id, now)
