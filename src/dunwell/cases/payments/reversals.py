"""Money of a payment that goes back to the debtor, and that may come back to the merchant.

The payment's allocations shrink to what is left of it. A collected claim that owes again returns to
its previous status, and continues at its next step. The debtor is notified each time, and an
additional event is published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.configuration import Allocation
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.store import schedule_check_now
from dunwell.cases.payments.movements import REVERSED, PaymentMovement
from dunwell.cases.payments.provider import MovementKind
from dunwell.cases.payments.record_payment import (
    RecordedPayment,
    allocate_surplus,
    collect_if_paid,
    load_balance,
)
from dunwell.cases.payments.refunds.store import RefundEffect, StoredRefund, reduce_items
from dunwell.cases.payments.review_money import finish_refund_reviews
from dunwell.cases.payments.store import (
    StoredPayment,
    find_payment,
    insert_movement,
    load_allocations,
    reopen_claim,
    save_returned,
    touch_claim,
)
from dunwell.contact.notices.occasions.facts import ReturnFacts
from dunwell.contact.notices.occasions.notify_debtor import notify_debtor
from dunwell.core.claims.access import check_claim_exists, lock_claim_of_merchant
from dunwell.core.claims.balance import Balance, OwedItem, order_for_payment
from dunwell.core.claims.publish_event import publish_additional_event
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.core.claims.store import LockedClaim, load_claim, load_items
from dunwell.core.events.body import RefundStatus, ReversalStatus
from dunwell.core.events.payloads import EventReturnData, payment_refunded, payment_reversed
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.texts import is_line

_REFUND_STATUSES: Mapping[str, RefundStatus] = {
    MovementKind.REFUNDED: "REFUNDED", MovementKind.REFUND_FAILED: "REFUND_FAILED",
}  # fmt: skip
_REVERSAL_STATUSES: Mapping[str, ReversalStatus] = {
    REVERSED: "REVERSED",
    MovementKind.CHARGED_BACK: "CHARGED_BACK",
    MovementKind.CHARGEBACK_REVERSED: "CHARGEBACK_REVERSED",
}


@dataclass(frozen=True, slots=True)
class MoneyChange:
    """Money of a payment that goes back to the debtor, or comes back after that."""

    cents: int
    # A MovementKind other than PAID, or REVERSED.
    kind: str
    # The id of the movement.
    movement_id: str
    # The refund that was ordered here, if the money goes back with it, or comes back because it
    # failed.
    refund: StoredRefund | None = None


async def return_money(
    work: Work, claim: LockedClaim, payment: StoredPayment, change: MoneyChange
) -> tuple[Status, Balance]:
    """Reduce a payment of the locked claim. Return the claim's status and balance.

    The kind of the change is REFUNDED, CHARGED_BACK or REVERSED. At least `change.cents` must be
    left of the payment. The amount that the merchant gives up with a refund is not owed again: the
    items that lose their payment are worth less.
    """
    returned_cents = payment.returned_cents + change.cents
    shares = await load_allocations(work.tx, work.merchant_id, claim.claim_id, payment.payment_id)
    items = await load_items(work.tx, work.merchant_id, claim.claim_id)
    order = work.merchant.configuration.payment.allocation
    left = shrink_allocations(items, shares, payment.amount_cents - returned_cents, order)
    await save_returned(
        work.tx, work.merchant_id, claim.claim_id, payment_id=payment.payment_id,
        returned_cents=returned_cents, shares=left, now=work.now,
    )  # fmt: skip
    if change.refund is not None and change.refund.effect is RefundEffect.REDUCE_CLAIM:
        overpaid = (await load_balance(work, claim.claim_id)).overpaid_cents
        reductions = compute_reductions(shares, left, overpaid)
        await reduce_items(
            work.tx, work.merchant_id, claim.claim_id, refund_id=change.refund.refund_id,
            reductions=reductions, now=work.now,
        )  # fmt: skip
    status, balance = await reopen_if_owed(work, claim)
    await _finish_change(work, claim, payment, change, after=(status, balance))
    return status, balance


async def reopen_if_owed(work: Work, claim: LockedClaim) -> tuple[Status, Balance]:
    """Allocate the claim's surplus, and reopen a collected claim that owes something again. Return
    its status and balance."""
    await allocate_surplus(work, claim.claim_id)
    balance = await load_balance(work, claim.claim_id)
    status = claim.status
    if status is Status.COLLECTED and balance.outstanding_cents > 0:
        status = await reopen_claim(work.tx, work.merchant_id, claim.claim_id, work.now)
    else:
        await touch_claim(work.tx, work.merchant_id, claim.claim_id, work.now)
    return status, balance


async def restore_money(
    work: Work, claim: LockedClaim, payment: StoredPayment, change: MoneyChange
) -> tuple[Status, Balance]:
    """Add returned money to a payment again. At least that much must have been returned of the
    payment. Return the claim's status and balance.

    The kind of the change is REFUND_FAILED or CHARGEBACK_REVERSED.
    """
    shares = await load_allocations(work.tx, work.merchant_id, claim.claim_id, payment.payment_id)
    await save_returned(
        work.tx, work.merchant_id, claim.claim_id, payment_id=payment.payment_id,
        returned_cents=payment.returned_cents - change.cents, shares=shares, now=work.now,
    )  # fmt: skip
    await allocate_surplus(work, claim.claim_id)
    balance = await load_balance(work, claim.claim_id)
    status = claim.status
    if status in ACTIVE:
        status = await collect_if_paid(work, claim, balance)
    await touch_claim(work.tx, work.merchant_id, claim.claim_id, work.now)
    await _finish_change(work, claim, payment, change, after=(status, balance))
    return status, balance


async def _finish_change(
    work: Work, claim: LockedClaim, payment: StoredPayment, change: MoneyChange,
    after: tuple[Status, Balance],
) -> None:  # fmt: skip
    """Check the claim's payment plan, notify the debtor, publish the event, and write the audit
    log."""
    (status, balance), kind = after, change.kind
    await schedule_check_now(work.tx, work.merchant_id, claim.claim_id, work.now)
    is_closed = status in (Status.ARCHIVED, Status.WITHDRAWN)
    facts = ReturnFacts(
        reference_number=claim.reference_number,
        currency=payment.currency,
        cause=kind,
        amount_cents=change.cents,
        paid_at=payment.paid_at,
        number=payment.transaction_id,
        outstanding_cents=None if is_closed else balance.outstanding_cents,
    )
    subject = f"{payment.payment_id}:{kind}:{change.movement_id}"
    await notify_debtor(work, claim.claim_id, subject, facts)
    await _publish_change(work, payment, change)
    action = "payment.reverse" if kind == REVERSED else "payment.return"
    details = {} if kind == REVERSED else {"kind": kind}
    await save_audit(
        work, action, f"claim:{claim.claim_id}",
        before={"status": claim.status, "amount": payment.amount_cents - payment.returned_cents},
        after={"status": status, "outstanding": balance.outstanding_cents},
        paymentId=str(payment.payment_id), **details,
    )  # fmt: skip


async def _publish_change(work: Work, payment: StoredPayment, change: MoneyChange) -> None:
    returned = EventReturnData(
        payment_id=payment.payment_id,
        provider_name=payment.provider_name,
        transaction_id=payment.transaction_id,
        request_id=payment.request_id,
        movement_id=change.movement_id,
        amount_cents=change.cents,
        currency=payment.currency,
    )
    refund = change.refund
    order = None if refund is None else (refund.refund_id, refund.effect.value)
    refunded = _REFUND_STATUSES.get(change.kind)
    if refunded is not None:
        await publish_additional_event(
            work, payment.claim_id, lambda head: payment_refunded(head, returned, refunded, order)
        )
    else:
        reversed_ = _REVERSAL_STATUSES[change.kind]
        await publish_additional_event(
            work, payment.claim_id, lambda head: payment_reversed(head, returned, reversed_)
        )


def shrink_allocations(
    items: Sequence[OwedItem], shares: Mapping[int, int], left_cents: int, order: Allocation
) -> dict[int, int]:
    """Return the allocations (item id -> cents) of a payment of which `left_cents` are left. The
    items that a payment pays last lose their share first."""
    kept, left = {}, left_cents
    for item in order_for_payment(items, order):
        share = min(shares.get(item.item_id, 0), left)
        if share > 0:
            kept[item.item_id] = share
            left -= share
    return kept


def compute_reductions(
    before: Mapping[int, int], after: Mapping[int, int], overpaid_cents: int
) -> dict[int, int]:
    """Return by how much each item is reduced (item id -> cents): by what a payment no longer
    pays of it, except for what the surplus of other payments covers."""
    reductions, covered = {}, overpaid_cents
    for item_id, cents in before.items():
        lost = cents - after.get(item_id, 0)
        from_surplus = min(lost, covered)
        covered -= from_surplus
        if lost > from_surplus:
            reductions[item_id] = lost - from_surplus
    return reductions


async def reverse_payment(
    work: Work, claim_id: int, payment_id: UUID, reason: str | None = None
) -> RecordedPayment:
    """Reverse what is left of a payment. A payment that is already reversed stays unchanged
    (`is_new` is False).

    `reason` is a line of at most 255 characters for staff. Raises NotFound and ValidationError.
    """
    work.require(Right.RECORD_MONEY)
    if reason is not None and not is_line(reason):
        message = "Use at most 255 characters, without line breaks."
        raise ValidationError([Fault("/reason", message, "WRONG_FORMAT")])
    claim = await lock_claim_of_merchant(work, claim_id)
    payment = await _get_payment(work, claim_id, payment_id)
    if payment.reversed_at is not None:
        balance = await load_balance(work, claim_id)
        return RecordedPayment(payment, claim.status, balance, is_new=False)
    cents = payment.amount_cents - payment.returned_cents
    reversal = _build_reversal(work, payment, cents)
    await insert_movement(work.tx, work.merchant_id, reversal, reason)
    change = MoneyChange(cents, REVERSED, reversal.movement_id)
    status, balance = await return_money(work, claim, payment, change)
    await finish_refund_reviews(work, payment)
    reversed_payment = await _get_payment(work, claim_id, payment_id)
    return RecordedPayment(reversed_payment, status, balance, is_new=True, reversed_cents=cents)


def _build_reversal(work: Work, payment: StoredPayment, cents: int) -> PaymentMovement:
    return PaymentMovement(
        record_id=work.ids.new(work.now),
        provider="",
        movement_id=str(work.ids.new(work.now)),
        kind=REVERSED,
        claim_id=payment.claim_id,
        request_id=payment.request_id,
        payment_id=payment.payment_id,
        amount_cents=cents,
        currency=payment.currency,
        booked_cents=cents,
        moved_at=work.now,
        recorded_at=work.now,
        review_reason=None,
        reviewed_at=None,
    )


async def _get_payment(work: Work, claim_id: int, payment_id: UUID) -> StoredPayment:
    payment = await find_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if payment is None:
        raise NotFound(f"There is no payment {payment_id}.")
    return payment


@dataclass(frozen=True, slots=True)
class ReversalPreview:
    """The balance before and after a reversal. `reopens` is True if a collected claim would become
    active again."""

    before: Balance
    after: Balance
    reopens: bool


async def preview_reversal(work: Work, claim_id: int, payment_id: UUID) -> ReversalPreview:
    """Return the effect of reversing a payment. For a reversed payment nothing would change. Raises
    NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        claim = await load_claim(work.tx, work.merchant_id, claim_id)
        payment = await find_payment(work.tx, work.merchant_id, claim_id, payment_id)
        if claim is None or payment is None:
            raise NotFound(f"There is no payment {payment_id}.")
        before = await load_balance(work, claim_id)
    after = compute_balance_after_return(before, payment.amount_cents - payment.returned_cents)
    reopens = claim.status is Status.COLLECTED and after.outstanding_cents > 0
    return ReversalPreview(before, after, reopens)


def compute_balance_after_return(balance: Balance, cents: int) -> Balance:
    """Return the balance after a return of `cents`. The overpaid amount is reduced first."""
    from_surplus = min(cents, balance.overpaid_cents)
    outstanding = balance.outstanding_cents + cents - from_surplus
    return Balance(balance.total_cents, outstanding, balance.overpaid_cents - from_surplus)
