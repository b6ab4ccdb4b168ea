"""Book the money movements that a provider lists for a checkout, each once.

A movement that is stored is never booked again. A movement that cannot be booked is stored
nevertheless, with the reason why staff has to look at it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.cases.payments.movements import (
    RETURN_OF,
    PaymentMovement,
    ReviewReason,
    compute_shortfall,
    decide_return_review,
    order_movements,
)
from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.record_payment import NewPayment, book_payment
from dunwell.cases.payments.refunds.store import (
    RefundState,
    StoredRefund,
    find_refund,
    find_refund_of_movement,
    save_refund_state,
    undo_reductions,
)
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    list_movements_elsewhere,
    save_review_reason,
)
from dunwell.cases.payments.reversals import (
    MoneyChange,
    reopen_if_owed,
    restore_money,
    return_money,
)
from dunwell.cases.payments.store import (
    StoredPayment,
    find_payment,
    find_payment_by_transaction,
    insert_movement,
    link_payment,
    list_payment_movements,
    list_request_movements,
)
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim, lock_claim
from dunwell.core.events.payloads import EventPaymentData, payment_completed

_MAX_METHOD_LENGTH = 60
# The id and the kind of a movement.
_MovementKey: TypeAlias = tuple[str, str]

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RequestSettlement:
    """A locked claim and its locked payment request."""

    work: Work
    claim: LockedClaim
    request: StoredPaymentRequest


@dataclass(frozen=True, slots=True)
class BookedMovements:
    # True if the request is paid.
    is_paid: bool
    # True if one of the new movements is a refund.
    has_refund: bool


async def book_movements(
    settlement: RequestSettlement, listed: Sequence[MoneyMovement]
) -> BookedMovements:
    """Book the movements that the provider lists and that are not stored yet. Those that it lists
    differently than before are left to staff."""
    work, request = settlement.work, settlement.request
    known = await list_request_movements(work.tx, work.merchant_id, request.request_id)
    stored = {(each.movement_id, each.kind): each for each in known}
    elsewhere = await _list_stored_elsewhere(settlement, listed, stored)
    has_refund = False
    for movement in order_movements(listed):
        key = (movement.movement_id, movement.kind)
        if key in stored:
            await _report_change(settlement, stored[key], movement)
        elif key not in elsewhere and movement.amount_cents > 0:
            stored[key] = await _book(settlement, movement, known)
            known.append(stored[key])
            has_refund = has_refund or movement.kind is MovementKind.REFUNDED
    # A PAID movement that could not be booked completes the request once staff has reviewed it, so
    # that the debtor can pay the rest.
    is_paid = any(
        each.kind == MovementKind.PAID and (each.booked_cents > 0 or each.reviewed_at is not None)
        for each in known
    )
    return BookedMovements(is_paid, has_refund)


async def _list_stored_elsewhere(
    settlement: RequestSettlement, listed: Sequence[MoneyMovement], stored: Collection[_MovementKey]
) -> set[_MovementKey]:
    """Return the keys of the new movements that are stored for another request. The provider lists
    them for two checkouts by mistake. The money has moved once, so they are not booked again."""
    work, request = settlement.work, settlement.request
    keys = {(each.movement_id, str(each.kind)) for each in listed} - {*stored}
    if not keys:
        return set()
    elsewhere = await list_movements_elsewhere(
        work.tx, work.merchant_id, request, [movement_id for movement_id, _ in keys]
    )
    for movement_id, kind in elsewhere & keys:
        log.error(
            "payment movement belongs to another request", merchant_id=work.merchant_id,
            payment_request_id=str(request.request_id), provider=request.provider,
            movement_id=movement_id, type=kind,
        )  # fmt: skip
    return elsewhere


async def _report_change(
    settlement: RequestSettlement, stored: PaymentMovement, listed: MoneyMovement
) -> None:
    """Leave a stored movement to staff, once, if the provider lists it with another amount or
    currency now. What is booked stays."""
    is_same = (stored.amount_cents, stored.currency) == (listed.amount_cents, listed.currency)
    if is_same or stored.review_reason is ReviewReason.OTHER_AMOUNT:
        return
    work, changed = settlement.work, replace(stored, review_reason=ReviewReason.OTHER_AMOUNT)
    await save_review_reason(work.tx, work.merchant_id, stored.record_id, ReviewReason.OTHER_AMOUNT)
    await _report_for_review(settlement, changed)


async def _book(
    settlement: RequestSettlement, movement: MoneyMovement, known: Sequence[PaymentMovement]
) -> PaymentMovement:
    """Book one movement and store it. An earlier movement may have changed the claim's status, so
    the claim is read again."""
    work, request = settlement.work, settlement.request
    claim = await lock_claim(work.tx, work.merchant_id, request.claim_id)
    assert claim is not None, "the caller has locked the claim"
    is_bookable = movement.currency == claim.currency
    refund = await _save_refund_result(settlement, movement, is_bookable=is_bookable)
    if not is_bookable:
        booked = _Booking(None, 0, ReviewReason.OTHER_CURRENCY)
    elif movement.kind is MovementKind.PAID:
        booked = await _book_payment(settlement, claim, movement, is_first=not known)
    else:
        booked = await _book_return(settlement, claim, movement, known=known, refund=refund)
    stored = PaymentMovement(
        record_id=work.ids.new(work.now),
        provider=request.provider,
        movement_id=movement.movement_id,
        kind=movement.kind,
        claim_id=request.claim_id,
        request_id=request.request_id,
        payment_id=None if booked.payment is None else booked.payment.payment_id,
        amount_cents=movement.amount_cents,
        currency=movement.currency,
        booked_cents=booked.cents,
        moved_at=movement.moved_at,
        recorded_at=work.now,
        review_reason=booked.review_reason,
        reviewed_at=None,
    )
    await insert_movement(work.tx, work.merchant_id, stored)
    if booked.review_reason is not None:
        await _report_for_review(settlement, stored)
    return stored


@dataclass(frozen=True, slots=True)
class _Booking:
    """The payment that a movement made or changed, and by how much."""

    payment: StoredPayment | None
    cents: int
    review_reason: ReviewReason | None = None


async def _book_payment(
    settlement: RequestSettlement, claim: LockedClaim, movement: MoneyMovement, *, is_first: bool
) -> _Booking:
    """Book money that was received. If the merchant has recorded the same transaction, no second
    payment is booked: the recorded one is used, even if it has completed an announced transfer. If
    the recorded payment has another amount or was reversed, staff has to look at the movement.

    `is_first` is true for the first movement of the request. Its payment completes the request.
    """
    work, request = settlement.work, settlement.request
    payment = await find_payment_by_transaction(
        work.tx, work.merchant_id, request.claim_id, movement.movement_id
    )
    request_id = request.request_id if is_first else None
    new = _build_payment(work, request, movement)
    if payment is not None and await _is_of_another_account(work, payment):
        payment = None
        new = replace(new, transaction_id=f"{request.provider}:{movement.movement_id}")
    if payment is None:
        payment = (await book_payment(work, claim, new, request_id)).payment
    elif payment.amount_cents != movement.amount_cents or payment.reversed_at is not None:
        return _Booking(None, 0, ReviewReason.OTHER_AMOUNT)
    elif request_id is not None:
        await link_payment(work.tx, work.merchant_id, payment.payment_id, request_id)
    if is_first:
        completed = EventPaymentData(
            request.provider_name, movement.amount_cents, movement.currency, request.request_id
        )
        await publish_event(
            work, request.claim_id,
            lambda head: payment_completed(head, completed, new.transaction_id),
        )  # fmt: skip
    return _Booking(payment, movement.amount_cents)


async def _is_of_another_account(work: Work, payment: StoredPayment) -> bool:
    """Return whether another account at a provider listed this payment, under the same id by
    coincidence. The request's own account did not list it, because its movement is not stored."""
    movements = await list_payment_movements(work.tx, work.merchant_id, payment)
    return any(
        each.kind == MovementKind.PAID and each.payment_id == payment.payment_id
        for each in movements
    )


