"""The port that each payment provider implements: start a hosted checkout, and return its state.

Adapters keep no state. Nothing that a provider reports is booked before `settle_payment` has
fetched it; a notice only names the checkout to ask about. Each adapter passes the contract tests in
`tests/adapters/provider_contract.py`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID

from dunwell.platform.errors import InvalidRequest, Unavailable


@dataclass(frozen=True, slots=True)
class CheckoutRequest:
    """The payment for which a checkout is opened. It contains no data about the debtor."""

    merchant_id: int
    # The idempotency key at the provider: one id opens one checkout, even if the request is
    # repeated with other values.
    request_id: UUID
    amount_cents: int
    currency: str
    # The purpose of the payment, as shown to the creditor and on the debtor's bank statement.
    reference: str
    # One line that names the creditor and the claim.
    description: str
    return_url: str
    notice_url: str
    language: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout at the provider, and the page on which the debtor pays."""

    provider_reference: str
    url: str


@dataclass(frozen=True, slots=True)
class CheckoutOpen:
    """The debtor has not finished the checkout."""


@dataclass(frozen=True, slots=True)
class CheckoutPending:
    """The debtor has finished; the money is on its way. Adapters also return this for a state that
    they do not know."""


@dataclass(frozen=True, slots=True)
class CheckoutSucceeded:
    """The money was received. The amount is what was paid, which may differ from the requested
    amount."""

    transaction_id: str
    amount_cents: int
    currency: str
    # Real time.
    paid_at: datetime
    # The means of payment as the payer knows it, masked by the provider: "Visa •••• 4242".
    method: str | None = None


@dataclass(frozen=True, slots=True)
class CheckoutFailed:
    """The payment was refused permanently."""


@dataclass(frozen=True, slots=True)
class CheckoutCancelled:
    """The debtor left the checkout without paying."""


@dataclass(frozen=True, slots=True)
class CheckoutExpired:
    """The checkout no longer accepts a payment."""


CheckoutState = (
    CheckoutOpen
    | CheckoutPending
    | CheckoutSucceeded
    | CheckoutFailed
    | CheckoutCancelled
    | CheckoutExpired
)


@dataclass(frozen=True, slots=True)
class CheckoutNotice:
    """The checkout that changed. Its new state is always fetched from the provider and never taken
    from the notice."""

    merchant_id: int
    provider_reference: str


class PaymentProviderUnavailable(Unavailable):
    """The provider gave no usable answer, so it is unknown whether the call took effect. The call
    may be repeated."""


class CheckoutNoticeRejected(InvalidRequest):
    """The notice is unreadable, too old, or not signed by the provider."""


class PaymentProvider(Protocol):
    @property
    def name(self) -> str:
        """The name by which a merchant's configuration refers to the provider; providerName in
        events."""

    @property
    def moves_money(self) -> bool:
        """False for a provider that only simulates payments, for sandbox merchants and
        development.
        """

    async def start(self, request: CheckoutRequest) -> Checkout:
        """Open a checkout, or return the one that was opened for this request_id.

        It is called while no transaction is open. Raises PaymentProviderUnavailable.
        """

    async def fetch(self, merchant_id: int, provider_reference: str) -> CheckoutState:
        """Return the state of a checkout. It is called while no transaction is open.

        Raises PaymentProviderUnavailable.
        """

    def read_notice(self, headers: Mapping[str, str], body: bytes) -> CheckoutNotice:
        """Check a notice and return the checkout it is about. Header names are in lower case.

        Raises CheckoutNoticeRejected.
        """


# Provider name -> provider.
PaymentProviders: TypeAlias = Mapping[str, PaymentProvider]
