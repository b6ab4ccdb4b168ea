"""Calls to payment providers, with a time limit. Each failure is logged and raised as one of two
errors: the provider refused the call, or gave no usable answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import structlog

from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutState,
    PaymentProvider,
    PaymentProviderRefused,
    PaymentProviders,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.store import StoredPaymentRequest

_CALL_SECONDS = 20

log = structlog.get_logger(__name__)


@asynccontextmanager
async def report_provider_failures(provider: str, merchant_id: int) -> AsyncIterator[None]:
    """Limit the time of a call to a provider, and log each failure.

    Raises PaymentProviderRefused, and PaymentProviderUnavailable for every other failure.
    """
    try:
        async with asyncio.timeout(_CALL_SECONDS):
            yield
    except PaymentProviderUnavailable:
        log.warning("payment provider unavailable", provider=provider, merchant_id=merchant_id)
        raise
    except PaymentProviderRefused:
        log.warning("payment provider refused", provider=provider, merchant_id=merchant_id)
        raise
    except Exception as error:
        log.exception("payment provider failed", provider=provider, merchant_id=merchant_id)
        raise PaymentProviderUnavailable(
            "The payment provider does not answer. Try again shortly."
        ) from error


def get_provider(providers: PaymentProviders, name: str) -> PaymentProvider:
    """Return the provider with this name. Raises PaymentProviderUnavailable if it is not
    installed."""
    provider = providers.get(name)
    if provider is None:
        log.error("payment provider not installed", provider=name)
        raise PaymentProviderUnavailable("The payment provider is not installed here.")
    return provider


async def fetch_checkout(
    providers: PaymentProviders, merchant_id: int, request: StoredPaymentRequest
) -> CheckoutState | None:
    """Return the state of the request's checkout, or None if it has no checkout.

    Raises PaymentProviderUnavailable.
    """
    if request.provider_reference is None:
        return None
    provider = get_provider(providers, request.provider)
    async with report_provider_failures(provider.name, merchant_id):
        return await provider.fetch_checkout(request.provider_reference)


async def cancel_checkout(
    providers: PaymentProviders, merchant_id: int, request: StoredPaymentRequest
) -> CheckoutCancellation:
    """Ask the provider to cancel the request's checkout. Raises PaymentProviderUnavailable and
    PaymentProviderRefused."""
    if request.provider_reference is None:
        return CheckoutCancellation.CANNOT_CANCEL
    provider = get_provider(providers, request.provider)
    async with report_provider_failures(provider.name, merchant_id):
        return await provider.cancel_checkout(request.provider_reference)
