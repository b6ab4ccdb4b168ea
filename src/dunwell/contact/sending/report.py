"""What a channel reports about a message after accepting it, what that means for the message, and
what a message costs. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from typing import Literal, Protocol
from uuid import UUID

import phonenumbers

from dunwell.contact.messages.contact import LeasedContact

UNKNOWN_COUNTRY = "ZZ"
_ANY_OTHER = "*"


class HasPrices(Protocol):
    """A delivery provider of the installation file."""

    @property
    def prices(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class PricedMessage:
    """What the price of a message depends on. `units` are the parts of an SMS, the sheets of a
    letter, or one e-mail."""

    units: int
    country: str = UNKNOWN_COUNTRY


def compute_price(provider: HasPrices, message: PricedMessage) -> Decimal | None:
    """Return the price, or None if the provider has no price for this country."""
    price = provider.prices.get(message.country, provider.prices.get(_ANY_OTHER))
    return None if price is None else Decimal(str(price)) * message.units


def compute_number_country(number: str) -> str:
    """Return the country of a number in international format, or UNKNOWN_COUNTRY."""
    try:
        parsed = phonenumbers.parse(number)
    except phonenumbers.NumberParseException:
        return UNKNOWN_COUNTRY
    return phonenumbers.region_code_for_number(parsed) or UNKNOWN_COUNTRY


ReportState = Literal["DELIVERED", "FAILED", "RETURNED", "DELAYED"]
# Why a message did not arrive. ADDRESS: the address is unreachable and is suppressed. ABOUT_US: our
# sender is refused and an operator has to act. OTHER: any other cause, which the reason names.
FailureCause = Literal["ADDRESS", "ABOUT_US", "OTHER"]


@dataclass(frozen=True, slots=True)
class Reference:
    """The merchant and the id of a message."""

    merchant_id: int
    communication_id: UUID


@dataclass(frozen=True, slots=True)
class Report:
    provider: str
    # The provider's id of the message or report, unchanged. Together with state and time it
    # identifies the report; duplicates are ignored.
    provider_message_id: str
    state: ReportState
    # The provider's time; None if it gives none.
    happened_at: datetime | None
    # The message, from the reference that Dunwell created. None for a report that operators see as
    # unmatched.
    reference: Reference | None
    # In words or as a code, without personal data; empty for a delivered message.
    reason: str
    cause: FailureCause
    # The original report, for operators.
    raw: bytes
    # The destination for metrics: the domain of an e-mail address or the country of a number.
    destination: str | None = None
    # True if only the channel or our own mail server can have written the report. Anyone who has
    # received a message can forge other reports; a single report of that kind suppresses no
    # address.
    is_authenticated: bool = True


class ReportOutcome(Enum):
    """What is done about a report. The value is stored as the outcome of the report."""

    NOTE_DELIVERY = "DELIVERED"
    FAIL = "FAILED"
    SETTLE_AS_SENT = "SETTLED"
    WAIT = "WAITING"
    IGNORE = "IGNORED"


def decide_report(reported: ReportState, state: str, *, is_delivered: bool) -> ReportOutcome:
    """Decide what a report means. `state` is the state of the message (`PLANNED`, `ACCEPTED` and so
    on), and `is_delivered` is true if an earlier report said that the message was delivered."""
    if state == "UNKNOWN":
        return ReportOutcome.SETTLE_AS_SENT
    if state in ("PLANNED", "HANDED_OVER"):
        return ReportOutcome.WAIT
    if state != "ACCEPTED":
        return ReportOutcome.IGNORE
    if reported == "RETURNED" or (reported == "FAILED" and not is_delivered):
        return ReportOutcome.FAIL
    if reported == "DELIVERED" and not is_delivered:
        return ReportOutcome.NOTE_DELIVERY
    return ReportOutcome.IGNORE


def find_destination(contact: LeasedContact) -> str | None:
    """Return the destination for metrics, or None if it is not known."""
    match contact.channel:
        case "EMAIL":
            return (contact.email or "").rpartition("@")[2].lower() or None
        case "SMS":
            country = compute_number_country(contact.mobile_number or "")
            return None if country == UNKNOWN_COUNTRY else country
        case "LETTER":
            return (contact.address or {}).get("country")
