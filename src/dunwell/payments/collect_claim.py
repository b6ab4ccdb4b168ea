"""Collects a claim of which nothing is outstanding any more, though no payment came in just now.

Part of use cases that hold the claim's lock.
"""

from dunwell.claims.balance import Balance
from dunwell.claims.states import Happening, Status, decide_status
from dunwell.claims.store import LockedClaim
from dunwell.escalation.claim_contact_store import cancel_contacts
from dunwell.merchants.account import Work
from dunwell.payments.store_items import save_collected


async def collect_if_paid(work: Work, claim: LockedClaim, balance: Balance) -> Status:
    """The status a claim in process has now."""
    status, claim_id = claim.status, claim.claim_id
    if balance.outstanding_cents > 0:
        return status
    following = decide_status(status, Happening.PAID_IN_FULL)
    await save_collected(work.tx, work.merchant_id, claim_id, status, work.now)
    await cancel_contacts(work.tx, work.merchant_id, [claim_id], work.now)
    return following
