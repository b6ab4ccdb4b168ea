"""What a channel reports of a message after it accepted it, what that means for the message, and
what a message costs. Pure.
"""

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


class Priced(Protocol):
    """A line of the installation file."""

    @property
    def prices(self) -> Mapping[str, float]: ...


@dataclass(frozen=True, slots=True)
class Weight:
    """What a message's price goes by. units: parts of an SMS, sheets of a letter, one e-mail."""

    units: int
    country: str = UNKNOWN_COUNTRY


def price_of(line: Priced, message: Weight) -> Decimal | None:
    """None: the line has no price for this country."""
    price = line.prices.get(message.country, line.prices.get(_ANY_OTHER))
    return None if price is None else Decimal(str(price)) * message.units


def find_country(number: str) -> str:
    """Of a number in international format; UNKNOWN_COUNTRY where none is known."""
    try:
        parsed = phonenumbers.parse(number)
    except phonenumbers.NumberParseException:
        return UNKNOWN_COUNTRY
    return phonenumbers.region_code_for_number(parsed) or UNKNOWN_COUNTRY


ReportState = Literal["DELIVERED", "FAILED", "RETURNED", "DELAYED"]
# Why a message did not arrive. ADDRESS: nobody is reached there, so it is suppressed. ABOUT_US: we
# are refused, the person is not to blame, an operator has to look. OTHER: said in the reason.
Cause = Literal["ADDRESS", "ABOUT_US", "OTHER"]


@dataclass(frozen=True, slots=True)
class Reference:
    """Which message, as its merchant's."""

    merchant_id: int
    communication_id: UUID


@dataclass(frozen=True, slots=True)
class Report:
    line: str
    # The provider's own id of the message or the report, as it came. With the state and the time
    # it is the report's key: what comes twice is one.
    provider_id: str
    state: ReportState
    # As the provider dates it; none: it does not.
    happened_at: datetime | None
    # The message, read from what we wrote ourselves; none: it is shown, and nobody guesses.
    reference: Reference | None
    # In words or as a code, without personal data; empty for what arrived.
    reason: str
    cause: Cause
    # As it came, for whoever has to look.
    raw: bytes
    # Where it was to go, as far as figures count it: an e-mail's domain, a number's country.
    destination: str | None = None
    # Whether nobody can have written it but the channel, or our own mail server. Whoever has a
    # message can make up a report of it: alone it suppresses no address.
    is_proven: bool = True


class ReportOutcome(Enum):
    NOTE_DELIVERY = "DELIVERED"
    FAIL = "FAILED"
    SETTLE_AS_SENT = "SETTLED"
    WAIT = "WAITING"
    IGNORE = "IGNORED"


def decide_report(reported: ReportState, state: str, *, is_delivered: bool) -> ReportOutcome:
    """state: the message's (`PLANNED`, `ACCEPTED` and so on)."""
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
    """As reports of what became of it name it; none: not known."""
    match contact.channel:
        case "EMAIL":
            return (contact.email or "").rpartition("@")[2].lower() or None
        case "SMS":
            country = find_country(contact.mobile_number or "")
            return None if country == UNKNOWN_COUNTRY else country
        case "LETTER":
            return (contact.address or {}).get("country")
