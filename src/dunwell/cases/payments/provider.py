"""The port that each payment provider implements.

An adapter is stateless: it turns each call into the provider's requests. Dunwell never books what a
notification says. It fetches the checkout and books the difference between the money movements that
the provider lists and those that are stored; the key of a movement is (provider account, movement
id, kind). Each adapter passes the tests in `tests/adapters/provider_contract.py`. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol, TypeAlias
from uuid import UUID

from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.platform.errors import InvalidRequest, Unavailable


class CheckoutStatus(StrEnum):
    # The debtor has not finished the checkout.
    OPEN = "OPEN"
    # The debtor has finished; the money is on its way. Adapters also return this for a state that
    # they do not know.
    PENDING = "PENDING"
    # Money was received. It stays PAID after a refund or a chargeback, which are movements.
    PAID = "PAID"
    # The payment was refused permanently.
    FAILED = "FAILED"
    # The debtor left the checkout without paying, or Dunwell cancelled it.
    CANCELLED = "CANCELLED"
    # The checkout no longer accepts a payment.
    EXPIRED = "EXPIRED"


class MovementKind(StrEnum):
    PAID = "PAID"
    REFUNDED = "REFUNDED"
    # A refund did not reach the debtor: the merchant has the money again. Its id is the refund's.
    REFUND_FAILED = "REFUND_FAILED"
    # The debtor or the debtor's bank took the money back.
    CHARGED_BACK = "CHARGED_BACK"
    # The merchant won the dispute and has the money again. Its id is the chargeback's.
    CHARGEBACK_REVERSED = "CHARGEBACK_REVERSED"


# The movements that give money to the merchant; the others take it.
INCOMING = frozenset(
    {MovementKind.PAID, MovementKind.REFUND_FAILED, MovementKind.CHARGEBACK_REVERSED}
)


@dataclass(frozen=True, slots=True)
class MoneyMovement:
    """Money that the provider moved for one checkout."""

    movement_id: str
    kind: MovementKind
    # Positive; the kind says in which direction the money moved.
    amount_cents: int
    currency: str
    # Real time.
    moved_at: datetime
    # The means of payment as the payer knows it, masked by the provider: "Visa •••• 4242".
    method: str | None = None
    # The key with which this refund was ordered; None if the provider does not show it, or if the
    # merchant ordered the refund at the provider.
    refund_key: UUID | None = None


@dataclass(frozen=True, slots=True)
class CheckoutState:
    """What the provider says about a checkout. The movements are complete: each one that was ever
    listed is listed again."""

    status: CheckoutStatus
    movements: Sequence[MoneyMovement] = ()
    # Further ids by which notifications name this checkout, such as its payment or its charge.
    related_ids: Sequence[str] = ()
    # Why the money was not received or was taken back, as the provider says it: the code of the
    # bank, or a word.
    failure_reason: str | None = None


class CheckoutCancellation(StrEnum):
    """What became of a request to cancel a checkout."""

    CANCELLED = "CANCELLED"
    ALREADY_PAID = "ALREADY_PAID"
    # The provider does not allow the cancellation; the checkout may still be paid.
    CANNOT_CANCEL = "CANNOT_CANCEL"


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
    notification_url: str
    language: str
    # The means of payment that the debtor chose; None lets the provider ask.
    means: PaymentMeans | None = None


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout at the provider, and the page on which the debtor pays."""

    checkout_id: str
    url: str
    # When the provider closes the checkout (real time). None if the provider does not say.
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PayoutMovement:
    """A part of a payout: a payment, refund or chargeback, under the id of its movement."""

    movement_id: str
    # Before fees; negative for money that the provider gave back to debtors.
    amount_cents: int


@dataclass(frozen=True, slots=True)
class Payout:
    """An amount that the provider paid to the merchant's bank account, or took back from it: the
    sum of the payout's movements less the fees. `movements` is empty if the provider does not list
    them."""

    payout_id: str
    # Net of the fees. Negative if the provider takes money back.
    amount_cents: int
    fees_cents: int
    currency: str
    # When the payout is expected to arrive (real time).
    paid_at: datetime
    movements: Sequence[PayoutMovement] = ()


# The beginning of the message of a refusal. What follows is the provider's own reason.
REFUSAL = "The payment provider refused: "


class PaymentProviderUnavailable(Unavailable):
    """The provider gave no usable answer, so it is unknown whether the call took effect. The call
    may be repeated."""


class PaymentProviderKeyRejected(PaymentProviderUnavailable):
    """The provider does not accept the account's key, so the call took no effect."""


class PaymentProviderRefused(InvalidRequest):
    """The provider refused the call. Repeating it does not help."""


class NotificationRejected(InvalidRequest):
    """The notification is unreadable, too old, or not signed by the provider."""


class PaymentProvider(Protocol):
    """One account at a provider. All methods are called while no transaction is open, and raise
    PaymentProviderUnavailable; those that change something also raise PaymentProviderRefused."""

    @property
    def name(self) -> str:
        """The account's name, by which a merchant's configuration refers to it."""

    @property
    def kind(self) -> str:
        """The kind of provider, for example STRIPE; providerName in events."""

    @property
    def is_closed(self) -> bool:
        """True if the contract with the provider has ended: nothing new is started, and the
        payments that the account has received are checked as long as its key works."""

    @property
    def moves_money(self) -> bool:
        """False for a provider that only simulates payments, for sandbox merchants and
        development.
        """

    async def open_checkout(self, request: CheckoutRequest) -> Checkout:
        """Open a checkout, or return the one that was opened for this request_id."""

    async def cancel_checkout(self, checkout_id: str) -> CheckoutCancellation:
        """Cancel a checkout, so that it can no longer be paid."""

    async def fetch_checkout(self, checkout_id: str) -> CheckoutState:
        """Return the state of a checkout with all its movements."""

    async def refund(self, checkout_id: str, movement: MoneyMovement, cents: int, key: UUID) -> str:
        """Refund a part or all of a PAID movement. Return the id that the REFUNDED movement will
        have. A repeated call with the same key refunds once and returns the same id."""

    async def list_payouts(self, since: datetime) -> Sequence[Payout]:
        """Return the payouts since a time (real time), earliest first."""

    def parse_notification(self, headers: Mapping[str, str], body: bytes) -> Sequence[str]:
        """Return the ids that the notification names: checkouts, payments, charges, mandates or
        payouts. Header names are in lower case.

        Raises NotificationRejected if it is not signed by the provider.
        """

    async def find_access_problems(self) -> Sequence[str]:
        """Make a harmless call for each permission that Dunwell needs. Return a sentence for each
        that is missing."""


# Account name -> provider.
PaymentProviders: TypeAlias = Mapping[str, PaymentProvider]
