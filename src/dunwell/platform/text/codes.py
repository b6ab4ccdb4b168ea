"""Check standardised codes: currencies, languages, countries, time zones, bank accounts and banks.
The lists come from maintained libraries: CLDR through Babel, the time zone database, schwifty.
Pure."""

import re
from functools import cache
from zoneinfo import available_timezones

from babel.core import Locale, get_global
from babel.localedata import locale_identifiers
from babel.numbers import list_currencies
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException

_CREDITOR_ID = re.compile(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{3}[A-Z0-9]{1,28}")


def is_currency(code: str) -> bool:
    """Return whether this is an ISO 4217 code in upper case."""
    return code in _currencies()


def is_language(code: str) -> bool:
    """Return whether this is the code of a language in CLDR, without a region, such as "de"."""
    return code in _languages()


def is_country(code: str) -> bool:
    """Return whether this is an ISO 3166-1 alpha-2 code in upper case."""
    return len(code) == 2 and code.isalpha() and code in _territories()


def is_timezone(name: str) -> bool:
    """Return whether this is a zone of the IANA database, such as "Europe/Berlin"."""
    return name in _timezones()


def find_timezone_country(timezone: str) -> str | None:
    """Return the country of a time zone, such as "DE" for Europe/Berlin, None if it has none."""
    territory: str | None = get_global("zone_territories").get(timezone)
    return territory


def is_iban(text: str) -> bool:
    """Return whether the country, length, bank code format and check digits are valid."""
    try:
        IBAN(text)
    except SchwiftyException:
        return False
    return True


def is_bic(text: str) -> bool:
    """Return whether this is a BIC of 8 or 11 characters with an existing country."""
    try:
        BIC(text)
    except SchwiftyException:
        return False
    return True


def is_creditor_id(text: str) -> bool:
    """Return whether this is a SEPA creditor identifier in capitals, without spaces: country, check
    digits, three characters for the business area, and a national part (EPC 262-08)."""
    if _CREDITOR_ID.fullmatch(text) is None or not is_country(text[:2]):
        return False
    # ISO 7064 mod 97-10, without the business area; a letter counts as two digits from 10 on.
    number = "".join(str(int(character, 36)) for character in text[7:] + text[:4])
    return int(number) % 97 == 1


@cache
def _currencies() -> frozenset[str]:
    return frozenset(list_currencies())


@cache
def _languages() -> frozenset[str]:
    return frozenset(name for name in locale_identifiers() if name.isalpha() and name.islower())


@cache
def _territories() -> frozenset[str]:
    return frozenset(Locale("en").territories)


@cache
def _timezones() -> frozenset[str]:
    return frozenset(available_timezones())
