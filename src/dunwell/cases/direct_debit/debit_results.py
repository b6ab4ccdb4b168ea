"""Record what the bank says about a debit: collected, rejected, or returned later.

Statements and status reports call `record_debit_result` with the end-to-end id. A result that was
recorded before changes nothing, in whatever order the results arrive.
"""

from dataclasses import dataclass, replace
from datetime import date, datetime, time
from enum import StrEnum
from uuid import UUID
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.direct_debit.debit_values import (
    DIRECT_DEBIT,
    Collection,
    CollectionState,
    MandateEndReason,
    MandateState,
    is_final_reason,
    is_return_reason,
)
from dunwell.cases.direct_debit.files.deliver_files import record_answered_file
from dunwell.cases.direct_debit.mandates import close_mandate
from dunwell.cases.direct_debit.store import find_collection, find_mandate, save_result
from dunwell.cases.modalities.progress import local_date
from dunwell.cases.modalities.store import save_return_day, schedule_check_now
from dunwell.cases.payments.movements import PaymentMovement, decide_return_review
from dunwell.cases.payments.provider import MovementKind
from dunwell.cases.payments.record_payment import NewPayment, book_payment
from dunwell.cases.payments.reversals import MoneyChange, return_money
from dunwell.cases.payments.store import find_payment, insert_movement
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.store import LockedClaim
from dunwell.core.events.payloads import EventPaymentData, payment_completed


class DebitOutcome(StrEnum):
    COLLECTED = "COLLECTED"
    # Rejected before the money moved, or returned afterwards.
    RETURNED = "RETURNED"


@dataclass(frozen=True, slots=True)
class DebitResult:
    """What the bank says about a debit."""

    outcome: DebitOutcome
    # The day of the entry or of the report.
    booked_on: date
    # The amount of the debit without the bank's charges. None if the bank does not give it.
    amount_cents: int | None = None
    currency: str | None = None
    # The bank's code for the reason of a return, such as "AM04".
    reason_code: str | None = None


class RecordedResult(StrEnum):
    RECORDED = "RECORDED"
    # The result changed nothing, because it was recorded before.
    KNOWN = "KNOWN"
    # No debit has this end-to-end id.
    UNKNOWN_DEBIT = "UNKNOWN_DEBIT"
    # The code is not one for which banks return debits. A person has to look at the result.
    UNKNOWN_REASON = "UNKNOWN_REASON"
    # The amount or currency differs, or the bank does not have the debit. A person has to look at
    # the result.
    MISMATCH = "MISMATCH"


async def record_debit_result(
    work: Work, end_to_end_id: str, result: DebitResult
) -> RecordedResult:
    """Record a result: book the payment of the debit, or reverse it. Return whether the result was
    recorded, or why not."""
    work.require(Right.RECORD_MONEY)
    known = await find_collection(work.tx, work.merchant_id, end_to_end_id)
    if known is None:
        return RecordedResult.UNKNOWN_DEBIT
    claim = await lock_claim_of_merchant(work, known.claim_id)
    if known.state is CollectionState.RELEASED and known.file_id is not None:
        await record_answered_file(work, known.file_id)
    collection = await find_collection(work.tx, work.merchant_id, end_to_end_id)
    assert collection is not None, "the claim is locked, so the collection still exists"
    decision = decide_result(collection, result)
    if decision is not RecordedResult.RECORDED:
        return decision
    if result.outcome is DebitOutcome.COLLECTED:
        await _book(work, claim, collection, result)
    else:
        await _return(work, claim, collection, result)
    return RecordedResult.RECORDED


def decide_result(collection: Collection, result: DebitResult) -> RecordedResult:
    """Return RECORDED if the result still has to be recorded, otherwise why it is not recorded."""
    is_return = result.outcome is DebitOutcome.RETURNED
    if is_return and not is_return_reason(result.reason_code):
        return RecordedResult.UNKNOWN_REASON
    if result.currency not in (None, collection.currency) or result.amount_cents not in (
        None, collection.amount_cents,
    ):  # fmt: skip
        return RecordedResult.MISMATCH
    if collection.state is CollectionState.RETURNED:
        return RecordedResult.KNOWN
    if collection.state is CollectionState.COLLECTED:
        return RecordedResult.RECORDED if is_return else RecordedResult.KNOWN
    if collection.state is CollectionState.DELIVERED:
        return RecordedResult.RECORDED
    return RecordedResult.MISMATCH


