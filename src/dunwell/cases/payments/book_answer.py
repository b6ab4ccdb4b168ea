"""What a provider's answer changes: the request, the hold while money is under way, the payment.

In the transaction that has locked claim and request. Nothing but what was asked for is booked: a
success of another amount or currency leaves an audit row and an error in the log, for a person.
"""

from dataclasses import dataclass
from datetime import timedelta

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.cases.payments.provider import CheckoutState, Succeeded
from dunwell.cases.payments.record_payment import NewPayment, enter_payment
from dunwell.cases.payments.request_holds import lift_request_hold, open_request_hold
from dunwell.cases.payments.request_states import Decision, RequestState, decide_request
from dunwell.cases.payments.store import StoredPayment, find_payment, link_payment
from dunwell.cases.payments.store_requests import PaymentRequest, move_request
from dunwell.contact.messages.formatting import render_line
from dunwell.core.claims.raise_event import raise_event
from dunwell.core.claims.store import LockedClaim
from dunwell.core.events.payloads import Payment, payment_completed
from dunwell.platform.errors import InvalidState

# A bank transfer begun before a long weekend has arrived by then. The merchant's time.
_HOLD = timedelta(days=5)
_MOST_METHOD = 60

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Settling:
    """A locked claim and its locked request."""

    work: Work
    claim: LockedClaim
    request: PaymentRequest


async def book_answer(settling: Settling, answer: CheckoutState) -> RequestState:
    """The request's state after the answer."""
    request = settling.request
    decision = decide_request(request.state, answer, request.asked, settling.work.real_now)
    known = await _find_known(settling, answer)
    if decision.is_mismatch or (known is not None and not _is_the_same(known, request)):
        await _report_mismatch(settling)
        return request.state
    await _change_hold(settling, decision.state)
    if isinstance(answer, Succeeded) and decision.state is RequestState.COMPLETED:
        await _complete(settling, answer, known)
    await _move(settling, decision)
    return decision.state


async def _find_known(settling: Settling, answer: CheckoutState) -> StoredPayment | None:
    """The same transaction, if the merchant has recorded it before us."""
    if not isinstance(answer, Succeeded):
        return None
    work = settling.work
    return await find_payment(
        work.tx, work.merchant_id, settling.request.claim_id, answer.transaction_id
    )


def _is_the_same(known: StoredPayment, request: PaymentRequest) -> bool:
    return known.request_id is None and known.amount_cents == request.amount_cents


async def _complete(settling: Settling, paid: Succeeded, known: StoredPayment | None) -> None:
    work, request = settling.work, settling.request
    if known is None:
        await enter_payment(work, settling.claim, _compose(work, request, paid), request.request_id)
    else:
        await link_payment(work.tx, work.merchant_id, known.payment_id, request.request_id)
    payment = Payment(request.provider, request.amount_cents, request.currency, request.request_id)
    await raise_event(
        work, request.claim_id, lambda head: payment_completed(head, payment, paid.transaction_id)
    )


def _compose(work: Work, request: PaymentRequest, paid: Succeeded) -> NewPayment:
    """A sandbox merchant's payment is made at its own time; a provider's clock may run ahead."""
    return NewPayment(
        amount_cents=paid.amount_cents,
        currency=paid.currency,
        transaction_id=paid.transaction_id,
        provider_name=request.provider,
        paid_at=work.now if work.merchant.is_sandbox else min(paid.paid_at, work.now),
        item_ids=request.item_ids,
        method=None if paid.method is None else render_line(paid.method)[:_MOST_METHOD],
    )


async def _change_hold(settling: Settling, following: RequestState) -> None:
    """Nobody is dunned while money is under way, as long as a debtor may hold a claim at all."""
    work, request = settling.work, settling.request
    was_pending = request.state is RequestState.PENDING
    is_pending = following is RequestState.PENDING
    if is_pending and not was_pending:
        try:
            await open_request_hold(work, request, work.now + _HOLD)
        except InvalidState:
            log.info("payment not held for", claim_id=request.claim_id)
    elif was_pending and not is_pending:
        await lift_request_hold(work, request)


async def _move(settling: Settling, decision: Decision) -> None:
    work, request = settling.work, settling.request
    await move_request(
        work.tx, work.merchant_id, request.request_id, decision.state,
        now=work.real_now, keeps_checking=decision.keeps_checking,
    )  # fmt: skip
    if decision.state is not request.state:
        await save_audit(
            work, "paymentRequest.settle", f"claim:{request.claim_id}",
            before={"state": request.state}, after={"state": decision.state},
            paymentRequestId=str(request.request_id), state=decision.state,
        )  # fmt: skip


async def _report_mismatch(settling: Settling) -> None:
    request = settling.request
    log.error(
        "payment is not what was asked for",
        merchant_id=settling.work.merchant_id,
        claim_id=request.claim_id,
        payment_request_id=str(request.request_id),
        provider=request.provider,
    )
    await save_audit(
        settling.work, "paymentRequest.mismatch", f"claim:{request.claim_id}",
        paymentRequestId=str(request.request_id),
    )  # fmt: skip