def _build_payment(work: Work, request: StoredPaymentRequest, paid: MoneyMovement) -> NewPayment:
    """Return the payment to book. A sandbox merchant's payment gets the sandbox time, and a
    provider's clock that is ahead is corrected."""
    return NewPayment(
        amount_cents=paid.amount_cents,
        currency=paid.currency,
        transaction_id=paid.movement_id,
        provider_name=request.provider_name,
        paid_at=work.now if work.merchant.is_sandbox else min(paid.moved_at, work.now),
        item_ids=request.item_ids,
        method=None if paid.method is None else render_line(paid.method)[:_MAX_METHOD_LENGTH],
    )


async def _book_return(
    settlement: RequestSettlement,
    claim: LockedClaim,
    movement: MoneyMovement,
    *,
    known: Sequence[PaymentMovement],
    refund: StoredRefund | None,
) -> _Booking:
    """Book money that went back to the debtor, or that came back to the merchant after that. What
    came back is used first for the cents that went back and could not be booked."""
    work = settlement.work
    # None if the money goes back to the debtor.
    origin = RETURN_OF.get(movement.kind)
    open_cents = movement.amount_cents
    if origin is not None:
        open_cents -= compute_shortfall(known, claim.currency)
    for source in _list_sources(movement, known, refund):
        assert source.payment_id is not None, "the movement was booked"
        payment = await find_payment(work.tx, work.merchant_id, claim.claim_id, source.payment_id)
        assert payment is not None, "a booked movement has a payment"
        left_cents = payment.amount_cents - payment.returned_cents
        cents = min(open_cents, left_cents if origin is None else payment.returned_cents)
        if cents <= 0:
            continue
        change = MoneyChange(cents, movement.kind, movement.movement_id, refund)
        if origin is None:
            status, _ = await return_money(work, claim, payment, change)
        else:
            status = await _restore(settlement, claim, payment, change)
        return _Booking(payment, cents, _decide_review(movement, cents, status, refund))
    if origin is not None and refund is not None:
        # All of the money covers what a chargeback took beyond the payment. What the merchant gave
        # up with the refund is owed again nevertheless.
        await undo_reductions(work.tx, work.merchant_id, refund.refund_id)
        await reopen_if_owed(work, claim)
    return _Booking(None, 0, ReviewReason.NOTHING_TO_RETURN)