async def _book(
    work: Work, claim: LockedClaim, collection: Collection, result: DebitResult
) -> None:
    mandate = await find_mandate(work.tx, work.merchant_id, collection.mandate_id)
    assert mandate is not None, "a collection has a mandate"
    paid_at = min(_start_of(work, result.booked_on), work.now)
    new = NewPayment(
        amount_cents=collection.amount_cents,
        currency=collection.currency,
        transaction_id=collection.end_to_end_id,
        provider_name=DIRECT_DEBIT,
        paid_at=paid_at,
        method=mandate.account_shown,
    )
    recorded = await book_payment(work, claim, new)
    payment_id = recorded.payment.payment_id
    await insert_movement(
        work.tx, work.merchant_id,
        _build_movement(
            work, collection, MovementKind.PAID, payment_id,
            booked_cents=collection.amount_cents,
        ),
    )  # fmt: skip
    await _save(work, collection, CollectionState.COLLECTED, payment_id, return_reason=None)
    await publish_event(
        work,
        claim.claim_id,
        lambda head: payment_completed(
            head,
            EventPaymentData(
                provider_name=DIRECT_DEBIT,
                amount_cents=collection.amount_cents,
                currency=collection.currency,
                # The collection takes the place of a payment that the debtor has started.
                request_id=collection.collection_id,
            ),
            collection.end_to_end_id,
        ),
    )


async def _return(
    work: Work, claim: LockedClaim, collection: Collection, result: DebitResult
) -> None:
    """Reverse the payment, if the debit was booked. The instalment counts as missed from the day on
    which the return becomes known, so the debtor has the usual days of grace."""
    assert result.reason_code is not None, "a return with an unknown reason is not recorded"
    today = local_date(work.now, work.merchant.configuration.timezone)
    await save_return_day(
        work.tx, work.merchant_id, collection.modality_id, collection.instalment, returned_on=today
    )
    if collection.payment_id is not None:
        payment = await find_payment(
            work.tx, work.merchant_id, collection.claim_id, collection.payment_id
        )
        assert payment is not None, "the collection refers to it"
        cents = min(collection.amount_cents, payment.amount_cents - payment.returned_cents)
        movement = _build_movement(
            work, collection, MovementKind.CHARGED_BACK, payment.payment_id, booked_cents=cents
        )
        status = claim.status
        if cents:
            change = MoneyChange(cents, MovementKind.CHARGED_BACK, collection.end_to_end_id)
            status, _ = await return_money(work, claim, payment, change)
        review_reason = decide_return_review(collection.amount_cents, cents, status)
        movement = replace(movement, review_reason=review_reason)
        await insert_movement(work.tx, work.merchant_id, movement)
    else:
        await schedule_check_now(work.tx, work.merchant_id, collection.claim_id, work.now)
    await _save(
        work,
        collection,
        CollectionState.RETURNED,
        collection.payment_id,
        return_reason=result.reason_code,
    )
    mandate = await find_mandate(work.tx, work.merchant_id, collection.mandate_id)
    if (
        mandate is not None
        and mandate.state is MandateState.ACTIVE
        and is_final_reason(result.reason_code)
    ):
        await close_mandate(work, mandate, MandateEndReason.RETURNED)


async def _save(
    work: Work, collection: Collection, state: CollectionState, payment_id: UUID | None,
    return_reason: str | None,
) -> None:  # fmt: skip
    is_saved = await save_result(
        work.tx, work.merchant_id, collection, state,
        return_reason=return_reason, payment_id=payment_id, now=work.now,
    )  # fmt: skip
    assert is_saved, "the claim is locked, so the state has not changed"
    await save_audit(
        work, "debit.result", f"claim:{collection.claim_id}",
        before={"state": collection.state}, after={"state": state, "reason": return_reason},
        collectionId=str(collection.collection_id),
    )  # fmt: skip


def _build_movement(
    work: Work, collection: Collection, kind: MovementKind, payment_id: UUID, booked_cents: int
) -> PaymentMovement:
    return PaymentMovement(
        record_id=work.ids.new(work.now),
        provider=DIRECT_DEBIT,
        movement_id=collection.end_to_end_id,
        kind=kind,
        claim_id=collection.claim_id,
        request_id=None,
        payment_id=payment_id,
        amount_cents=collection.amount_cents,
        currency=collection.currency,
        booked_cents=booked_cents,
        moved_at=work.now,
        recorded_at=work.now,
        review_reason=None,
        reviewed_at=None,
    )


def _start_of(work: Work, day: date) -> datetime:
    zone = ZoneInfo(work.merchant.configuration.timezone)
    return datetime.combine(day, time.min, zone)
