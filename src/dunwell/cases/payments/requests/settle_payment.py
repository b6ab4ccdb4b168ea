"""Asks a provider what became of a checkout and books it: the only way a request gets paid."""

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
    PaymentProvider,
    PaymentProviderAway,
    Providers,
    Succeeded,
)
from dunwell.cases.payments.record_payment import NewPayment, enter_payment
from dunwell.cases.payments.requests.request_states import (
    BANK_TRANSFER,
    RequestDecision,
    RequestState,
    decide_next_check,
    decide_request,
    is_overdue,
)
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    find_merchants_to_check,
    lift_request_hold,
    load_request,
    lock_due_requests,
    lock_request,
    move_request,
    open_request_hold,
    postpone_checks,
)
from dunwell.cases.payments.store import StoredPayment, find_payment, link_payment
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.core.claims.raise_event import raise_event
from dunwell.core.claims.store import LockedClaim, lock_claim
from dunwell.core.events.payloads import EventedPayment, payment_completed
from dunwell.platform.errors import InvalidState, NotFound, Refusal
from dunwell.platform.resources import Resources

# A bank transfer begun before a long weekend has arrived by then. The merchant's time.
_HOLD = timedelta(days=5)
_MOST_METHOD = 60

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Settling:
    """A locked claim and its locked request."""

    work: Work
    claim: LockedClaim
    request: StoredPaymentRequest


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


def _is_the_same(known: StoredPayment, request: StoredPaymentRequest) -> bool:
    return known.request_id is None and known.amount_cents == request.amount_cents


async def _complete(settling: Settling, paid: Succeeded, known: StoredPayment | None) -> None:
    work, request = settling.work, settling.request
    if known is None:
        await enter_payment(work, settling.claim, _compose(work, request, paid), request.request_id)
    else:
        await link_payment(work.tx, work.merchant_id, known.payment_id, request.request_id)
    payment = EventedPayment(
        request.provider, request.amount_cents, request.currency, request.request_id
    )
    await raise_event(
        work, request.claim_id, lambda head: payment_completed(head, payment, paid.transaction_id)
    )


def _compose(work: Work, request: StoredPaymentRequest, paid: Succeeded) -> NewPayment:
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


async def _move(settling: Settling, decision: RequestDecision) -> None:
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


_CALL_SECONDS = 20


async def settle_payment(
    resources: Resources, providers: Providers, merchant_id: int, request_id: UUID
) -> RequestState:
    """The request's state now. Raises NotFound, and ProviderAway having changed nothing."""
    async with resources.database.connection() as connection:
        request = await load_request(connection, merchant_id, request_id)
    if request is None:
        raise _absent(request_id)
    # An announced transfer is waited for, as there is nobody to ask.
    if request.state is RequestState.COMPLETED or request.provider == BANK_TRANSFER:
        return request.state
    answer = await _fetch(providers, merchant_id, request)
    if answer is None and not is_overdue(request.created_at, resources.clock.now()):
        return request.state
    return await _settle(resources, merchant_id, request, answer)


async def _fetch(
    providers: Providers, merchant_id: int, request: StoredPaymentRequest
) -> CheckoutState | None:
    """The provider's answer; None: no checkout of the request is known."""
    if request.provider_reference is None:
        return None
    provider = providers.get(request.provider)
    if provider is None:
        log.error("provider not installed", provider=request.provider, merchant_id=merchant_id)
        raise PaymentProviderAway("The payment provider is not installed here.")
    return await _ask(provider, merchant_id, request.provider_reference)


async def _ask(provider: PaymentProvider, merchant_id: int, reference: str) -> CheckoutState:
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            return await provider.fetch(merchant_id, reference)
    except PaymentProviderAway:
        log.warning("provider away", provider=provider.name, merchant_id=merchant_id)
        raise
    except Exception as error:
        log.exception("provider failed", provider=provider.name, merchant_id=merchant_id)
        raise PaymentProviderAway(
            "The payment provider does not answer. Try again shortly."
        ) from error


async def _settle(
    resources: Resources,
    merchant_id: int,
    asked: StoredPaymentRequest,
    answer: CheckoutState | None,
) -> RequestState:
    async with resources.database.transaction() as tx:
        merchant = await load_merchant(tx, merchant_id)
        claim = await lock_claim(tx, merchant_id, asked.claim_id)
        request = await lock_request(tx, merchant_id, asked.request_id)
        if merchant is None or claim is None or request is None:
            raise _absent(asked.request_id)
        # What was answered before somebody else's answer was booked may be older than that; that
        # money has arrived, though, stays true.
        is_stale = request.state is not asked.state and not isinstance(answer, Succeeded)
        if is_stale or request.state is RequestState.COMPLETED:
            return request.state
        work = Work.open(resources, tx, merchant, SYSTEM)
        settling = Settling(work, claim, request)
        if answer is None:
            return await _expire(settling)
        return await book_answer(settling, answer)


async def _expire(settling: Settling) -> RequestState:
    """Nobody was handed off within the time a request lives."""
    await move_request(
        settling.work.tx, settling.work.merchant_id, settling.request.request_id,
        RequestState.EXPIRED, now=settling.work.real_now, keeps_checking=False,
    )  # fmt: skip
    return RequestState.EXPIRED


def _absent(request_id: UUID) -> NotFound:
    return NotFound(f"There is no payment request {request_id}.")


# The first gap is a minute.
SWEEP_SECONDS = 5.0
_SET_SIZE = 100
_MERCHANTS_PER_TURN = 50
_CALLS_AT_ONCE = 10


async def sweep_requests(resources: Resources, providers: Providers) -> int:
    """One set of each merchant that has requests to look at; how many were looked at."""
    now = resources.clock.now()
    async with resources.database.connection() as connection:
        merchant_ids = await find_merchants_to_check(connection, now, _MERCHANTS_PER_TURN)
    looked_at = 0
    for merchant_id in merchant_ids:
        request_ids = await _take_set(resources, merchant_id)
        slots = asyncio.Semaphore(_CALLS_AT_ONCE)
        await asyncio.gather(
            *(_look(resources, providers, (merchant_id, each), slots) for each in request_ids)
        )
        looked_at += len(request_ids)
    return looked_at


async def _take_set(resources: Resources, merchant_id: int) -> list[UUID]:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        due = await lock_due_requests(tx, merchant_id, now, _SET_SIZE)
        following = {
            each.request_id: decide_next_check(each.created_at, each.checks + 1, now)
            for each in due
        }
        await postpone_checks(tx, merchant_id, following)
    return list(following)


async def _look(
    resources: Resources, providers: Providers, key: tuple[int, UUID], slots: asyncio.Semaphore
) -> None:
    """One request's trouble is no other's."""
    merchant_id, request_id = key
    try:
        async with slots:
            await settle_payment(resources, providers, merchant_id, request_id)
    except Refusal as refusal:
        log.warning("payment not looked at", payment_request_id=str(request_id), error=refusal.type)
    except Exception:
        log.exception("payment not settled", payment_request_id=str(request_id))
