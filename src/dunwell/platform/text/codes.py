"""Whether a code is one that others gave a meaning: currencies, languages, zones, banks.

The lists are those of the libraries kept by their field: CLDR through Babel, the zone database.
Pure.
"""

from functools import cache
from zoneinfo import available_timezones

from babel.core import Locale, get_global
from babel.localedata import locale_identifiers
from babel.numbers import list_currencies
from schwifty import BIC, IBAN
from schwifty.exceptions import SchwiftyException


def is_currency(code: str) -> bool:
    """An ISO 4217 code in upper case."""
    return code in _currencies()


def is_language(code: str) -> bool:
    """A language CLDR knows, by its code alone, as "de"."""
    return code in _languages()


def is_country(code: str) -> bool:
    """An ISO 3166-1 alpha-2 code in upper case."""
    return len(code) == 2 and code.isalpha() and code in _territories()


def is_timezone(name: str) -> bool:
    """A zone of the IANA database, as "Europe/Berlin"."""
    return name in _timezones()


def find_home(timezone: str) -> str | None:
    """The country a zone is in, as "DE" for Europe/Berlin."""
    territory: str | None = get_global("zone_territories").get(timezone)
    return territory


def is_iban(text: str) -> bool:
    """Right country, length, bank-code shape and check digits."""
    try:
        IBAN(text)
    except SchwiftyException:
        return False
    return True


def is_bic(text: str) -> bool:
    try:
        BIC(text)
    except SchwiftyException:
        return False
    return True


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
