"""Asks a provider what became of a checkout, and books it: the only way a request gets paid.

The page a debtor comes back to, a provider's notice and the sweep all only call this; none is
believed. The call is made outside any transaction; claim and request are locked after it, so of
many that settle at once the first one books, and the others find it done.
"""

import asyncio
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.book_answer import Settling, book_answer
from dunwell.cases.payments.provider import (
    CheckoutState,
    PaymentProvider,
    ProviderAway,
    Providers,
    Succeeded,
)
from dunwell.cases.payments.request_states import BANK_TRANSFER, RequestState, is_overdue
from dunwell.cases.payments.store_requests import (
    PaymentRequest,
    load_request,
    lock_request,
    move_request,
)
from dunwell.core.claims.store import lock_claim
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources

_CALL_SECONDS = 20

log = structlog.get_logger(__name__)


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
    providers: Providers, merchant_id: int, request: PaymentRequest
) -> CheckoutState | None:
    """The provider's answer; None: no checkout of the request is known."""
    if request.provider_reference is None:
        return None
    provider = providers.get(request.provider)
    if provider is None:
        log.error("provider not installed", provider=request.provider, merchant_id=merchant_id)
        raise ProviderAway("The payment provider is not installed here.")
    return await _ask(provider, merchant_id, request.provider_reference)


async def _ask(provider: PaymentProvider, merchant_id: int, reference: str) -> CheckoutState:
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            return await provider.fetch(merchant_id, reference)
    except ProviderAway:
        log.warning("provider away", provider=provider.name, merchant_id=merchant_id)
        raise
    except Exception as error:
        log.exception("provider failed", provider=provider.name, merchant_id=merchant_id)
        raise ProviderAway("The payment provider does not answer. Try again shortly.") from error


async def _settle(
    resources: Resources, merchant_id: int, asked: PaymentRequest, answer: CheckoutState | None
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
