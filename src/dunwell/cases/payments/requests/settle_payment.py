"""Fetch the state of a checkout from its provider and book the result. This is the only way in
which a request at a provider becomes paid.

A notification, the debtor's return and the periodic check call the same function, so notifications
that are duplicated, late, reordered, forged or lost change nothing. Completed requests are checked
as well, because money can be refunded or charged back for months.
"""

from datetime import timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.book_movements import RequestSettlement, book_movements
from dunwell.cases.payments.provider import CheckoutState, CheckoutStatus, PaymentProviders
from dunwell.cases.payments.requests.collected_instalments import record_collected_instalment
from dunwell.cases.payments.requests.provider_calls import fetch_checkout
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    PaymentRequestDecision,
    PaymentRequestState,
    decide_next_return_check,
    decide_request,
    is_overdue,
)
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    find_request,
    lift_request_hold,
    lock_request,
    open_request_hold,
    save_provider_ids,
    save_refund_time,
    save_request_state,
)
from dunwell.core.claims.store import lock_claim
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.resources import Resources

# Long enough for a bank transfer that starts before a long weekend. Counts in the merchant's time.
_HOLD_DURATION = timedelta(days=5)

log = structlog.get_logger(__name__)


async def record_checkout_state(
    settlement: RequestSettlement, answer: CheckoutState
) -> PaymentRequestState:
    """Book the movements that are new, record the provider's answer, and return the request's new
    state."""
    work, request = settlement.work, settlement.request
    booked = await book_movements(settlement, answer.movements)
    if answer.related_ids:
        await save_provider_ids(work.tx, work.merchant_id, request, answer.related_ids)
    status = answer.status
    if booked.is_paid:
        status = CheckoutStatus.PAID
    elif status is CheckoutStatus.PAID:
        # The paid amount could not be booked, and staff has to look at it.
        status = CheckoutStatus.PENDING
    decision = decide_request(request.state, status, request.created_at, work.real_now)
    await _change_hold(settlement, decision.state)
    await _save_state(settlement, decision)
    if booked.has_refund:
        await _watch_refund(settlement)
    await record_collected_instalment(work, request, decision.state, answer.failure_reason)
    return decision.state


async def _change_hold(settlement: RequestSettlement, state_after: PaymentRequestState) -> None:
    """Open a hold while the money is on its way, so that the debtor gets no reminders, and lift it
    afterwards. If no hold can be opened, the payment continues without one."""
    work, request = settlement.work, settlement.request
    was_pending = request.state is PaymentRequestState.PENDING
    is_pending = state_after is PaymentRequestState.PENDING
    if is_pending and not was_pending:
        try:
            await open_request_hold(work, request, work.now + _HOLD_DURATION)
        except InvalidState:
            log.info("payment hold not opened", claim_id=request.claim_id)
    elif was_pending and not is_pending:
        await lift_request_hold(work, request)


async def _save_state(settlement: RequestSettlement, decision: PaymentRequestDecision) -> None:
    work, request = settlement.work, settlement.request
    is_new = decision.state is not request.state
    next_check_at = None
    if is_new and decision.state is PaymentRequestState.COMPLETED:
        next_check_at = decide_next_return_check(work.real_now, None, work.real_now)
    await save_request_state(
        work.tx, work.merchant_id, request.request_id, decision.state, now=work.real_now,
        keeps_checking=decision.keeps_checking, next_check_at=next_check_at,
    )  # fmt: skip
    if is_new:
        await save_audit(
            work, "paymentRequest.settle", f"claim:{request.claim_id}",
            before={"state": request.state}, after={"state": decision.state},
            paymentRequestId=str(request.request_id), state=decision.state,
        )  # fmt: skip


async def _watch_refund(settlement: RequestSettlement) -> None:
    """Check the request often for a while, because the refund that was listed may still fail."""
    work, now = settlement.work, settlement.work.real_now
    next_check_at = decide_next_return_check(now, now, now)
    assert next_check_at is not None, "the refund is new"
    await save_refund_time(
        work.tx, work.merchant_id, settlement.request.request_id, now=now,
        next_check_at=next_check_at,
    )  # fmt: skip


async def settle_payment(
    resources: Resources, providers: PaymentProviders, merchant_id: int, request_id: UUID
) -> PaymentRequestState:
    """Check a request at its provider and return its state.

    Raises NotFound, and PaymentProviderUnavailable, after which nothing has changed.
    """
    async with resources.database.connection() as connection:
        request = await find_request(connection, merchant_id, request_id)
    if request is None:
        raise _build_not_found(request_id)
    # No provider can be asked about an announced bank transfer.
    if request.provider == BANK_TRANSFER:
        return request.state
    answer = await fetch_checkout(providers, merchant_id, request)
    is_collecting = request.state is PaymentRequestState.COLLECTING
    if answer is None and (
        is_collecting or not is_overdue(request.created_at, resources.clock.now())
    ):
        return request.state
    return await _settle(resources, merchant_id, request, answer)


async def _settle(
    resources: Resources,
    merchant_id: int,
    request_before: StoredPaymentRequest,
    answer: CheckoutState | None,
) -> PaymentRequestState:
    """Record the answer. `request_before` is the request as it was before the provider was asked,
    and `answer` is None if it has no checkout."""
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        claim = await lock_claim(tx, merchant_id, request_before.claim_id)
        request = await lock_request(tx, merchant_id, request_before.request_id)
        if merchant is None or claim is None or request is None:
            raise _build_not_found(request_before.request_id)
        # If another answer was recorded in the meantime, this one may be older. It is ignored
        # unless it lists movements, which stay true.
        is_stale = request.state is not request_before.state
        if is_stale and (answer is None or not answer.movements):
            return request.state
        work = Work.open(resources, tx, merchant, SYSTEM)
        settlement = RequestSettlement(work, claim, request)
        if answer is None:
            return await _expire(settlement)
        return await record_checkout_state(settlement, answer)


async def _expire(settlement: RequestSettlement) -> PaymentRequestState:
    """Expire a request that has no checkout, because the debtor was not redirected in time."""
    await save_request_state(
        settlement.work.tx, settlement.work.merchant_id, settlement.request.request_id,
        PaymentRequestState.EXPIRED, now=settlement.work.real_now, keeps_checking=False,
    )  # fmt: skip
    return PaymentRequestState.EXPIRED


def _build_not_found(request_id: UUID) -> NotFound:
    return NotFound(f"There is no payment request {request_id}.")
