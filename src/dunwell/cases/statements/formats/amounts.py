"""Amounts and days of bank files. An amount becomes integer minor units exactly or is refused:
nothing is rounded, and no float is involved. Pure.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from dunwell.cases.statements.formats.statement import FilePlace
from dunwell.contact.messages.templates.formatting import count_minor_digits
from dunwell.platform.text.codes import is_currency

# More than a thousand billion in any currency, and far below the limit of the database.
_MAX_DIGITS = 17
# A decimal of XML Schema that is not negative: "5", "5.00", ".50", "+5.".
_XML_AMOUNT = re.compile(r"\+?(?=\.?[0-9])(?P<whole>[0-9]{0,18})(?:\.(?P<minor>[0-9]*))?", re.ASCII)
# An entry of another year is a mistake, and date arithmetic fails at the ends of the calendar.
_FIRST_YEAR, _LAST_YEAR = 1970, 2199
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", re.ASCII)
# Separators of thousands that programs write.
_GROUPS = {",": ".'\u2019 \u00a0\u202f", ".": ",'\u2019 \u00a0\u202f"}
_SIGNS = {"": 1, "+": 1, "-": -1, "\N{MINUS SIGN}": -1}


@dataclass(frozen=True, slots=True)
class WrittenAmount:
    """An amount as it is in a file: the element's name, the text, and the currency."""

    element: str
    text: str | None
    currency: str | None


def parse_unsigned_amount(written: WrittenAmount, place: FilePlace) -> int:
    """Return the minor units of an amount of an XML file, or of MT940 after its comma was replaced
    by a point: "1234.50".

    Some banks always write five decimals, so zeros after the currency's decimals are ignored.
    Raises BankFileRefused if the text is not such an amount, or has more decimals than its
    currency.
    """
    text = (written.text or "").strip()
    found = _XML_AMOUNT.fullmatch(text)
    if found is None:
        raise place.refuse_value(
            written.element, written.text,
            "XML_AMOUNT",
        )  # fmt: skip
    digits = count_minor_digits(written.currency or "")
    minor = found["minor"] or ""
    minor = minor[:digits] + minor[digits:].rstrip("0")
    return _join_digits(found["whole"], minor, written, place)


def parse_signed_amount(written: WrittenAmount, place: FilePlace, *, decimal_comma: bool) -> int:
    """Return the minor units of an amount of a CSV file: "-1.234,50", "1,234.50 EUR", "12,00-".
    `decimal_comma` is true if a comma separates the decimals, and false if a point does.

    Raises BankFileRefused if the text is not such an amount, or has more decimals than its
    currency.
    """
    currency = written.currency or ""
    text = (written.text or "").strip()
    for name in filter(None, (currency, "€" if currency == "EUR" else "")):
        text = text.removeprefix(name).removesuffix(name).strip()
    found = _build_signed_pattern(decimal_comma=decimal_comma).fullmatch(text)
    if found is None or (found["before"] and found["after"]):
        raise place.refuse_value(
            written.element, written.text,
            "COMMA_AMOUNT" if decimal_comma else "POINT_AMOUNT",
        )  # fmt: skip
    whole = re.sub(r"[^0-9]", "", found["whole"])
    sign = _SIGNS[found["before"]] * _SIGNS[found["after"]]
    return sign * _join_digits(whole, found["minor"] or "", written, place)


def check_currency(element: str, currency: str | None, place: FilePlace) -> str:
    """Return the code of a currency.

    Raises BankFileRefused if the code is not in ISO 4217: without a currency, an amount has no
    meaning.
    """
    if currency is None or not is_currency(currency):
        raise place.refuse_value(element, currency, "CURRENCY_CODE")
    return currency


def parse_iso_day(text: str | None) -> date | None:
    """Return the day of "2026-11-27" or "2026-11-27T08:00:00Z", or None if the text has another
    form or the year is not plausible. The day is the one that the bank writes: the time zone does
    not move it."""
    if text is None or _DAY.match(text.strip()) is None:
        return None
    try:
        day = date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
    return day if is_plausible_day(day) else None


def is_plausible_day(day: date) -> bool:
    """Return whether an entry can have this day."""
    return _FIRST_YEAR <= day.year <= _LAST_YEAR


@lru_cache(maxsize=2)
def _build_signed_pattern(*, decimal_comma: bool) -> re.Pattern[str]:
    point = "," if decimal_comma else "."
    group = f"[{re.escape(_GROUPS[point])}]"
    return re.compile(
        r"(?P<before>[-+\u2212]?)\s?(?P<whole>[0-9]{1,18}|"
        rf"[0-9]{{1,3}}(?P<group>{group})[0-9]{{3}}(?:(?P=group)[0-9]{{3}})*)"
        rf"(?:{re.escape(point)}(?P<minor>[0-9]*))?\s?(?P<after>[-+\u2212]?)",
        re.ASCII,
    )


def _join_digits(whole: str, minor: str, written: WrittenAmount, place: FilePlace) -> int:
    digits = count_minor_digits(written.currency or "")
    if len(minor) > digits:
        raise place.refuse_value(
            written.element, written.text,
            "TOO_MANY_DECIMALS", currency=written.currency or "", digits=digits,
        )  # fmt: skip
    amount = whole.lstrip("0") + minor.ljust(digits, "0")
    if len(amount) > _MAX_DIGITS:
        raise place.refuse_value(
            written.element, written.text,
            "TOO_MANY_DIGITS", limit=_MAX_DIGITS,
        )  # fmt: skip
    return int(amount or "0")
