"""End a claim before the last step of its workflow. Due steps are dropped and planned contacts are
cancelled.

A contact that was handed over still gets its outcome recorded. Holds and their causes stay
unchanged. No event is published: the event ARCHIVED is for workflows that ran to their end.
"""

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.contact.escalation.store import cancel_contacts
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.states import ClaimTransition, Status, decide_status
from dunwell.core.claims.store import LockedClaim

# Uses primary keys and the index payment_modalities_one. Makes the check of a payment plan or
# deferral of the claim due at once.
_END = """
WITH hastened AS (
    UPDATE payment_modalities
    SET check_at = least(check_at, $4)
    WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NULL
)
UPDATE claims
SET status = $3, due_at = NULL, updated_at = $4
WHERE merchant_id = $1 AND claim_id = $2
"""

_ACTIONS = {Status.ARCHIVED: "claim.archive", Status.WITHDRAWN: "claim.withdraw"}


async def end_claim(work: Work, claim: LockedClaim, transition: ClaimTransition) -> Status:
    """End the claim and return its new status. The claim must be locked. Raises InvalidState."""
    claim_id = claim.claim_id
    status = decide_status(claim.status, transition)
    await work.tx.execute(_END, work.merchant_id, claim_id, status, work.now)
    await cancel_contacts(
        work.tx, work.merchant_id, [claim_id], work.now, reason="The claim ended."
    )
    return status


async def archive_claim(work: Work, claim_id: int) -> None:
    """Archive a claim by hand, uncollected. Archiving an archived claim changes nothing. Raises
    NotFound, InvalidState."""
    work.require(Right.CHANGE_CLAIMS)
    await _end_by_merchant(work, claim_id, ClaimTransition.ARCHIVED_BY_HAND, Status.ARCHIVED)


async def withdraw_claim(work: Work, claim_id: int) -> None:
    """Withdraw a claim: the merchant no longer demands the amount. Withdrawing a withdrawn claim
    changes nothing. Raises NotFound, InvalidState."""
    work.require(Right.CHANGE_CLAIMS)
    await _end_by_merchant(work, claim_id, ClaimTransition.WITHDRAWN_BY_MERCHANT, Status.WITHDRAWN)


async def _end_by_merchant(
    work: Work, claim_id: int, transition: ClaimTransition, final_status: Status
) -> None:
    """Make the transition to the final status, unless the claim already has it. Raises NotFound,
    InvalidState."""
    claim = await lock_claim_of_merchant(work, claim_id)
    if claim.status is final_status:
        return
    await end_claim(work, claim, transition)
    await save_audit(
        work, _ACTIONS[final_status], f"claim:{claim_id}",
        before={"status": claim.status}, after={"status": final_status},
    )  # fmt: skip
