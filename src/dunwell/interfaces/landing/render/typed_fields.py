"""Fields of a submitted form: days in three fields, and the texts that a page shows again. Pure."""

from collections.abc import Mapping
from datetime import date

_PARTS = ("year", "month", "day")


def is_day_given(fields: Mapping[str, str], name: str) -> bool:
    """Whether anything stands in one of the three."""
    return any(fields.get(f"{name}_{part}", "").strip() for part in _PARTS)


def parse_day(fields: Mapping[str, str], name: str) -> date | None:
    """None for what is no day."""
    return _join([fields.get(f"{name}_{part}", "").strip() for part in _PARTS])


def parse_birth_date(fields: Mapping[str, str], name: str) -> str | None:
    """Return the day as 1984-03-27, or as 84-03-27 if the year was typed with two digits.

    None for what is no day. A year of two digits is not completed: people of a hundred are as
    welcome as people of twenty.
    """
    year = fields.get(f"{name}_year", "").strip()
    if len(year) == len("1984"):
        day = parse_day(fields, name)
        return None if day is None else day.isoformat()
    if len(year) != len("84"):
        return None
    # A leap year of either century has a 29 February: 1900 was none, 2000 was.
    completed = (parse_day({**fields, f"{name}_year": f"{each}{year}"}, name) for each in (20, 19))
    found = next((day for day in completed if day is not None), None)
    return None if found is None else found.isoformat()[len("19") :]


def parse_iso_day(text: str) -> date | None:
    """2026-03-16."""
    return _join(text.split("-"))


def _join(parts: list[str]) -> date | None:
    if len(parts) != len(_PARTS) or not all(_is_number(part) for part in parts):
        return None
    year, month, day = map(int, parts)
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len("2026")


# Texts, amounts and addresses of the claim's forms, in the order in which they are shown.
_SHOWN = ("message", "person", "court", "number", "amount", "rate", "address")
# Days that are typed in three fields: when something happened or was sent, and a first payment.
_DAYS = ("day", "on", "first")
# Twice what the longest text may have, so that one that was refused for its length is seen too.
_LONGEST = 4_000


def list_typed_texts(form: Mapping[str, str]) -> list[str]:
    """In the reader's own words, without what is empty."""
    texts = (form.get(name, "") for name in _SHOWN)
    days = (_join_day(form, name) for name in _DAYS)
    return [text.strip()[:_LONGEST] for text in (*texts, *days) if text.strip()]


def _join_day(form: Mapping[str, str], name: str) -> str:
    parts = (form.get(f"{name}_{part}", "") for part in ("day", "month", "year"))
    return " ".join(part.strip() for part in parts)