def _list_sources(
    movement: MoneyMovement, known: Sequence[PaymentMovement], refund: StoredRefund | None
) -> list[PaymentMovement]:
    """Return the movements whose payments a return may change, in the order in which they are
    tried. For a refund that was ordered here, the payment for which it was ordered comes first. For
    money that came back, the payment from which it was taken comes first; the list is empty if that
    payment is unknown."""
    paid = [each for each in known if each.kind == MovementKind.PAID]
    if refund is not None:
        paid.sort(key=lambda each: each.payment_id != refund.payment_id)
    origin = RETURN_OF.get(movement.kind)
    if origin is not None:
        taken = [
            each
            for each in known
            if each.kind == origin and each.movement_id == movement.movement_id
        ]
        paid = [*taken, *paid] if taken else []
    return [each for each in paid if each.payment_id is not None]


def _decide_review(
    movement: MoneyMovement, cents: int, status: Status, refund: StoredRefund | None
) -> ReviewReason | None:
    """Return why staff has to look at a movement of which `cents` were booked, or None. `status` is
    the claim's."""
    is_ordered_here = movement.kind is MovementKind.REFUNDED and movement.refund_key is not None
    if is_ordered_here and refund is None and cents == movement.amount_cents:
        return ReviewReason.UNKNOWN_ORDER
    is_failed = movement.kind is MovementKind.REFUND_FAILED
    if is_failed and cents == movement.amount_cents:
        return ReviewReason.REFUND_FAILED
    return decide_return_review(movement.amount_cents, cents, status)


async def _save_refund_result(
    settlement: RequestSettlement, movement: MoneyMovement, *, is_bookable: bool
) -> StoredRefund | None:
    """Save the result of the refund that was ordered here, even if nothing is left to book.
    `is_bookable` is false if the currency of the movement is not the claim's. Return None if the
    movement belongs to no such refund."""
    work, request = settlement.work, settlement.request
    if movement.kind is MovementKind.REFUNDED:
        state = RefundState.BOOKED if is_bookable else RefundState.NOT_BOOKED
        refund = await find_refund_of_movement(
            work.tx, work.merchant_id, claim_id=request.claim_id, provider=request.provider,
            request_id=request.request_id, movement=movement,
        )  # fmt: skip
    elif movement.kind is MovementKind.REFUND_FAILED:
        state = RefundState.FAILED
        refund = await find_refund(
            work.tx, work.merchant_id, request.provider, movement.movement_id
        )
    else:
        return None
    if refund is not None:
        await save_refund_state(
            work.tx,
            work.merchant_id,
            refund.refund_id,
            state,
            provider_refund_id=movement.movement_id,
        )
    return refund


async def _restore(
    settlement: RequestSettlement, claim: LockedClaim, payment: StoredPayment, change: MoneyChange
) -> Status:
    """Add the money to the payment again. If the merchant had given up a part of the claim with the
    refund that failed, that part is owed again, and this money pays it."""
    work = settlement.work
    if change.refund is not None:
        await undo_reductions(work.tx, work.merchant_id, change.refund.refund_id)
    status, _ = await restore_money(work, claim, payment, change)
    return status


async def _report_for_review(settlement: RequestSettlement, movement: PaymentMovement) -> None:
    request = settlement.request
    log.error(
        "payment movement needs review",
        merchant_id=settlement.work.merchant_id,
        claim_id=request.claim_id,
        payment_request_id=str(request.request_id),
        provider=request.provider,
        type=movement.kind,
        reason=movement.review_reason,
    )
    await save_audit(
        settlement.work, "paymentRequest.mismatch", f"claim:{request.claim_id}",
        paymentRequestId=str(request.request_id),
    )  # fmt: skip
