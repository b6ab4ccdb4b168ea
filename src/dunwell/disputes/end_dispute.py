"""What resolving and withdrawing a dispute have in common: finding it, and letting go of its claim.

The claim is locked first, so that of two who end a dispute at once the second finds it ended.
"""

from uuid import UUID

from dunwell.claims.access import access_claim
from dunwell.claims.holds import HoldKind
from dunwell.claims.lift_hold import lift_hold
from dunwell.claims.store import LockedClaim
from dunwell.disputes.dispute import Dispute
from dunwell.disputes.store import load_dispute, save_dispute_end
from dunwell.errors import NotFound
from dunwell.merchants.account import Work


async def lock_dispute(work: Work, claim_id: int, dispute_id: UUID) -> tuple[LockedClaim, Dispute]:
    """The locked claim and the dispute. Raises NotFound."""
    claim = await access_claim(work, claim_id)
    dispute = await load_dispute(work.tx, work.merchant_id, claim_id, dispute_id)
    if dispute is None:
        raise NotFound(f"There is no dispute {dispute_id}.")
    return claim, dispute


async def end_dispute(work: Work, ended: Dispute) -> None:
    """Store how it ended, and let go of its claim, which must be locked."""
    await save_dispute_end(work.tx, work.merchant_id, ended)
    await lift_hold(work, ended.claim_id, HoldKind.DISPUTE, hold_id=ended.hold_id)
