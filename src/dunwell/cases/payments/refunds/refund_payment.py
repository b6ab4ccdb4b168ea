"""Refund payments through the provider that received them.

An order is stored first, with its own key, and sent to the provider afterwards by the worker
(`send_refunds`). The refund changes the claim only when the provider lists it as a movement
(`book_movements`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.provider import (
    MoneyMovement,
    MovementKind,
)
from dunwell.cases.payments.record_payment import load_balance
from dunwell.cases.payments.refunds.store import (
    RefundEffect,
    RefundState,
    StoredRefund,
    insert_refund,
    list_claim_refunds,
    list_refunds_of_claims,
)
from dunwell.cases.payments.reversals import compute_balance_after_return
from dunwell.cases.payments.review_money import finish_refund_reviews
from dunwell.cases.payments.store import StoredPayment, find_payment, list_payment_movements
from dunwell.core.claims.access import check_claim_exists, lock_claim_of_merchant
from dunwell.core.claims.balance import Balance
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import load_claim
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.texts import is_line
from dunwell.platform.text.translation import LazyText

# Refunds that the provider has not booked or refused.
_PENDING = frozenset({RefundState.CREATED, RefundState.ACCEPTED})


@dataclass(frozen=True, slots=True)
class RefundOrder:
    # None means the surplus, or all that is left of the payment if there is no surplus.
    amount_cents: int | None = None
    # A line of at most 255 characters for staff.
    reason: str | None = None
    # Required for more than the surplus.
    effect: RefundEffect | None = None


async def order_refund(
    work: Work, claim_id: int, payment_id: UUID, order: RefundOrder
) -> StoredRefund:
    """Order a refund of a payment. The worker sends it to the provider.

    Raises NotFound, InvalidState if the payment was not made through a provider or nothing is left
    of it, and ValidationError with the codes TOO_LARGE, REQUIRED (the effect), NOT_ALLOWED (SURPLUS
    for more than the surplus) and WRONG_FORMAT (the reason).
    """
    work.require(Right.RECORD_MONEY)
    _check_reason(order.reason)
    await lock_claim_of_merchant(work, claim_id)
    payment = await find_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if payment is None:
        raise NotFound(f"There is no payment {payment_id}.")
    movement = await get_paid_movement(work, payment)
    left_cents, surplus_cents = await _load_refundable(work, payment)
    cents, effect = decide_refund(order, left_cents, surplus_cents)
    refund = StoredRefund(
        refund_id=work.ids.new(work.real_now),
        claim_id=claim_id,
        payment_id=payment_id,
        request_id=movement.request_id,
        amount_cents=cents,
        currency=payment.currency,
        effect=effect,
        reason=order.reason,
        state=RefundState.CREATED,
        provider=movement.provider,
        provider_refund_id=None,
        actor_kind=work.actor.kind,
        actor_id=work.actor.actor_id,
        created_at=work.real_now,
    )
    await finish_refund_reviews(work, payment, cents)
    await insert_refund(work.tx, work.merchant_id, refund, work.real_now)
    await save_audit(
        work, "payment.refund", f"claim:{claim_id}",
        after={"amount": cents, "currency": payment.currency, "effect": effect},
        paymentId=str(payment_id), refundId=str(refund.refund_id),
        hasReason=order.reason is not None,
    )  # fmt: skip
    return refund


async def _load_refundable(work: Work, payment: StoredPayment) -> tuple[int, int]:
    """Return the cents that are left of the payment, and the claim's surplus in cents, both without
    what pending refunds will take."""
    pending = await _list_pending_refunds(work, payment.claim_id)
    balance = await load_balance(work, payment.claim_id)
    left_cents = payment.amount_cents - payment.returned_cents
    left_cents -= sum(
        each.amount_cents for each in pending if each.payment_id == payment.payment_id
    )
    surplus_cents = balance.overpaid_cents - sum(
        each.amount_cents for each in pending if each.effect is RefundEffect.SURPLUS
    )
    return left_cents, max(0, surplus_cents)


async def _list_pending_refunds(work: Work, claim_id: int) -> list[StoredRefund]:
    refunds = await list_claim_refunds(work.tx, work.merchant_id, claim_id)
    return [each for each in refunds if each.state in _PENDING]


@dataclass(frozen=True, slots=True)
class RefundableAmounts:
    """What can be refunded of a payment, without what pending refunds will take."""

    left_cents: int
    # The part of `left_cents` that was paid beyond what is owed.
    surplus_cents: int


async def find_refundable_amounts(
    work: Work, claim_id: int, payment_id: UUID
) -> RefundableAmounts | None:
    """Return what can be refunded of the payment, or None if it was not made through a provider.
    Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    payment = await find_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if payment is None:
        raise NotFound(f"There is no payment {payment_id}.")
    if await _find_paid_movement(work, payment) is None:
        return None
    left_cents, surplus_cents = await _load_refundable(work, payment)
    return RefundableAmounts(left_cents, min(left_cents, surplus_cents))


@dataclass(frozen=True, slots=True)
class RefundPreview:
    """The balance before a refund, and after it and all pending refunds. `reopens` is True if a
    collected claim would become active again."""

    amount_cents: int
    effect: RefundEffect
    before: Balance
    after: Balance
    reopens: bool


