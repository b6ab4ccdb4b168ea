"""What becomes of a plan or deferment that was asked for: the merchant takes it, and the process
stands still while it is kept, or does not take it; or the debtor takes it back.

Taking it back raises no event, and the state stays (CONTRACT 5).
"""

from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, keep_changed, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.confirmation import tell_modality
from dunwell.cases.modalities.modality import (
    HOLDS,
    EndReason,
    Modality,
    ModalityState,
    check_answer,
)
from dunwell.cases.modalities.progress import decide_course, local_date
from dunwell.cases.modalities.request_modality import announce, open_modality_hold
from dunwell.cases.modalities.store import load_modality, save_approval, save_ends, save_rejection
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.claim_holds import lift_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim, lift_holds_of_claims
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.text.lazy_text import LazyText
from dunwell.platform.text.texts import check_printable


async def approve_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Approving again changes nothing. Raises NotFound and InvalidState (see `answering`)."""
    work.need(Right.ANSWER)
    claim, requested, is_new = await _lock_request(
        work, claim_id, modality_id, ModalityState.APPROVED
    )
    if not is_new:
        return requested
    approved = replace(requested, state=ModalityState.APPROVED, answered_at=work.now)
    await save_approval(work.tx, work.merchant_id, modality_id, work.now)
    # The new hold first: at no time is the claim free.
    await open_modality_hold(work, approved)
    await lift_hold(work, claim_id, HoldKind.MODALITY_REQUESTED)
    await announce(work, approved)
    await tell_modality(work, claim, approved)
    await _save_answer(work, "modality.approve", requested, approved)
    return approved


async def reject_modality(
    work: Work, claim_id: int, modality_id: UUID, *, reason: str | None = None
) -> Modality:
    """`reason` is for the debtor. Rejecting again changes nothing, another reason included.

    Raises ValidationError (control characters), NotFound and InvalidState (see `answering`).
    """
    work.need(Right.ANSWER)
    check_printable(reason, "reason")
    claim, requested, is_new = await _lock_request(
        work, claim_id, modality_id, ModalityState.REJECTED
    )
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
    await save_rejection(
        work.tx, work.merchant_id, modality_id=modality_id, now=work.now, reason=reason
    )
    await lift_hold(work, claim_id, HoldKind.MODALITY_REQUESTED)
    await announce(work, rejected)
    await tell_modality(work, claim, rejected)
    await _save_answer(work, "modality.reject", requested, rejected)
    return rejected


async def withdraw_modality(work: Work, claim_id: int, modality_id: UUID) -> Modality:
    """Withdrawing again changes nothing. Raises NotFound, InvalidState (it ended otherwise)."""
    work.need(Right.CHANGE_CLAIMS)
    _, modality = await _lock(work, claim_id, modality_id)
    if modality.ended_reason is EndReason.WITHDRAWN:
        return modality
    if modality.ended_reason is not None:
        raise InvalidState(
            LazyText(
                "The payment modality has ended already.",
                modality_end=modality.ended_reason,
            ),
            state=str(modality.ended_reason),
        )
    await save_ends(work.tx, work.merchant_id, work.now, {modality_id: EndReason.WITHDRAWN})
    await lift_holds_of_claims(
        work.tx, work.merchant_id, claim_ids=[claim_id], kinds=HOLDS, now=work.now
    )
    withdrawn = replace(modality, ended_at=work.now, ended_reason=EndReason.WITHDRAWN)
    await _save_answer(work, "modality.withdraw", modality, withdrawn)
    return withdrawn


async def _save_answer(work: Work, action: str, before: Modality, after: Modality) -> None:
    was, now = keep_changed(_list_values(before), _list_values(after))
    await save_audit(
        work, action, f"claim:{after.claim_id}",
        before=was, after=now, modalityId=str(after.modality_id),
    )  # fmt: skip


def _list_values(modality: Modality) -> dict[str, object]:
    """The reason is for the debtor, in the merchant's own words."""
    reason = None if modality.reason is None else MASKED
    return {"state": modality.state, "endedReason": modality.ended_reason, "reason": reason}


async def _lock(work: Work, claim_id: int, modality_id: UUID) -> tuple[LockedClaim, Modality]:
    """The locked claim and the modality. Raises NotFound."""
    claim = await access_claim(work, claim_id)
    modality = await load_modality(work.tx, work.merchant_id, claim_id, modality_id)
    if modality is None:
        raise NotFound(f"There is no payment modality {modality_id}.")
    return claim, modality


async def _lock_request(
    work: Work, claim_id: int, modality_id: UUID, answer: ModalityState
) -> tuple[LockedClaim, Modality, bool]:
    """The locked claim, the modality, and whether the answer changes it.

    Raises NotFound, and InvalidState where it cannot be given: it has ended, also when nobody has
    noted that yet, or the other answer was given.
    """
    claim, modality = await _lock(work, claim_id, modality_id)
    if not check_answer(modality, answer):
        return claim, modality, False
    today = local_date(work.now, work.merchant.configuration.timezone)
    course = decide_course(modality, claim.status, today)
    if isinstance(course, EndReason):
        raise InvalidState(_say_ended(course, claim.status), state=str(course))
    return claim, modality, True


def _say_ended(reason: EndReason, status: Status) -> LazyText:
    if reason is EndReason.PASSED:
        return LazyText("The first date that was asked for is over, and with it the request.")
    return LazyText(
        "There is nothing left to answer: the claim is %(claim_status)s.", claim_status=status
    )
