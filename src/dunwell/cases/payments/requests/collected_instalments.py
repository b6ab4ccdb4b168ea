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

_GIVES, _TAKES = (MovementKind.PAID, MovementKind.CHARGEBACK_REVERSED), (MovementKind.CHARGED_BACK,)
_NO_REASON = "UNKNOWN"


async def record_collected_instalment(
    work: Work, request: StoredPaymentRequest, state: PaymentRequestState, reason: str | None
) -> None:
    """Record the result of a collection, if the request belongs to one. `state` is the state of the
    request after the provider's answer, and `reason` is why the money was not received or was taken
    back. The claim must be locked."""
    row = await find_collected_debit(work.tx, work.merchant_id, request.request_id)
    if row is None:
        return
    if state is PaymentRequestState.FAILED:
        await _watch_failed(work, request)
    movements = await list_request_movements(work.tx, work.merchant_id, request.request_id)
    following = decide_collection_state(row["state"], state, movements)
    if following == row["state"]:
        return
    today = local_date(work.now, work.merchant.configuration.timezone)
    payment_ids = [each.payment_id for each in movements if each.payment_id is not None]
    is_returned, is_cancelled = following == "RETURNED", following == "CANCELLED"
    return_reason = (reason or _NO_REASON) if is_returned else None
    await save_collected_debit(
        work.tx, work.merchant_id, request.request_id, state=following,
        return_reason=return_reason, cancel_reason=row["cancel_reason"] if is_cancelled else None,
        payment_id=payment_ids[0] if payment_ids else None, now=work.now,
    )  # fmt: skip
    if is_returned:
        await save_return_day(
            work.tx, work.merchant_id, row["modality_id"], row["instalment"], returned_on=today
        )
    elif is_cancelled:
        await _await_debtor(work, row["modality_id"], row["instalment"], max(today, row["due_on"]))
    await schedule_check_now(work.tx, work.merchant_id, request.claim_id, work.now)
    await save_audit(
        work, "debit.result", f"claim:{request.claim_id}",
        before={"state": row["state"]}, after={"state": following, "reason": return_reason},
        collectionId=str(request.request_id),
    )  # fmt: skip


def decide_collection_state(
    before: str, state: PaymentRequestState, movements: Sequence[PaymentMovement]
) -> str:
    """Return the `CollectionState` of a collection after the movements that are booked. `before` is
    its present state, and `state` is that of its request, which decides if no money was received. A
    refund does not change the state."""
    given = sum(each.kind in _GIVES for each in movements)
    taken = sum(each.kind in _TAKES for each in movements)
    if given:
        return "COLLECTED" if given > taken else "RETURNED"
    if state is PaymentRequestState.FAILED:
        return "RETURNED"
    return "CANCELLED" if state is PaymentRequestState.CANCELLED else before


async def _watch_failed(work: Work, request: StoredPaymentRequest) -> None:
    """Keep checking a debit that failed for as long as one that was collected, because the merchant
    can let the provider collect it again."""
    since = request.settled_at or work.real_now
    following = decide_next_return_check(since, None, work.real_now)
    key = (work.merchant_id, request.request_id)
    await save_next_checks(work.tx, {key: following})


async def _await_debtor(work: Work, modality_id: UUID, instalment: int, day: date) -> None:
    """Expect the debtor to pay an instalment that is no longer collected. Its days of grace begin
    after `day`."""
    await save_awaited_day(work.tx, work.merchant_id, modality_id, instalment, awaited_on=day)
