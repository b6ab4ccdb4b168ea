"""Fetch the state of a checkout from its provider and book the result. This is the only way in
which a request becomes paid.

A notification, the debtor's return and the periodic check call the same function, so notifications
that are duplicated, late, reordered, forged or lost change nothing. Completed requests are checked
as well, because money can be refunded or charged back for months.

The sweep saves the time of the next check before it makes this one. So a crash costs one check, two
workers never check the same request at once, and an unavailable provider is asked again after the
usual delay.
"""

import asyncio
from datetime import datetime, timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.book_movements import RequestSettlement, book_movements
from dunwell.cases.payments.provider import CheckoutState, CheckoutStatus, PaymentProviders
from dunwell.cases.payments.requests.provider_calls import fetch_checkout
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    PaymentRequestDecision,
    PaymentRequestState,
    decide_next_check,
    decide_next_return_check,
    decide_request,
    is_overdue,
)
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    find_request,
    lift_request_hold,
    list_merchants_to_check,
    lock_due_requests,
    lock_request,
    open_request_hold,
    save_next_checks,
    save_provider_ids,
    save_request_state,
)
from dunwell.core.claims.store import lock_claim
from dunwell.platform.errors import InvalidState, NotFound, Refusal
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
    is_paid = await book_movements(settlement, answer.movements)
    if answer.related_ids:
        await save_provider_ids(work.tx, work.merchant_id, request, answer.related_ids)
    status = answer.status
    if is_paid:
        status = CheckoutStatus.PAID
    elif status is CheckoutStatus.PAID:
        # What was paid could not be booked, and staff has to look at it.
        status = CheckoutStatus.PENDING
    decision = decide_request(request.state, status, request.created_at, work.real_now)
    await _change_hold(settlement, decision.state)
    await _save_state(settlement, decision)
    return decision.state


async def _change_hold(settlement: RequestSettlement, following: PaymentRequestState) -> None:
    """Open a hold while the money is on its way, so that the debtor gets no reminders, and lift it
    afterwards. Without a hold the payment still continues."""
    work, request = settlement.work, settlement.request
    was_pending = request.state is PaymentRequestState.PENDING
    is_pending = following is PaymentRequestState.PENDING
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
        next_check_at = decide_next_return_check(work.real_now, work.real_now)
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


async def settle_payment(
    resources: Resources, providers: PaymentProviders, merchant_id: int, request_id: UUID
) -> PaymentRequestState:
    """Check a request at its provider and return its state.

    Raises NotFound, and PaymentProviderUnavailable if nothing was changed.
    """
    async with resources.database.connection() as connection:
        request = await find_request(connection, merchant_id, request_id)
    if request is None:
        raise _not_found(request_id)
    # No provider can be asked about an announced bank transfer.
    if request.provider == BANK_TRANSFER:
        return request.state
    answer = await fetch_checkout(providers, merchant_id, request)
    if answer is None and not is_overdue(request.created_at, resources.clock.now()):
        return request.state
    return await _settle(resources, merchant_id, request, answer)


async def _settle(
    resources: Resources,
    merchant_id: int,
    asked: StoredPaymentRequest,
    answer: CheckoutState | None,
) -> PaymentRequestState:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        claim = await lock_claim(tx, merchant_id, asked.claim_id)
        request = await lock_request(tx, merchant_id, asked.request_id)
        if merchant is None or claim is None or request is None:
            raise _not_found(asked.request_id)
        # Another answer was recorded in the meantime. This one may be older, so it is ignored
        # unless it lists money, which stays true.
        is_stale = request.state is not asked.state
        if is_stale and (answer is None or not answer.movements):
            return request.state
        work = Work.open(resources, tx, merchant, SYSTEM)
        settlement = RequestSettlement(work, claim, request)
        if answer is None:
            return await _expire(settlement)
        return await record_checkout_state(settlement, answer)


async def _expire(settlement: RequestSettlement) -> PaymentRequestState:
    """Expire a request whose debtor was not redirected in time."""
    await save_request_state(
        settlement.work.tx, settlement.work.merchant_id, settlement.request.request_id,
        PaymentRequestState.EXPIRED, now=settlement.work.real_now, keeps_checking=False,
    )  # fmt: skip
    return PaymentRequestState.EXPIRED


def _not_found(request_id: UUID) -> NotFound:
    return NotFound(f"There is no payment request {request_id}.")


# The shortest delay between checks is a minute.
SWEEP_SECONDS = 5.0
_SET_SIZE = 100
_MERCHANTS_PER_TURN = 50
_CALLS_AT_ONCE = 10


async def sweep_requests(resources: Resources, providers: PaymentProviders) -> int:
    """Check one batch of due requests of each merchant. Return how many were checked."""
    now = resources.clock.now()
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_to_check(connection, now, _MERCHANTS_PER_TURN)
    checked = 0
    for merchant_id in merchant_ids:
        request_ids = await _postpone_due_requests(resources, merchant_id)
        slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        await asyncio.gather(
            *(_settle_one(resources, providers, (merchant_id, each), slots) for each in request_ids)
        )
        checked += len(request_ids)
    return checked


async def _postpone_due_requests(resources: Resources, merchant_id: int) -> list[UUID]:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        due = await lock_due_requests(tx, merchant_id, now, _SET_SIZE)
        following = {each.request_id: _decide_next_check(each, now) for each in due}
        await save_next_checks(tx, merchant_id, following)
    return list(following)


def _decide_next_check(request: StoredPaymentRequest, now: datetime) -> datetime | None:
    if request.state is PaymentRequestState.COMPLETED and request.settled_at is not None:
        return decide_next_return_check(request.settled_at, now)
    return decide_next_check(request.created_at, request.checks + 1, now)


async def _settle_one(
    resources: Resources,
    providers: PaymentProviders,
    key: tuple[int, UUID],
    slots: asyncio.Semaphore,
) -> None:
    """Check one request. A failure is logged, so that it does not stop the others."""
    merchant_id, request_id = key
    try:
        async with slots:
            await settle_payment(resources, providers, merchant_id, request_id)
    except Refusal as refusal:
        log.warning(
            "payment request not checked", payment_request_id=str(request_id), error=refusal.type
        )
    except Exception:
        log.exception("payment request check failed", payment_request_id=str(request_id))
