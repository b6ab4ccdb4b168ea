"""Start a payment and return the provider's page to which the debtor is redirected.

1. Transaction 1: lock the claim, check what is outstanding, and find its live request or insert
   a new one (CREATED).
2. Call the provider with the request's id as the idempotency key, so that a repeated call
   returns the same checkout.
3. Transaction 2: the first caller stores the checkout and raises PAYMENT_IN_PROGRESS; every
   caller gets the checkout's address.

If the request is already OPEN, the provider is asked for its state first, so that no debtor is
redirected to a closed checkout. A crash between steps 2 and 3 leaves the request CREATED, and the
next click repeats the call.
"""

import asyncio
from dataclasses import dataclass
from uuid import UUID

import structlog

from dunwell.accounts.merchants.account import Work, check_right
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.provider import (
    Checkout,
    CheckoutCancellation,
    CheckoutRequest,
    PaymentProvider,
    PaymentProviders,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.live_requests import (
    PaymentAttempt,
    PaymentIntent,
    audit_request,
    cancel_outdated_request,
    find_or_insert_request,
    is_same_payment,
    list_open_requests_elsewhere,
)
from dunwell.cases.payments.requests.provider_calls import (
    cancel_checkout,
    report_provider_failures,
)
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.store import StoredPaymentRequest, find_request, save_checkout
from dunwell.core.claims.publish_event import publish_event
from dunwell.core.claims.states import ACTIVE
from dunwell.core.claims.store import lock_claim
from dunwell.core.events.payloads import EventPaymentData, payment_in_progress
from dunwell.platform.errors import Fault, InvalidState, Refusal, Unavailable, ValidationError
from dunwell.platform.resources import Resources

__all__ = ["REQUEST_ID_PLACEHOLDER", "PaymentIntent", "StartedPayment", "start_payment"]

# Replaced by the request's id in `return_url`.
REQUEST_ID_PLACEHOLDER = "{request_id}"
# A request that ends between two attempts is replaced by a new one, so few attempts are enough.
_MAX_ATTEMPTS = 3
# How long the debtor waits for checkouts at other providers to be cancelled.
_ELSEWHERE_SECONDS = 5

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class StartedPayment:
    request_id: UUID
    # The provider's page.
    url: str


async def start_payment(
    resources: Resources,
    providers: PaymentProviders,
    merchant: Merchant,
    actor: Actor,
    claim_id: int,
    intent: PaymentIntent,
) -> StartedPayment:
    """Start the payment and return the page of the provider.

    Raises NotFound, InvalidState if the claim is not payable, money is on its way or the provider
    does not suit a sandbox or live merchant, ValidationError (NOT_ALLOWED if the provider or means
    is not offered, AMOUNT_CHANGED if another amount is due now), PaymentProviderRefused, and
    Unavailable. After the last, the call can be repeated without loss.
    """
    check_right(actor, Right.CHANGE_CLAIMS)
    provider = _choose_provider(resources, providers, merchant, intent)
    attempt = PaymentAttempt(
        resources=resources,
        providers=providers,
        provider=provider,
        merchant_id=merchant.merchant_id,
        actor=actor,
        claim_id=claim_id,
        intent=intent,
    )
    await _cancel_checkouts_elsewhere(attempt)
    for _ in range(_MAX_ATTEMPTS):
        request = await find_or_insert_request(attempt)
        if request.state is PaymentRequestState.CREATED:
            checkout = await _open_checkout(
                provider, _build_checkout_request(attempt, merchant, request)
            )
            started = await _save_started_checkout(attempt, request, checkout)
        else:
            started = await _reuse_open_request(attempt, request)
        if started is not None:
            return started
    raise Unavailable("The payment changed while it was being started. Try again.")


async def _cancel_checkouts_elsewhere(attempt: PaymentAttempt) -> None:
    """Cancel the claim's other open checkouts where their providers allow it, so that the debtor
    does not pay twice. Where they do not, the periodic check finds what is paid there, and the
    claim shows a surplus. The debtor waits for a provider only for a few seconds."""
    elsewhere = await list_open_requests_elsewhere(attempt)
    await asyncio.gather(*(_cancel_elsewhere(attempt, each) for each in elsewhere))


async def _cancel_elsewhere(attempt: PaymentAttempt, request: StoredPaymentRequest) -> None:
    try:
        async with asyncio.timeout(_ELSEWHERE_SECONDS):
            await cancel_checkout(attempt.providers, attempt.merchant_id, request)
            await settle_payment(
                attempt.resources, attempt.providers, attempt.merchant_id, request.request_id
            )
    except (Refusal, TimeoutError) as error:
        log.warning(
            "other checkout not cancelled", provider=request.provider, error=type(error).__name__,
            merchant_id=attempt.merchant_id, payment_request_id=str(request.request_id),
        )  # fmt: skip


def _choose_provider(
    resources: Resources, providers: PaymentProviders, merchant: Merchant, intent: PaymentIntent
) -> PaymentProvider:
    offered = {(each.provider, each.means) for each in merchant.configuration.payment.methods}
    provider = providers.get(intent.provider)
    if provider is None or provider.is_closed or (intent.provider, intent.means) not in offered:
        message = "This way to pay is not offered. Choose another."
        raise ValidationError([Fault("/provider", message, "NOT_ALLOWED")])
    if provider.moves_money and merchant.is_sandbox:
        raise InvalidState(
            "Claims of a sandbox merchant cannot be paid with real money.", state="SANDBOX"
        )
    if not (provider.moves_money or merchant.is_sandbox or resources.settings.is_development):
        raise InvalidState("This provider only simulates payments.", state="LIVE")
    return provider


def _build_checkout_request(
    attempt: PaymentAttempt, merchant: Merchant, request: StoredPaymentRequest
) -> CheckoutRequest:
    legal = merchant.configuration.legal
    creditor = merchant.name if legal is None else legal.name
    return_url = attempt.intent.return_url.replace(REQUEST_ID_PLACEHOLDER, str(request.request_id))
    public_url = attempt.resources.settings.public_url
    return CheckoutRequest(
        merchant_id=attempt.merchant_id,
        request_id=request.request_id,
        amount_cents=request.amount_cents,
        currency=request.currency,
        reference=request.reference,
        description=f"{creditor}, {request.reference}",
        return_url=return_url,
        notification_url=f"{public_url}/callbacks/payments/{request.provider}",
        language=attempt.intent.language or merchant.configuration.language,
        means=request.means,
    )


async def _open_checkout(provider: PaymentProvider, request: CheckoutRequest) -> Checkout:
    """Open the checkout. After a failure the payment request is unchanged, and the next attempt
    uses the same key."""
    async with report_provider_failures(provider.name, request.merchant_id):
        return await provider.open_checkout(request)


async def _save_started_checkout(
    attempt: PaymentAttempt, request: StoredPaymentRequest, checkout: Checkout
) -> StartedPayment | None:
    """Store the checkout. Return None if the request or the claim has ended in the meantime, so
    that the caller tries again."""
    async with attempt.transaction() as work:
        claim = await lock_claim(work.tx, work.merchant_id, attempt.claim_id)
        is_payable = claim is not None and claim.status in ACTIVE
        state = PaymentRequestState.OPEN if is_payable else PaymentRequestState.CANCELLED
        is_first = await save_checkout(
            work.tx, work.merchant_id, request_id=request.request_id, state=state,
            checkout=(checkout.checkout_id, checkout.url),
        )  # fmt: skip
        if is_first and is_payable:
            await _raise_payment_in_progress(work, request)
        stored = await find_request(work.tx, work.merchant_id, request.request_id)
    if (
        stored is None
        or stored.state is not PaymentRequestState.OPEN
        or stored.checkout_url is None
    ):
        return None
    return StartedPayment(stored.request_id, stored.checkout_url)


async def _raise_payment_in_progress(work: Work, request: StoredPaymentRequest) -> None:
    payment = EventPaymentData(
        request.provider_name, request.amount_cents, request.currency, request.request_id
    )
    await publish_event(
        work, request.claim_id, lambda head: payment_in_progress(head, payment, request.reference)
    )
    await audit_request(work, "handOff", request)


async def _reuse_open_request(
    attempt: PaymentAttempt, request: StoredPaymentRequest
) -> StartedPayment | None:
    """Return an open request with the address of its checkout. Return None if the request has
    ended, or is for another payment and was cancelled, so that the caller tries again."""
    try:
        state = await settle_payment(
            attempt.resources, attempt.providers, attempt.merchant_id, request.request_id
        )
    except PaymentProviderUnavailable:
        state = request.state
    if state is not PaymentRequestState.OPEN:
        return None
    if is_same_payment(request, attempt) and request.checkout_url is not None:
        return StartedPayment(request.request_id, request.checkout_url)
    try:
        cancellation = await cancel_checkout(attempt.providers, attempt.merchant_id, request)
    except PaymentProviderUnavailable:
        cancellation = CheckoutCancellation.CANNOT_CANCEL
    if cancellation is CheckoutCancellation.ALREADY_PAID:
        await settle_payment(
            attempt.resources, attempt.providers, attempt.merchant_id, request.request_id
        )
    else:
        await cancel_outdated_request(attempt, request)
    return None
