"""Fetch the state of a checkout from its provider and book the result. This is the only way in
which a request becomes paid.

The sweep does the same for requests whose notice has not arrived. It saves the time of the next
check before it makes this one. So a crash costs one check, two workers never check the same request
at once, and an unavailable provider is asked again after the usual delay.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.provider import (
    CheckoutState,
    CheckoutSucceeded,
    PaymentProvider,
    PaymentProviders,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.record_payment import NewPayment, book_payment
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    PaymentRequestDecision,
    PaymentRequestState,
    decide_next_check,
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
    save_request_state,
)
from dunwell.cases.payments.store import StoredPayment, find_payment_by_transaction, link_payment
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.store import LockedClaim, lock_claim
from dunwell.core.events.payloads import EventPaymentData, payment_completed
from dunwell.platform.errors import InvalidState, NotFound, Refusal
from dunwell.platform.resources import Resources

# Long enough for a bank transfer that starts before a long weekend. Counts in the merchant's time.
_HOLD_DURATION = timedelta(days=5)
_MAX_METHOD_LENGTH = 60

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RequestSettlement:
    """A locked claim and its locked payment request."""

    work: Work
    claim: LockedClaim
    request: StoredPaymentRequest


async def record_checkout_state(
    settlement: RequestSettlement, answer: CheckoutState
) -> PaymentRequestState:
    """Record the provider's answer and return the request's new state."""
    request = settlement.request
    decision = decide_request(request.state, answer, request.asked, settlement.work.real_now)
    known = await _find_recorded_payment(settlement, answer)
    if decision.is_mismatch or (known is not None and not _can_be_linked(known, request)):
        await _report_mismatch(settlement)
        return request.state
    await _change_hold(settlement, decision.state)
    if isinstance(answer, CheckoutSucceeded) and decision.state is PaymentRequestState.COMPLETED:
        await _complete(settlement, answer, known)
    await _save_state(settlement, decision)
    return decision.state


async def _find_recorded_payment(
    settlement: RequestSettlement, answer: CheckoutState
) -> StoredPayment | None:
    """Return the payment of the same transaction if the merchant has already recorded it."""
    if not isinstance(answer, CheckoutSucceeded):
        return None
    work = settlement.work
    return await find_payment_by_transaction(
        work.tx, work.merchant_id, settlement.request.claim_id, answer.transaction_id
    )


def _can_be_linked(known: StoredPayment, request: StoredPaymentRequest) -> bool:
    return known.request_id is None and known.amount_cents == request.amount_cents


async def _complete(
    settlement: RequestSettlement, paid: CheckoutSucceeded, known: StoredPayment | None
) -> None:
    work, request = settlement.work, settlement.request
    if known is None:
        await book_payment(
            work, settlement.claim, _build_payment(work, request, paid), request.request_id
        )
    else:
        await link_payment(work.tx, work.merchant_id, known.payment_id, request.request_id)
    payment = EventPaymentData(
        request.provider, request.amount_cents, request.currency, request.request_id
    )
    await publish_event(
        work, request.claim_id, lambda head: payment_completed(head, payment, paid.transaction_id)
    )


def _build_payment(
    work: Work, request: StoredPaymentRequest, paid: CheckoutSucceeded
) -> NewPayment:
    """Return the payment to book. A sandbox merchant's payment gets the sandbox time, and a
    provider's clock that is ahead is corrected."""
    return NewPayment(
        amount_cents=paid.amount_cents,
        currency=paid.currency,
        transaction_id=paid.transaction_id,
        provider_name=request.provider,
        paid_at=work.now if work.merchant.is_sandbox else min(paid.paid_at, work.now),
        item_ids=request.item_ids,
        method=None if paid.method is None else render_line(paid.method)[:_MAX_METHOD_LENGTH],
    )


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
    await save_request_state(
        work.tx, work.merchant_id, request.request_id, decision.state,
        now=work.real_now, keeps_checking=decision.keeps_checking,
    )  # fmt: skip
    if decision.state is not request.state:
        await save_audit(
            work, "paymentRequest.settle", f"claim:{request.claim_id}",
            before={"state": request.state}, after={"state": decision.state},
            paymentRequestId=str(request.request_id), state=decision.state,
        )  # fmt: skip


async def _report_mismatch(settlement: RequestSettlement) -> None:
    request = settlement.request
    log.error(
        "payment differs from request",
        merchant_id=settlement.work.merchant_id,
        claim_id=request.claim_id,
        payment_request_id=str(request.request_id),
        provider=request.provider,
    )
    await save_audit(
        settlement.work, "paymentRequest.mismatch", f"claim:{request.claim_id}",
        paymentRequestId=str(request.request_id),
    )  # fmt: skip


_CALL_SECONDS = 20


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
    if request.state is PaymentRequestState.COMPLETED or request.provider == BANK_TRANSFER:
        return request.state
    answer = await _fetch(providers, merchant_id, request)
    if answer is None and not is_overdue(request.created_at, resources.clock.now()):
        return request.state
    return await _settle(resources, merchant_id, request, answer)


async def _fetch(
    providers: PaymentProviders, merchant_id: int, request: StoredPaymentRequest
) -> CheckoutState | None:
    """Return the provider's answer, or None if the request has no checkout."""
    if request.provider_reference is None:
        return None
    provider = providers.get(request.provider)
    if provider is None:
        log.error(
            "payment provider not installed", provider=request.provider, merchant_id=merchant_id
        )
        raise PaymentProviderUnavailable("The payment provider is not installed here.")
    return await _fetch_from_provider(provider, merchant_id, request.provider_reference)


async def _fetch_from_provider(
    provider: PaymentProvider, merchant_id: int, reference: str
) -> CheckoutState:
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            return await provider.fetch(merchant_id, reference)
    except PaymentProviderUnavailable:
        log.warning("payment provider unavailable", provider=provider.name, merchant_id=merchant_id)
        raise
    except Exception as error:
        log.exception("payment provider failed", provider=provider.name, merchant_id=merchant_id)
        raise PaymentProviderUnavailable(
            "The payment provider does not answer. Try again shortly."
        ) from error


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
        # unless it says that the money was received, which stays true.
        is_stale = request.state is not asked.state and not isinstance(answer, CheckoutSucceeded)
        if is_stale or request.state is PaymentRequestState.COMPLETED:
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
        following = {
            each.request_id: decide_next_check(each.created_at, each.checks + 1, now)
            for each in due
        }
        await save_next_checks(tx, merchant_id, following)
    return list(following)


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
