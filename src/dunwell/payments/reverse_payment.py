"""Reverses a payment: its cents pay nothing any more; a collected claim that owes again goes on.

What other payments had too much steps in first. The claim returns to the state it left for
COLLECTED, and its process goes on at its next step (CONTRACT 4).
"""

from uuid import UUID

from dunwell.claims.states import Status
from dunwell.claims.store import load_items, lock_claim
from dunwell.errors import NotFound
from dunwell.kit.db import Row
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.payments.record_payment import RecordedPayment, load_balance
from dunwell.payments.sharing import share_surplus
from dunwell.payments.store import (
    StoredPayment,
    load_payment,
    load_surplus,
    reopen_claim,
    save_reversal,
    save_shares,
    touch_claim,
)


async def reverse_payment(work: Work, claim_id: int, payment_id: UUID) -> RecordedPayment:
    """Reversing what is reversed changes nothing (`is_new` is False). Raises NotFound."""
    claim = await lock_claim(work.tx, work.merchant_id, claim_id)
    if claim is None:
        raise NotFound(f"There is no claim {claim_id}.")
    payment = await _load(work, claim_id, payment_id)
    if payment.reversed_at is not None:
        balance = await load_balance(work, claim_id)
        return RecordedPayment(payment, Status(claim["status"]), balance, is_new=False)
    await save_reversal(work.tx, work.merchant_id, claim_id, payment_id, work.now)
    await _share_surplus(work, claim_id)
    status = await _decide_status(work, claim)
    await save_audit(work, "payment.reverse", f"claim:{claim_id}", paymentId=str(payment_id))
    balance = await load_balance(work, claim_id)
    return RecordedPayment(await _load(work, claim_id, payment_id), status, balance, is_new=True)


async def _load(work: Work, claim_id: int, payment_id: UUID) -> StoredPayment:
    payment = await load_payment(work.tx, work.merchant_id, claim_id, payment_id)
    if payment is None:
        raise NotFound(f"There is no payment {payment_id}.")
    return payment


async def _share_surplus(work: Work, claim_id: int) -> None:
    surplus = await load_surplus(work.tx, work.merchant_id, claim_id)
    if not surplus:
        return
    items = await load_items(work.tx, work.merchant_id, claim_id)
    order = work.merchant.configuration.payment.allocation
    shared = share_surplus(items, surplus, order)
    await save_shares(work.tx, work.merchant_id, claim_id, shared)


async def _decide_status(work: Work, claim: Row) -> Status:
    status, claim_id = Status(claim["status"]), claim["claim_id"]
    balance = await load_balance(work, claim_id)
    if status is Status.COLLECTED and balance.outstanding_cents > 0:
        return await reopen_claim(work.tx, work.merchant_id, claim_id, work.now)
    await touch_claim(work.tx, work.merchant_id, claim_id, work.now)
    return status
