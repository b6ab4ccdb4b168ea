"""Parse an amount that a user typed, and render an amount as users type it, with integers only.

An ambiguous amount is refused: 1.234 is more than a thousand in German, and not an amount in
English. Pure.
"""

import re
from functools import lru_cache

from babel.numbers import get_currency_symbol, get_decimal_symbol, get_group_symbol

from dunwell.contact.messages.templates.formatting import count_minor_digits, get_locale

_BLANKS = re.compile(r"[\s\u00a0\u202f]+")
_MAX_TYPED_LENGTH = 40
_MAX_DIGITS = 12
_PLAIN = re.compile(r"(?P<whole>0|[1-9][0-9]*)(?:(?P<point>[.,])(?P<minor>[0-9]+))?")
_GROUPED = re.compile(
    r"(?P<whole>[1-9][0-9]{0,2}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})*)"
    r"(?:(?P<point>(?!(?P=group))[.,])(?P<minor>[0-9]+))?"
)


def parse_amount(typed: str, currency: str, language: str) -> int | None:
    """Return the amount in minor units, None if it is not an unambiguous amount of this currency.

    Accepts "50", "50,00", "50.00", with the currency's symbol or code before or after it, and with
    grouped thousands: "1.234,56", "1,234.56".
    """
    if len(typed) > _MAX_TYPED_LENGTH:
        return None
    text = _strip_currency(_BLANKS.sub(" ", typed).strip(), currency, language)
    digits = count_minor_digits(currency)
    plain = _PLAIN.fullmatch(text)
    if plain is not None and _is_unambiguous(plain, digits, language):
        return _join(plain["whole"], plain["minor"], digits)
    grouped = _GROUPED.fullmatch(text)
    if grouped is not None and _is_unambiguous_group(grouped, digits, language):
        whole = grouped["whole"].replace(grouped["group"], "")
        return _join(whole, grouped["minor"], digits)
    return None


def render_typed_amount(cents: int, currency: str, language: str) -> str:
    """Return the amount as one types and copies it: "1234,50" in German, without the currency."""
    digits = count_minor_digits(currency)
    whole, minor = divmod(cents, 10**digits)
    point = _get_separators(language)[0]
    return f"{whole}{point}{minor:0{digits}}" if digits else str(whole)


def _is_unambiguous(match: re.Match[str], digits: int, language: str) -> bool:
    """Return whether the digits after the separator are certainly decimal places. Three digits
    after a separator may be thousands, unless it is the language's decimal separator."""
    if match["minor"] is None:
        return True
    if digits == 0 or len(match["minor"]) != digits:
        return False
    return digits != 3 or match["point"] == _get_separators(language)[0]


def _is_unambiguous_group(match: re.Match[str], digits: int, language: str) -> bool:
    if match["minor"] is not None:
        return digits > 0 and len(match["minor"]) == digits
    return (
        match["whole"].count(match["group"]) > 1 or match["group"] == _get_separators(language)[1]
    )


def _join(whole: str, minor: str | None, digits: int) -> int | None:
    amount = whole + (minor or "0" * digits)
    return int(amount) if len(amount) <= _MAX_DIGITS else None


def _strip_currency(text: str, currency: str, language: str) -> str:
    """Remove one symbol or code of the currency, on one side."""
    for symbol in (currency, _get_currency_symbol(currency, language)):
        if text.upper().startswith(symbol.upper()):
            return text[len(symbol) :].lstrip()
        if text.upper().endswith(symbol.upper()):
            return text[: -len(symbol)].rstrip()
    return text


@lru_cache(maxsize=1024)
def _get_currency_symbol(currency: str, language: str) -> str:
    symbol: str = get_currency_symbol(currency, locale=get_locale(language))
    return symbol


@lru_cache(maxsize=64)
def _get_separators(language: str) -> tuple[str, str]:
    """Return the language's decimal separator and its thousands separator."""
    locale = get_locale(language)
    return get_decimal_symbol(locale), get_group_symbol(locale)
