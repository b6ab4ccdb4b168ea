"""What a message costs by a line: its prices are for an SMS's part, a letter's sheet, an e-mail, by
country. In cents of the merchant's currency, and parts of cents. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

import phonenumbers

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
