"""The debtor takes a plan or deferment back, asked for or running: the process goes on.

It raises no event, and the state stays (CONTRACT 5).
"""

from uuid import UUID

from msgspec.structs import replace

from dunwell.claims.store import lift_holds_of_claims
from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.modalities.answering import lock_modality
from dunwell.modalities.modality import HOLDS, EndReason, Modality
from dunwell.modalities.store import save_ends


async def withdraw_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Withdrawing again changes nothing. Raises NotFound, InvalidState (it ended otherwise)."""
    modality, _ = await lock_modality(work, claim_id, modality_id)
    if modality.ended_reason is EndReason.WITHDRAWN:
        return modality
    if modality.ended_reason is not None:
        raise InvalidState(
            "The payment modality has ended already.", state=str(modality.ended_reason)
        )
    await save_ends(work.tx, work.merchant_id, work.now, {modality_id: EndReason.WITHDRAWN})
    await lift_holds_of_claims(work.tx, work.merchant_id, [claim_id], HOLDS, work.now)
    await save_audit(work, "modality.withdraw", f"claim:{claim_id}", modalityId=str(modality_id))
    return replace(modality, ended_at=work.now, ended_reason=EndReason.WITHDRAWN)