async def preview_refund(
    work: Work, claim_id: int, payment_id: UUID, order: RefundOrder
) -> RefundPreview:
    """Return what the refund would change. Raises what `order_refund` raises."""
    work.require(Right.READ_CLAIMS)
    _check_reason(order.reason)
    async with snapshot(work.tx):
        claim = await load_claim(work.tx, work.merchant_id, claim_id)
        payment = await find_payment(work.tx, work.merchant_id, claim_id, payment_id)
        if claim is None or payment is None:
            raise NotFound(f"There is no payment {payment_id}.")
        await get_paid_movement(work, payment)
        cents, effect = decide_refund(order, *await _load_refundable(work, payment))
        before = after = await load_balance(work, claim_id)
        pending = await _list_pending_refunds(work, claim_id)
    for each in pending:
        after = compute_balance_after_refund(after, each.amount_cents, each.effect)
    after = compute_balance_after_refund(after, cents, effect)
    reopens = claim.status is Status.COLLECTED and after.outstanding_cents > 0
    return RefundPreview(cents, effect, before=before, after=after, reopens=reopens)


def compute_balance_after_refund(balance: Balance, cents: int, effect: RefundEffect) -> Balance:
    """Return the balance after a refund of `cents`. The overpaid amount is reduced first."""
    after = compute_balance_after_return(balance, cents)
    if effect is not RefundEffect.REDUCE_CLAIM:
        return after
    given_up_cents = after.outstanding_cents - balance.outstanding_cents
    return Balance(
        balance.total_cents - given_up_cents, balance.outstanding_cents, after.overpaid_cents
    )


async def list_pending_refunds(work: Work, claim_ids: Sequence[int]) -> Sequence[StoredRefund]:
    """Return the refunds of these claims that the provider has not booked or refused."""
    work.require(Right.READ_CLAIMS)
    refunds = await list_refunds_of_claims(work.tx, work.merchant_id, claim_ids)
    return [each for each in refunds if each.state in _PENDING]


def decide_refund(
    order: RefundOrder, left_cents: int, surplus_cents: int
) -> tuple[int, RefundEffect]:
    """Return how much is refunded and with which effect.

    `left_cents` is what is left of the payment, and `surplus_cents` what the claim is overpaid.
    Raises InvalidState and ValidationError.
    """
    if left_cents <= 0:
        message = "Nothing is left of this payment that could be refunded."
        raise InvalidState(message, state="RETURNED")
    refundable_surplus = min(surplus_cents, left_cents)
    cents = order.amount_cents or refundable_surplus or left_cents
    if cents > left_cents:
        message = LazyText(
            "At most %(cents)s cents are left of this payment.", cents=str(left_cents)
        )
        raise ValidationError([Fault("/amount", message, "TOO_LARGE")])
    if cents <= refundable_surplus:
        return cents, order.effect or RefundEffect.SURPLUS
    if order.effect is None:
        message = LazyText(
            "More than the surplus of %(cents)s cents is refunded: choose REDUCE_CLAIM if the "
            "amount is given up, or REOPEN if it is owed again.",
            cents=str(refundable_surplus),
        )
        raise ValidationError([Fault("/effect", message, "REQUIRED")])
    if order.effect is RefundEffect.SURPLUS:
        message = LazyText("The surplus is only %(cents)s cents.", cents=str(refundable_surplus))
        raise ValidationError([Fault("/effect", message, "NOT_ALLOWED")])
    return cents, order.effect


def _check_reason(reason: str | None) -> None:
    if reason is not None and not is_line(reason):
        message = "Use at most 255 characters, without line breaks."
        raise ValidationError([Fault("/reason", message, "WRONG_FORMAT")])


@dataclass(frozen=True, slots=True)
class PaidMovement:
    """The movement by which a payment was made."""

    provider: str
    request_id: UUID
    movement: MoneyMovement


async def _find_paid_movement(work: Work, payment: StoredPayment) -> PaidMovement | None:
    """Return the movement by which the payment was made, or None if it was not made through a
    provider."""
    for each in await list_payment_movements(work.tx, work.merchant_id, payment):
        if each.kind == MovementKind.PAID and each.payment_id == payment.payment_id:
            if each.request_id is None:
                # The merchant's bank has collected a debit.
                return None
            movement = MoneyMovement(
                each.movement_id,
                MovementKind.PAID,
                amount_cents=each.amount_cents,
                currency=each.currency,
                moved_at=each.moved_at,
            )
            return PaidMovement(each.provider, each.request_id, movement)
    return None


async def get_paid_movement(work: Work, payment: StoredPayment) -> PaidMovement:
    """Return the movement by which the payment was made. Raises InvalidState if it was not made
    through a provider."""
    paid = await _find_paid_movement(work, payment)
    if paid is not None:
        return paid
    message = (
        "This payment was not made through a payment provider. Transfer the money yourself, and "
        "reverse the payment."
    )
    raise InvalidState(message, state="NOT_REFUNDABLE")


async def list_refunds(work: Work, claim_id: int) -> Sequence[StoredRefund]:
    """Return the refunds of a claim's payments, the first ordered first. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    await check_claim_exists(work, claim_id)
    return await list_claim_refunds(work.tx, work.merchant_id, claim_id)
