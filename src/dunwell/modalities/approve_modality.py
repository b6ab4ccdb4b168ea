"""The merchant takes a requested plan or deferment: the process stands still while it is kept."""

from uuid import UUID

from msgspec.structs import replace

from dunwell.claims.holds import HoldKind
from dunwell.claims.lift_hold import lift_hold
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.modalities.announce import announce
from dunwell.modalities.answering import lock_request
from dunwell.modalities.modality import Modality, ModalityState
from dunwell.modalities.request_modality import open_modality_hold
from dunwell.modalities.store import save_approval


async def approve_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Approving again changes nothing. Raises NotFound and InvalidState (see `answering`)."""
    requested, is_new = await lock_request(work, claim_id, modality_id, ModalityState.APPROVED)
    if not is_new:
        return requested
    approved = replace(requested, state=ModalityState.APPROVED, answered_at=work.now)
    await save_approval(work.tx, work.merchant_id, modality_id, work.now)
    # The new hold first: at no time is the claim free.
    await open_modality_hold(work, approved)
    await lift_hold(work, claim_id, HoldKind.MODALITY_REQUESTED)
    await announce(work, approved)
    await save_audit(work, "modality.approve", f"claim:{claim_id}", modalityId=str(modality_id))
    return approved
