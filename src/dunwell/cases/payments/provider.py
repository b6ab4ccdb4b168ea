"""The port every payment provider implements: start a hosted checkout, ask what became of it.

An adapter is stateless towards us: a request out, an answer in. Nothing it says is booked before
`settle_payment` has asked for it itself; a notice only says which checkout to ask about. Every
adapter passes the contract suite in `tests/adapters/provider_contract.py`. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias
from uuid import UUID

from dunwell.platform.errors import InvalidRequest, Unavailable


@dataclass(frozen=True, slots=True)
class CheckoutRequest:
    """What a debtor is sent to pay. It names no debtor."""

    merchant_id: int
    # The key outside: one id is one checkout, however often and with whatever else it is sent.
    request_id: UUID
    amount_cents: int
    currency: str
    # What the payment is for, as the creditor and the debtor's bank show it.
    reference: str
    # Whom and what is paid, in a line.
    description: str
    return_url: str
    notice_url: str
    language: str


@dataclass(frozen=True, slots=True)
class Checkout:
    """A checkout at the provider, and the page the debtor pays on."""

    provider_reference: str
    url: str


@dataclass(frozen=True, slots=True)
class CheckoutOpen:
    """The debtor has not decided yet."""


@dataclass(frozen=True, slots=True)
class CheckoutPending:
    """The debtor is done; the money is under way. Also what an answer nobody knows means."""


@dataclass(frozen=True, slots=True)
class CheckoutSucceeded:
    """The money is there. The amount is what was paid, not what was asked for."""

    transaction_id: str
    amount_cents: int
    currency: str
    # Real time.
    paid_at: datetime
    # What it was paid with, as the payer knows it and masked by the provider: "Visa •••• 4242".
    method: str | None = None


@dataclass(frozen=True, slots=True)
class CheckoutFailed:
    """The payment was refused, for good."""


@dataclass(frozen=True, slots=True)
class CheckoutCancelled:
    """The debtor left without paying."""


@dataclass(frozen=True, slots=True)
class CheckoutExpired:
    """The checkout takes no payment any more."""


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
    """Which checkout something happened to. What happened is asked for, never believed."""

    merchant_id: int
    provider_reference: str


class PaymentProviderUnavailable(Unavailable):
    """No usable answer: whether the call had its effect is not known. It may be made again."""


class CheckoutNoticeRejected(InvalidRequest):
    """Not signed by the provider, signed too long ago, or unreadable."""


class PaymentProvider(Protocol):
    @property
    def name(self) -> str:
        """The word a merchant's configuration names it by; providerName in events."""

    @property
    def moves_money(self) -> bool:
        """False for one that only rehearses: for sandbox merchants, and in development."""

    async def start(self, request: CheckoutRequest) -> Checkout:
        """Open a checkout, or find the one this request_id opened. Raises
        PaymentProviderUnavailable.

        No transaction is open while this runs.
        """

    async def fetch(self, merchant_id: int, provider_reference: str) -> CheckoutState:
        """What became of a checkout. Raises PaymentProviderUnavailable. No transaction is open
        meanwhile.
        """

    def read_notice(self, headers: Mapping[str, str], body: bytes) -> CheckoutNotice:
        """Whom a notice is about; header names are in lower case. Raises CheckoutNoticeRejected."""


# By name.
PaymentProviders: TypeAlias = Mapping[str, PaymentProvider]
