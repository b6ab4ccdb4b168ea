"""A step's condition as a form: each property has fields, empty where it is not asked for. Pure."""

from collections.abc import Mapping
from typing import Any

from dunwell.portal.processes.fields import (
    Manner,
    Reader,
    Shown,
    drop_nothing,
    read_several,
    write_several,
)

_MONEY = ("outstanding", "total")
_NUMBERS = ("age", "primaryAgeDays")
_CODES = ("country", "language")
_TICKS = ("itemType", "has")
_TEXTS = ("email", "mobileNumber", "city", "postalCode")
_TESTS = ("equals", "startsWith", "endsWith")
_ROOT = "when"
# Place -> field, for faults.
FIELDS: Mapping[str, str] = (
    {f"{_ROOT}.{name}": f"{_ROOT}.{name}.min" for name in (*_MONEY, *_NUMBERS)}
    | {
        place: place
        for name in (*_MONEY, *_NUMBERS)
        for place in (f"{_ROOT}.{name}.min", f"{_ROOT}.{name}.max")
    }
    | {f"{_ROOT}.{name}": f"{_ROOT}.{name}" for name in (*_CODES, *_TICKS, "customFields")}
    | {f"{_ROOT}.{name}": f"{_ROOT}.{name}.equals" for name in _TEXTS}
    | {_ROOT: f"{_ROOT}.outstanding.min"}
)  # fmt: skip


def show_condition(when: Mapping[str, Any] | None, manner: Manner) -> Shown:
    when = when or {}
    shown: Shown = {}
    for name in (*_MONEY, *_NUMBERS):
        for end in ("min", "max"):
            value = (when.get(name) or {}).get(end)
            written = manner.write(value) if name in _MONEY else value
            shown[f"{_ROOT}.{name}.{end}"] = "" if value is None else str(written)
    for name in _CODES:
        shown[f"{_ROOT}.{name}"] = write_several(when.get(name))
    for name in _TICKS:
        value = when.get(name) or []
        shown[f"{_ROOT}.{name}"] = [value] if isinstance(value, str) else [*value]
    for name in _TEXTS:
        for test in _TESTS:
            shown[f"{_ROOT}.{name}.{test}"] = (when.get(name) or {}).get(test) or ""
    custom = [f"{name} = {value}" for name, value in (when.get("customFields") or {}).items()]
    shown[f"{_ROOT}.customFields"] = "\n".join(custom)
    return shown


def read_condition(reader: Reader, standing: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """None: the step has none. standing: what the draft has, which tells how one code stands."""
    standing = standing or {}
    read: dict[str, Any] = {}
    for name in (*_MONEY, *_NUMBERS):
        take = reader.cents if name in _MONEY else reader.number
        read[name] = drop_nothing({end: take(f"{_ROOT}.{name}.{end}") for end in ("min", "max")})
    for name in _CODES:
        read[name] = read_several(reader.codes(f"{_ROOT}.{name}"), standing.get(name))
    types = reader.ticked(f"{_ROOT}.itemType", standing.get("itemType"))
    read["itemType"] = read_several(types, standing.get("itemType"))
    read["has"] = reader.ticked(f"{_ROOT}.has", standing.get("has")) or None
    for name in _TEXTS:
        read[name] = drop_nothing({test: reader.text(f"{_ROOT}.{name}.{test}") for test in _TESTS})
    read["customFields"] = _read_custom(reader.text(f"{_ROOT}.customFields"))
    return drop_nothing(read)


def _read_custom(typed: str | None) -> dict[str, str] | None:
    """A line for each: name = value."""
    pairs = [line.partition("=") for line in (typed or "").splitlines() if line.strip()]
    return {name.strip(): value.strip() for name, _, value in pairs} or None
