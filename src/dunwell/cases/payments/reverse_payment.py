"""Reverses a payment: its cents pay nothing any more; a collected claim that owes again goes on.

What other payments had too much steps in first. The claim returns to the state it left for
COLLECTED, and its process goes on at its next step (CONTRACT 4).
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.modalities.store_checks import hasten_check
from dunwell.cases.payments.balancing import load_balance, use_surplus
from dunwell.cases.payments.record_payment import RecordedPayment
from dunwell.cases.payments.store import (
    StoredPayment,
    load_payment,
    reopen_claim,
    save_reversal,
    touch_claim,
)
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim
from dunwell.platform.errors import Fault, NotFound, ValidationError
from dunwell.platform.text.texts import is_line


async def reverse_payment(
    work: Work, claim_id: int, payment_id: UUID, reason: str | None = None
) -> RecordedPayment:
    """Reversing what is reversed changes nothing (`is_new` is False). reason: a line of at most 255
    characters, for colleagues. Raises NotFound and ValidationError."""
    work.need(Right.RECORD_MONEY)
    if reason is not None and not is_line(reason):
        message = "Use at most 255 characters, without line breaks."
        raise ValidationError([Fault("/reason", message, "WRONG_FORMAT")])
    claim = await access_claim(work, claim_id)
    payment = await _load(work, claim_id, payment_id)
    if payment.reversed_at is not None:
        balance = await load_balance(work, claim_id)
        return RecordedPayment(payment, claim.status, balance, is_new=False)
    await save_reversal(
        work.tx, work.merchant_id, claim_id, payment_id=payment_id, now=work.now, reason=reason
    )
    await use_surplus(work, claim_id)
    status = await _decide_status(work, claim)
    await hasten_check(work.tx, work.merchant_id, claim_id, work.now)
    balance = await load_balance(work, claim_id)
    await save_audit(
        work, "payment.reverse", f"claim:{claim_id}",
        before={"status": claim.status, "amount": payment.amount_cents},
        after={"status": status, "outstanding": balance.outstanding_cents},
        paymentId=str(payment_id), hasReason=reason is not None,
    )  # fmt: skip
    return RecordedPayment(await _load(work, claim_id, payment_id), status, balance, is_new=True)


async def _load(work: Work, claim_id: int, payment_id: UUID) -> StoredPayment:
    payment = await load_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if payment is None:
        raise NotFound(f"There is no payment {payment_id}.")
    return payment


async def _decide_status(work: Work, claim: LockedClaim) -> Status:
    status, claim_id = claim.status, claim.claim_id
    balance = await load_balance(work, claim_id)
    if status is Status.COLLECTED and balance.outstanding_cents > 0:
        return await reopen_claim(work.tx, work.merchant_id, claim_id, work.now)
    await touch_claim(work.tx, work.merchant_id, claim_id, work.now)
    return status
