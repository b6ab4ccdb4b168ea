"""Reads a day from the three fields of a form, or as an address carries it. Pure."""

from collections.abc import Mapping
from datetime import date

_PARTS = ("year", "month", "day")


def is_given(fields: Mapping[str, str], name: str) -> bool:
    """Whether anything stands in one of the three."""
    return any(fields.get(f"{name}_{part}", "").strip() for part in _PARTS)


def read_day(fields: Mapping[str, str], name: str) -> date | None:
    """None for what is no day."""
    return _join([fields.get(f"{name}_{part}", "").strip() for part in _PARTS])


def read_carried_day(text: str) -> date | None:
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
