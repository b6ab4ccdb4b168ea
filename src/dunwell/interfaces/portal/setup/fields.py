"""Fields of the settings' forms: how a value of the merchant file is shown to be typed, and what
was typed is read as.

A field is called as its place in the file, with points: "legal.name" is /legal/name, and a fault at
that place, or below it, is the field's. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TypeAlias

from dunwell.interfaces.web.amounts import read_amount, render_plain
from dunwell.platform.errors import Fault

# By the field's name; of one in which several can be ticked, a list.
Typed: TypeAlias = Mapping[str, str | Sequence[str]]


class Kind(StrEnum):
    TEXT = "TEXT"
    # Several lines.
    BLOCK = "BLOCK"
    # One value a line.
    LINES = "LINES"
    NUMBER = "NUMBER"
    # Several, with commas.
    NUMBERS = "NUMBERS"
    # Minor units in the file, as an amount of the merchant's currency here.
    MONEY = "MONEY"
    FLAG = "FLAG"
    PICK = "PICK"
    # Any of the options, in the order in which they stand in the file.
    PICKS = "PICKS"
    # Says whether the part of the file with this name is there at all.
    PART = "PART"


@dataclass(frozen=True, slots=True)
class Field:
    """`group`: fields of one group stand together."""

    name: str
    kind: Kind = Kind.TEXT
    options: tuple[str, ...] = ()
    group: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Tongue:
    """In which amounts are typed."""

    currency: str
    language: str


@dataclass(frozen=True, slots=True)
class Read:
    """`parts`: keys of the merchant file. `faults`: by the field's name, of what cannot be read."""

    parts: dict[str, Any] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)


def show_fields(fields: Sequence[Field], document: Mapping[str, Any], tongue: Tongue) -> Typed:
    """The document's values as they are typed."""
    return {each.name: _show(each, _find(document, each.name), tongue) for each in fields}


def read_fields(fields: Sequence[Field], typed: Typed, tongue: Tongue) -> Read:
    """What is left empty is absent; of a part that is not there, so are its fields."""
    read = Read()
    absent = [f"{each.name}." for each in fields if each.kind is Kind.PART and not typed[each.name]]
    for each in fields:
        if each.kind is Kind.PART:
            if typed[each.name]:
                _put(read.parts, each.name, {})
            continue
        if any(each.name.startswith(part) for part in absent):
            continue
        value = _read(each, typed[each.name], tongue)
        if value is None and each.is_required:
            value = Fault("", "Please fill this in.", "REQUIRED")
        if isinstance(value, Fault):
            read.faults.append((each.name, value))
        elif value is not None:
            _put(read.parts, each.name, value)
    return read


def find_field(names: Sequence[str], pointer: str) -> str:
    """The name of the field that a fault at this place of the file is about, or else the nearest
    one; "": none of them."""
    place = pointer.removeprefix("/").replace("/", ".")
    above = [each for each in names if place == each or place.startswith(f"{each}.")]
    if above:
        return max(above, key=len)
    while place:
        below = [each for each in names if each.startswith(f"{place}.")]
        if below:
            return below[0]
        place = place.rpartition(".")[0]
    return ""


def _show(each: Field, value: Any, tongue: Tongue) -> str | Sequence[str]:
    if each.kind is Kind.PICKS:
        return list(value or ())
    if each.kind is Kind.PART:
        return "" if value is None else "yes"
    if value is None or value is False:
        return ""
    if each.kind is Kind.MONEY:
        return render_plain(int(value), tongue.currency, tongue.language)
    if isinstance(value, list):
        return ("\n" if each.kind is Kind.LINES else ", ").join(map(str, value))
    return "yes" if each.kind is Kind.FLAG else str(value)


def _read(each: Field, typed: str | Sequence[str], tongue: Tongue) -> Any:
    """A value of the file; None: absent; or the Fault that it cannot be read."""
    if not isinstance(typed, str):
        return list(typed)
    text = typed.strip()
    if each.kind is Kind.FLAG:
        return bool(text)
    if each.kind is Kind.LINES:
        return [line.strip() for line in text.splitlines() if line.strip()]
    if not text:
        return None
    readers = {Kind.NUMBER: _read_number, Kind.NUMBERS: _read_numbers}
    if each.kind is Kind.MONEY:
        cents = read_amount(text, tongue.currency, tongue.language)
        return Fault("", "This is no amount.", "AMOUNT") if cents is None else str(cents)
    return readers.get(each.kind, str)(text)


def _read_numbers(text: str) -> list[int] | Fault:
    read = [_read_number(part.strip()) for part in text.split(",") if part.strip()]
    numbers = [each for each in read if isinstance(each, int)]
    return numbers if len(numbers) == len(read) else Fault("", "These are no numbers.", "NUMBER")


def _read_number(text: str) -> int | Fault:
    if text.isascii() and text.isdecimal() and len(text) <= 9:
        return int(text)
    return Fault("", "This is no whole number.", "NUMBER")


def _find(document: Mapping[str, Any], name: str) -> Any:
    value: Any = document
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _put(document: dict[str, Any], name: str, value: Any) -> None:
    *outer, last = name.split(".")
    for part in outer:
        document = document.setdefault(part, {})
    document[last] = value
