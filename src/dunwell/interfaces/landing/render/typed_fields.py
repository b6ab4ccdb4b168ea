"""Fields of a submitted form: days in three fields, and the texts that a page shows again.

Only the texts of the named fields are shown again. Proofs of identity, such as codes, dates of
birth and postal codes, and hidden values are never among them. Pure.
"""

from collections.abc import Mapping
from datetime import date

_PARTS = ("year", "month", "day")


def is_day_given(fields: Mapping[str, str], name: str) -> bool:
    """Return whether at least one of the three fields was filled in."""
    return any(fields.get(f"{name}_{part}", "").strip() for part in _PARTS)


def parse_day(fields: Mapping[str, str], name: str) -> date | None:
    """Parse the day in the three fields. Return None if they are not a valid date."""
    return _build_day([fields.get(f"{name}_{part}", "").strip() for part in _PARTS])


def parse_birth_date(fields: Mapping[str, str], name: str) -> str | None:
    """Parse a date of birth. Return 1984-03-27, or 84-03-27 if the year has two digits.

    Return None if it is not a valid date. The century of a year with two digits is not guessed,
    because the debtor may be twenty or a hundred years old.
    """
    year = fields.get(f"{name}_year", "").strip()
    if len(year) == len("1984"):
        day = parse_day(fields, name)
        return None if day is None else day.isoformat()
    if len(year) != len("84"):
        return None
    # A year with two digits is a leap year in one century but maybe not in the other: 1900 was not
    # a leap year, 2000 was one.
    completed = (parse_day({**fields, f"{name}_year": f"{each}{year}"}, name) for each in (20, 19))
    found = next((day for day in completed if day is not None), None)
    return None if found is None else found.isoformat()[len("19") :]


def parse_iso_day(text: str) -> date | None:
    """Parse a day such as 2026-03-16. Return None if it is not a valid date."""
    return _build_day(text.split("-"))


def _build_day(parts: list[str]) -> date | None:
    if len(parts) != len(_PARTS) or not all(_is_number(part) for part in parts):
        return None
    year, month, day = map(int, parts)
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len("2026")


# Texts, amounts and addresses in the forms of a claim, in the order in which they are shown.
_TEXT_FIELDS = ("message", "person", "court", "number", "amount", "monthly_amount", "address")
# Days in three fields: the day of an event or a transfer, and of a first payment.
_DAY_FIELDS = ("day", "on", "first")
# Twice the maximum length of the longest text, so that a text that was too long is shown too.
_MAX_LENGTH = 4_000


def list_typed_texts(form: Mapping[str, str]) -> list[str]:
    """List the non-empty texts as they were entered."""
    texts = (form.get(name, "") for name in _TEXT_FIELDS)
    days = (_join_day(form, name) for name in _DAY_FIELDS)
    return [text.strip()[:_MAX_LENGTH] for text in (*texts, *days) if text.strip()]


def _join_day(form: Mapping[str, str], name: str) -> str:
    parts = (form.get(f"{name}_{part}", "") for part in ("day", "month", "year"))
    return " ".join(part.strip() for part in parts)
