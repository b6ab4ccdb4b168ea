"""The merchant does not take a requested plan or deferment: the process goes on."""

from uuid import UUID

from msgspec.structs import replace

from dunwell.claims.holds import HoldKind
from dunwell.claims.lift_hold import lift_hold
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.modalities.announce import announce
from dunwell.modalities.answering import lock_request
from dunwell.modalities.modality import EndReason, Modality, ModalityState
from dunwell.modalities.store import save_rejection


async def reject_modality(
    work: Work, claim_id: int, modality_id: UUID, *, reason: str | None = None
) -> Modality:
    """`reason` is for the debtor. Rejecting again changes nothing, another reason included.

    Raises NotFound and InvalidState (see `answering`).
    """
    requested, is_new = await lock_request(work, claim_id, modality_id, ModalityState.REJECTED)
    if not is_new:
        return requested
    rejected = replace(
        requested,
        state=ModalityState.REJECTED,
        answered_at=work.now,
        reason=reason,
        ended_at=work.now,
        ended_reason=EndReason.REJECTED,
    )
    await save_rejection(work.tx, work.merchant_id, modality_id, work.now, reason)
    await lift_hold(work, claim_id, HoldKind.MODALITY_REQUESTED)
    await announce(work, rejected)
    await save_audit(work, "modality.reject", f"claim:{claim_id}", modalityId=str(modality_id))
    return rejected
