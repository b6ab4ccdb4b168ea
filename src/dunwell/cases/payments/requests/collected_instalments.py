"""Record the result of an instalment that a provider collects, from the movements of its request.

The payment request has the same id as the collection (`Collection.collection_id`). The collection
is read and changed in the transaction that books the movements, so that an instalment counts as
missed as soon as its money is gone.
"""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import save_awaited_day, save_return_day, schedule_check_now
from dunwell.cases.payments.movements import PaymentMovement
from dunwell.cases.payments.provider import MovementKind
from dunwell.cases.payments.requests.request_states import (
    PaymentRequestState,
    decide_next_return_check,
)
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    find_collected_debit,
    save_collected_debit,
    save_next_checks,
)
from dunwell.cases.payments.store import list_request_movements

_COLLECTING_KINDS = (MovementKind.PAID, MovementKind.CHARGEBACK_REVERSED)
_RETURNING_KINDS = (MovementKind.CHARGED_BACK,)
_NO_REASON = "UNKNOWN"


async def record_collected_instalment(
    work: Work, request: StoredPaymentRequest, state: PaymentRequestState, reason: str | None
) -> None:
    """Record the result of a collection, if the request belongs to one. `state` is the state of the
    request after the provider's answer, and `reason` is why the money was not received or was taken
    back. The claim must be locked."""
    debit = await find_collected_debit(work.tx, work.merchant_id, request.request_id)
    if debit is None:
        return
    if state is PaymentRequestState.FAILED:
        await _keep_checking_failed(work, request)
    movements = await list_request_movements(work.tx, work.merchant_id, request.request_id)
    state_after = decide_collection_state(debit["state"], state, movements)
    if state_after == debit["state"]:
        return
    today = local_date(work.now, work.merchant.configuration.timezone)
    payment_ids = [each.payment_id for each in movements if each.payment_id is not None]
    is_returned, is_cancelled = state_after == "RETURNED", state_after == "CANCELLED"
    return_reason = (reason or _NO_REASON) if is_returned else None
    await save_collected_debit(
        work.tx, work.merchant_id, request.request_id, state=state_after,
        return_reason=return_reason, cancel_reason=debit["cancel_reason"] if is_cancelled else None,
        payment_id=payment_ids[0] if payment_ids else None, now=work.now,
    )  # fmt: skip
    if is_returned:
        await save_return_day(
            work.tx, work.merchant_id, debit["modality_id"], debit["instalment"], returned_on=today
        )
    elif is_cancelled:
        day = max(today, debit["due_on"])
        await _expect_payment(work, debit["modality_id"], debit["instalment"], day)
    await schedule_check_now(work.tx, work.merchant_id, request.claim_id, work.now)
    await save_audit(
        work, "debit.result", f"claim:{request.claim_id}",
        before={"state": debit["state"]}, after={"state": state_after, "reason": return_reason},
        collectionId=str(request.request_id),
    )  # fmt: skip


def decide_collection_state(
    before: str, state: PaymentRequestState, movements: Sequence[PaymentMovement]
) -> str:
    """Return the `CollectionState` of a collection after the movements that are booked. `before` is
    its present state, and `state` is that of its request, which decides if no money was received. A
    refund does not change the state."""
    collected = sum(each.kind in _COLLECTING_KINDS for each in movements)
    returned = sum(each.kind in _RETURNING_KINDS for each in movements)
    if collected:
        return "COLLECTED" if collected > returned else "RETURNED"
    if state is PaymentRequestState.FAILED:
        return "RETURNED"
    return "CANCELLED" if state is PaymentRequestState.CANCELLED else before


async def _keep_checking_failed(work: Work, request: StoredPaymentRequest) -> None:
    """Keep checking a debit that failed for as long as one that was collected, because the merchant
    can let the provider collect it again."""
    since = request.settled_at or work.real_now
    next_check_at = decide_next_return_check(since, None, work.real_now)
    key = (work.merchant_id, request.request_id)
    await save_next_checks(work.tx, {key: next_check_at})


async def _expect_payment(work: Work, modality_id: UUID, instalment: int, day: date) -> None:
    """Expect the debtor to pay an instalment that is no longer collected. Its days of grace begin
    after `day`."""
    await save_awaited_day(work.tx, work.merchant_id, modality_id, instalment, awaited_on=day)
