"""Withdraws a claim: its merchant does not ask for the money any more."""

from dunwell.claims.states import Happening, Status
from dunwell.escalation.end_claim import end_by_merchant
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit


async def withdraw_claim(work: Work, claim_id: int) -> None:
    """Withdrawing what is withdrawn changes nothing. Raises NotFound, InvalidState."""
    happening = Happening.WITHDRAWN_BY_MERCHANT
    if await end_by_merchant(work, claim_id, happening, Status.WITHDRAWN):
        await save_audit(work, "claim.withdraw", f"claim:{claim_id}")
