"""Reads an amount as people type it, and writes it so, in integers only.

What could be two amounts is none: 1.234 is a thousand and more in German, and nothing in English.
Pure.
"""

import re
from functools import lru_cache

from babel.numbers import get_currency_symbol, get_decimal_symbol, get_group_symbol

from dunwell.contact.messages.templates.formatting import count_minor_digits, find_locale

_BLANKS = re.compile(r"[\s\u00a0\u202f]+")
_MOST_TYPED = 40
_MOST_DIGITS = 12
_PLAIN = re.compile(r"(?P<whole>0|[1-9][0-9]*)(?:(?P<point>[.,])(?P<minor>[0-9]+))?")
_GROUPED = re.compile(
    r"(?P<whole>[1-9][0-9]{0,2}(?P<group>[.,])[0-9]{3}(?:(?P=group)[0-9]{3})*)"
    r"(?:(?P<point>(?!(?P=group))[.,])(?P<minor>[0-9]+))?"
)


def read_amount(typed: str, currency: str, language: str) -> int | None:
    """Minor units; None for what is no amount of this currency, or a doubtful one.

    Takes "50", "50,00", "50.00", with the currency's sign or code before or after, and thousands in
    groups: "1.234,56", "1,234.56".
    """
    if len(typed) > _MOST_TYPED:
        return None
    text = _strip_currency(_BLANKS.sub(" ", typed).strip(), currency, language)
    digits = count_minor_digits(currency)
    plain = _PLAIN.fullmatch(text)
    if plain is not None and _is_sure(plain, digits, language):
        return _join(plain["whole"], plain["minor"], digits)
    grouped = _GROUPED.fullmatch(text)
    if grouped is not None and _is_sure_group(grouped, digits, language):
        whole = grouped["whole"].replace(grouped["group"], "")
        return _join(whole, grouped["minor"], digits)
    return None


def render_plain(cents: int, currency: str, language: str) -> str:
    """As one types and copies it: "1234,50" in German, without its currency."""
    digits = count_minor_digits(currency)
    whole, minor = divmod(cents, 10**digits)
    point = _find_symbols(language)[0]
    return f"{whole}{point}{minor:0{digits}}" if digits else str(whole)


def _is_sure(found: re.Match[str], digits: int, language: str) -> bool:
    """Three digits behind a point may be thousands, but where the language has its point there."""
    if found["minor"] is None:
        return True
    if digits == 0 or len(found["minor"]) != digits:
        return False
    return digits != 3 or found["point"] == _find_symbols(language)[0]


def _is_sure_group(found: re.Match[str], digits: int, language: str) -> bool:
    if found["minor"] is not None:
        return digits > 0 and len(found["minor"]) == digits
    return found["whole"].count(found["group"]) > 1 or found["group"] == _find_symbols(language)[1]


def _join(whole: str, minor: str | None, digits: int) -> int | None:
    amount = whole + (minor or "0" * digits)
    return int(amount) if len(amount) <= _MOST_DIGITS else None


def _strip_currency(text: str, currency: str, language: str) -> str:
    """Without one sign or code of the currency, on one side."""
    for sign in (currency, _find_sign(currency, language)):
        if text.upper().startswith(sign.upper()):
            return text[len(sign) :].lstrip()
        if text.upper().endswith(sign.upper()):
            return text[: -len(sign)].rstrip()
    return text


@lru_cache(maxsize=1024)
def _find_sign(currency: str, language: str) -> str:
    sign: str = get_currency_symbol(currency, locale=find_locale(language))
    return sign


@lru_cache(maxsize=64)
def _find_symbols(language: str) -> tuple[str, str]:
    """What stands before the minor units, and between thousands."""
    locale = find_locale(language)
    return get_decimal_symbol(locale), get_group_symbol(locale)
