"""The port for mandates, which providers of direct debits implement besides `PaymentProvider`.

A collection is a checkout that the debtor does not see: `PaymentProvider.fetch_checkout` accepts
its id, so its movements are booked, refunded and reversed like those of any other payment. The
state of a mandate is fetched, never taken from a notification. The provider notifies the debtor of
the mandate and of each collection. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Protocol, runtime_checkable
from uuid import UUID

from dunwell.cases.payments.provider import Checkout, CheckoutCancellation, PaymentProvider


class ProviderMandateStatus(StrEnum):
    # The debtor has not finished, or the provider is still checking what was entered.
    OPEN = "OPEN"
    # Payments can be collected, even if the debtor's bank has not confirmed the mandate yet.
    ACTIVE = "ACTIVE"
    # The debtor or the merchant has cancelled the mandate, or the debtor left the provider's page.
    CANCELLED = "CANCELLED"
    # The debtor's bank refuses the mandate.
    FAILED = "FAILED"
    # The mandate was not used for too long.
    EXPIRED = "EXPIRED"


@dataclass(frozen=True, slots=True)
class MandateRequest:
    """The mandate for which the provider's page is opened. It contains no data about the debtor."""

    merchant_id: int
    # The idempotency key at the provider.
    request_id: UUID
    currency: str
    # One line that names the creditor and the claim.
    description: str
    return_url: str
    language: str


@dataclass(frozen=True, slots=True)
class ProviderMandate:
    """What the provider says about a mandate. The fields after `status` are known once the debtor
    has given it."""

    status: ProviderMandateStatus
    mandate_id: str | None = None
    # The mandate's reference, as the debtor's bank shows it.
    reference: str | None = None
    # The account as messages show it, masked by the provider.
    account_shown: str | None = None
    # The earliest day on which a payment that is ordered now is collected.
    next_collection_on: date | None = None


@dataclass(frozen=True, slots=True)
class CollectionRequest:
    """A payment that is collected with a mandate."""

    # The idempotency key at the provider.
    request_id: UUID
    mandate_id: str
    amount_cents: int
    currency: str
    # The day on which the debtor's account is debited.
    due_on: date
    description: str


@runtime_checkable
class MandateProvider(PaymentProvider, Protocol):
    """One account at a provider that collects payments with mandates. All methods are called while
    no transaction is open, and raise PaymentProviderUnavailable; those that change something also
    raise PaymentProviderRefused."""

    async def open_mandate(self, request: MandateRequest) -> Checkout:
        """Open the page on which the debtor gives a mandate. A repeated call with the same
        request_id opens another page of the same request, with the same checkout id."""

    async def fetch_mandate_request(self, checkout_id: str) -> ProviderMandate:
        """Return what became of a request for a mandate. `checkout_id` is the one that
        `open_mandate` returned."""

    async def fetch_mandate(self, mandate_id: str) -> ProviderMandate:
        """Return the state of a mandate."""

    async def cancel_mandate(self, mandate_id: str) -> None:
        """Cancel a mandate, so that nothing more is collected with it. Repeating it changes
        nothing."""

    async def collect(self, request: CollectionRequest) -> str:
        """Order a payment, and return its id. A repeated call with the same request_id orders it
        once and returns the same id."""

    async def find_collection(self, mandate_id: str, request_id: UUID) -> str | None:
        """Return the id of the payment that was ordered with this request_id, or None."""

    async def cancel_collection(self, collection_id: str) -> CheckoutCancellation:
        """Cancel a payment that the provider has not sent to the bank yet."""


def find_offered_mandate_provider(
    providers: Mapping[str, PaymentProvider], name: str | None
) -> MandateProvider | None:
    """Return the account if debtors can give new mandates there, or None."""
    provider = None if name is None else find_mandate_provider(providers, name)
    return None if provider is None or provider.is_closed else provider


def find_mandate_provider(
    providers: Mapping[str, PaymentProvider], name: str
) -> MandateProvider | None:
    """Return the account if it is installed and collects payments with mandates, or None."""
    provider = providers.get(name)
    return provider if isinstance(provider, MandateProvider) else None
