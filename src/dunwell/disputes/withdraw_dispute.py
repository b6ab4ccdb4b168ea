"""The debtor takes a dispute back: the process goes on, unless something else holds it."""

from uuid import UUID

from msgspec.structs import replace

from dunwell.disputes.dispute import Dispute, DisputeState, check_move
from dunwell.disputes.end_dispute import end_dispute, lock_dispute
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def withdraw_dispute(work: Work, claim_id: int, dispute_id: UUID) -> Dispute:
    """Withdrawing again changes nothing. Raises NotFound and InvalidState (it was resolved)."""
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if not check_move(dispute, DisputeState.WITHDRAWN):
        return dispute
    withdrawn = replace(dispute, state=DisputeState.WITHDRAWN, resolved_at=work.now)
    await end_dispute(work, withdrawn)
    await save_audit(work, "dispute.withdraw", f"claim:{claim_id}", disputeId=str(dispute_id))
    return withdrawn
