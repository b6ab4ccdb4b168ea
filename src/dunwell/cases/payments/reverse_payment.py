"""Reverse a payment. Its allocations are removed, and a collected claim that owes again becomes
active.

The effect can be computed beforehand.
"""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.store import schedule_check_now
from dunwell.cases.payments.record_payment import RecordedPayment, allocate_surplus, load_balance
from dunwell.cases.payments.store import (
    StoredPayment,
    find_payment,
    reopen_claim,
    save_reversal,
    touch_claim,
)
from dunwell.core.claims.access import check_claim_exists, lock_claim_of_merchant
from dunwell.core.claims.balance import Balance
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim, load_claim
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.texts import is_line


async def reverse_payment(
    work: Work, claim_id: int, payment_id: UUID, reason: str | None = None
) -> RecordedPayment:
    """Reverse a payment. For a reversed payment nothing changes (`is_new` is False).

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
    await save_reversal(
        work.tx, work.merchant_id, claim_id, payment_id=payment_id, now=work.now, reason=reason
    )
    await allocate_surplus(work, claim_id)
    status = await _save_status(work, claim)
    await schedule_check_now(work.tx, work.merchant_id, claim_id, work.now)
    balance = await load_balance(work, claim_id)
    await save_audit(
        work, "payment.reverse", f"claim:{claim_id}",
        before={"status": claim.status, "amount": payment.amount_cents},
        after={"status": status, "outstanding": balance.outstanding_cents},
        paymentId=str(payment_id), hasReason=reason is not None,
    )  # fmt: skip
    return RecordedPayment(
        await _get_payment(work, claim_id, payment_id), status, balance, is_new=True
    )


async def _get_payment(work: Work, claim_id: int, payment_id: UUID) -> StoredPayment:
    payment = await find_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if payment is None:
        raise NotFound(f"There is no payment {payment_id}.")
    return payment


async def _save_status(work: Work, claim: LockedClaim) -> Status:
    status, claim_id = claim.status, claim.claim_id
    balance = await load_balance(work, claim_id)
    if status is Status.COLLECTED and balance.outstanding_cents > 0:
        return await reopen_claim(work.tx, work.merchant_id, claim_id, work.now)
    await touch_claim(work.tx, work.merchant_id, claim_id, work.now)
    return status


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
    taken = 0 if payment.reversed_at is not None else payment.amount_cents
    after = compute_balance_after_reversal(before, taken)
    reopens = claim.status is Status.COLLECTED and after.outstanding_cents > 0
    return ReversalPreview(before, after, reopens)


def compute_balance_after_reversal(balance: Balance, cents: int) -> Balance:
    """Return the balance without a payment of `cents`. The overpaid amount is reduced first."""
    from_surplus = min(cents, balance.overpaid_cents)
    outstanding = balance.outstanding_cents + cents - from_surplus
    return Balance(balance.total_cents, outstanding, balance.overpaid_cents - from_surplus)
