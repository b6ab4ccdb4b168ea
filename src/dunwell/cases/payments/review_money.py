"""What staff has to review: movements of money that could not be booked as they are, and refunds
that are not made. Staff marks each as reviewed. One that staff has dealt with in another way, by
another refund or a reversal of the payment, is marked at once."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.list_movements import (
    REFUNDS,
    ListedMovement,
    RefundFilter,
    load_movements,
)
from dunwell.cases.payments.movements import PaymentMovement, ReviewReason
from dunwell.cases.payments.refunds.store import (
    ListedRefund,
    RefundRefusal,
    RefundState,
    StoredRefund,
    list_claim_refunds,
    load_refunds,
    save_refund_reviewed,
)
from dunwell.cases.payments.requests.store import make_requests_due
from dunwell.cases.payments.store import (
    StoredPayment,
    list_payment_movements,
    save_movement_reviewed,
)
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import InvalidState, NotFound

# Refunds by bank transfer take some days. One that takes longer waits, for example because the
# balance of the account at the provider is too low.
REFUND_OVERDUE_AFTER = timedelta(days=7)


class RefundReview(StrEnum):
    """Why staff has to review a refund."""

    PROVIDER = "PROVIDER"
    NOTHING_LEFT = "NOTHING_LEFT"
    ACCOUNT_CLOSED = "ACCOUNT_CLOSED"
    # The provider has neither made nor refused the refund within `REFUND_OVERDUE_AFTER`.
    OVERDUE = "OVERDUE"


def decide_refund_review(refund: StoredRefund, now: datetime) -> RefundReview | None:
    """Return why staff has to review a refund, or None. `now` is real time."""
    if refund.reviewed_at is not None:
        return None
    if refund.state is RefundState.REFUSED:
        return RefundReview(refund.refusal or RefundRefusal.PROVIDER)
    is_pending = refund.state in (RefundState.CREATED, RefundState.ACCEPTED)
    is_overdue = refund.created_at < now - REFUND_OVERDUE_AFTER
    return RefundReview.OVERDUE if is_pending and is_overdue else None


def build_refund_review_filter(now: datetime) -> RefundFilter:
    """Return the filter that selects the refunds for which `decide_refund_review` returns a reason.
    `now` is real time."""
    return RefundFilter(to_review=now - REFUND_OVERDUE_AFTER)


async def list_refunds_to_review(work: Work, *, limit: int) -> ListPage[ListedRefund]:
    """List the refunds that staff has to review, the first ordered first."""
    work.require(Right.READ_CLAIMS)
    wanted = build_refund_review_filter(work.real_now)
    return await list_page(
        work.scope(), REFUNDS, wanted, limit=limit, cursor=None, oldest_first=True
    )


async def review_movement(work: Work, record_id: UUID) -> ListedMovement:
    """Record that staff has reviewed a movement, and return it. A movement that was reviewed before
    stays unchanged. Raises NotFound, and InvalidState if the movement needs no review."""
    work.require(Right.RECORD_MONEY)
    listed = (await load_movements(work.tx, work.merchant_id, [record_id])).get(record_id)
    if listed is None:
        raise NotFound(f"There is no movement {record_id}.")
    if listed.movement.review_reason is None:
        raise InvalidState("This movement needs no review.", state="NO_REVIEW")
    await _save_movement_reviewed(work, listed.movement)
    return (await load_movements(work.tx, work.merchant_id, [record_id]))[record_id]


async def review_refund(work: Work, refund_id: UUID) -> None:
    """Record that staff has reviewed a refund that is not made. A refund that needs no review, or
    none any more, stays unchanged. Raises NotFound."""
    work.require(Right.RECORD_MONEY)
    listed = (await load_refunds(work.tx, work.merchant_id, [refund_id])).get(refund_id)
    if listed is None:
        raise NotFound(f"There is no refund {refund_id}.")
    if decide_refund_review(listed.refund, work.real_now) is not None:
        await _save_refund_reviewed(work, listed.refund)


async def finish_refund_reviews(
    work: Work, payment: StoredPayment, cents: int | None = None
) -> None:
    """Mark refunds of a payment that did not reach the debtor as reviewed, because staff refunds
    `cents` of the payment again, or has reversed all that is left of it (None).

    Refused refunds come first, then failed ones, the oldest first. A refund that is larger than
    what the earlier ones leave of `cents` still needs its review. The claim must be locked.
    """
    refunds = await list_claim_refunds(work.tx, work.merchant_id, payment.claim_id)
    movements = await list_payment_movements(work.tx, work.merchant_id, payment)
    left = cents
    for each in _list_unfinished(payment, refunds, movements):
        if left is not None:
            if each.amount_cents > left:
                continue
            left -= each.amount_cents
        if isinstance(each, StoredRefund):
            await _save_refund_reviewed(work, each)
        else:
            await _save_movement_reviewed(work, each)


def _list_unfinished(
    payment: StoredPayment, refunds: list[StoredRefund], movements: list[PaymentMovement]
) -> Iterator[StoredRefund | PaymentMovement]:
    """Yield the refused refunds of the payment, then its failed refunds, that are not reviewed."""
    for refund in refunds:
        is_refused = refund.state is RefundState.REFUSED and refund.reviewed_at is None
        if is_refused and refund.payment_id == payment.payment_id:
            yield refund
    for movement in movements:
        has_failed = movement.review_reason is ReviewReason.REFUND_FAILED
        if has_failed and movement.reviewed_at is None:
            yield movement


async def _save_movement_reviewed(work: Work, movement: PaymentMovement) -> None:
    is_changed = await save_movement_reviewed(
        work.tx, work.merchant_id, movement.record_id, work.now
    )
    if not is_changed:
        return
    await save_audit(
        work, "payment.reviewMovement", f"claim:{movement.claim_id}",
        before={"reviewedAt": None}, after={"reviewedAt": work.now.isoformat()},
        movementId=str(movement.record_id), kind=movement.kind, reason=movement.review_reason,
    )  # fmt: skip
    if movement.request_id is not None:
        # The movement's payment request can end now.
        requests = [(work.merchant_id, movement.request_id)]
        await make_requests_due(work.tx, requests, work.real_now)


async def _save_refund_reviewed(work: Work, refund: StoredRefund) -> None:
    now = work.real_now
    if await save_refund_reviewed(work.tx, work.merchant_id, refund.refund_id, now):
        await save_audit(
            work, "payment.reviewRefund", f"claim:{refund.claim_id}",
            before={"reviewedAt": None}, after={"reviewedAt": now.isoformat()},
            refundId=str(refund.refund_id), paymentId=str(refund.payment_id), state=refund.state,
        )  # fmt: skip
