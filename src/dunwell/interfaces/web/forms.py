"""Forms over a document: how its values are shown to be typed, and how typed text is read back.

A field is named by the place of its value in the document, with points: "legal.name" is
/legal/name, and a fault at that place, or below it, belongs to the field. Text that cannot be read
becomes a fault of its field and is shown again as it was typed. Pure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias

from dunwell.interfaces.web.amounts import read_amount, render_plain
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.platform.errors import Fault

# What stands in a form, by the field's name; a list where a field can have several values.
Typed: TypeAlias = Mapping[str, str | Sequence[str]]
# Faults, each with the name of the field beside which it is shown; "" for none.
PlacedFaults: TypeAlias = Sequence[tuple[str, Fault]]
_MAX_DIGITS = 10


class FieldKind(StrEnum):
    TEXT = "TEXT"
    # A text whose spaces at both ends count.
    EXACT = "EXACT"
    # A text of several lines.
    BLOCK = "BLOCK"
    # A list with one value on each line.
    LINES = "LINES"
    # A list of codes with commas or spaces between them.
    CODES = "CODES"
    NUMBER = "NUMBER"
    # A list of numbers with commas between them.
    NUMBERS = "NUMBERS"
    # Minor units in the document, an amount of the form's currency in the form.
    MONEY = "MONEY"
    FLAG = "FLAG"
    # One of the options.
    PICK = "PICK"
    # Any of the options, in the order of the document.
    PICKS = "PICKS"
    # Whether the part of the document with this name exists.
    PART = "PART"
    # A list of pairs, typed as two lists called NAME.name and NAME.value.
    PAIRS = "PAIRS"


@dataclass(frozen=True, slots=True)
class Field:
    """`group`: fields of one group are shown together."""

    name: str
    kind: FieldKind = FieldKind.TEXT
    options: tuple[str, ...] = ()
    group: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class AmountFormat:
    """The currency of a form's amounts, and the language whose decimal sign they have."""

    currency: str
    language: str


@dataclass(frozen=True, slots=True)
class FormContent:
    """What a form says: `parts` of the document, and `faults` for what could not be read."""

    parts: dict[str, Any] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)

    def add(self, faults: PlacedFaults) -> PlacedFaults:
        """All faults. A field that could not be read gets no second fault for its absence."""
        unreadable = {name for name, _ in self.faults}
        return [*self.faults, *(each for each in faults if each[0] not in unreadable)]


@dataclass(frozen=True, slots=True)
class Form:
    """`stored`: the document as it would be typed. `typed`: what the form shows."""

    fields: Sequence[Field]
    stored: Typed
    typed: Typed
    amounts: AmountFormat

    def fill(self, sent: FormFields) -> Self:
        """The form with what was sent."""
        typed: dict[str, str | Sequence[str]] = {}
        for each in self.fields:
            if each.kind is FieldKind.PICKS:
                typed[each.name] = _order(sent.all(each.name), self.stored[each.name])
            elif each.kind is FieldKind.PAIRS:
                typed |= _take_pairs(each.name, sent)
            else:
                is_exact = each.kind is FieldKind.EXACT and sent[each.name].strip()
                typed[each.name] = sent[each.name] if is_exact else sent.text(each.name)
        return replace(self, typed=typed)

    def read(self) -> FormContent:
        """The content, without what is empty and without the parts that do not exist."""
        return read_fields(self.fields, self.typed, self.amounts)

    def place(self, faults: Sequence[Fault], root: str = "", whole: str = "") -> PlacedFaults:
        """The faults at or below `root`, each with its field. `whole`: the field that shows what is
        wrong with the document as a whole."""
        names = [each.name for each in self.fields]
        return [
            (find_field(names, each.path.removeprefix(root)) or whole, each)
            for each in faults
            if f"{each.path}/".startswith(f"{root}/")
        ]

    def list_differences(self) -> Iterator[tuple[str, object, object]]:
        """Name, stored text and typed text of each field that differs."""
        for name in {**self.stored, **self.typed}:
            before, after = self.stored.get(name, ""), self.typed.get(name, "")
            if before != after:
                yield name, before, after


def open_form(fields: Sequence[Field], document: Mapping[str, Any], amounts: AmountFormat) -> Form:
    """The form of a document as it is stored."""
    typed = show_fields(fields, document, amounts)
    return Form(fields, stored=typed, typed=typed, amounts=amounts)


def show_fields(
    fields: Sequence[Field], document: Mapping[str, Any], amounts: AmountFormat
) -> Typed:
    """The document's values as they are typed."""
    typed: dict[str, str | Sequence[str]] = {}
    for each in fields:
        value = _find(document, each.name)
        if each.kind is FieldKind.PAIRS:
            typed[f"{each.name}.name"] = [name for name, _ in value or ()]
            typed[f"{each.name}.value"] = [text for _, text in value or ()]
        else:
            typed[each.name] = _show(each, value, amounts)
    return typed


def read_fields(fields: Sequence[Field], typed: Typed, amounts: AmountFormat) -> FormContent:
    """What is left empty is absent; the fields of a part that does not exist are ignored."""
    content = FormContent()
    parts = [each.name for each in fields if each.kind is FieldKind.PART]
    absent = tuple(f"{name}." for name in parts if not typed[name])
    for each in fields:
        if each.name.startswith(absent):
            continue
        value = _read(each, typed, amounts)
        if value is None and each.is_required:
            value = Fault("", "Please fill this in.", "REQUIRED")
        if isinstance(value, Fault):
            content.faults.append((each.name, value))
        elif value is not None:
            _put(content.parts, each.name, value)
    return content


def find_field(names: Sequence[str], pointer: str) -> str:
    """The name of the field for a fault at this place of the document, or else the nearest field;
    "" if there is none."""
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


def read_number(text: str) -> int | Fault:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS:
        return int(text)
    return Fault("", "This is no whole number.", "NUMBER")


def _take_pairs(name: str, sent: FormFields) -> dict[str, list[str]]:
    """Rows that are filled in at least in part."""
    names, values = sent.all(f"{name}.name"), sent.all(f"{name}.value")
    rows = [(left.strip(), right) for left, right in zip(names, values, strict=False)]
    rows = [(left, right) for left, right in rows if left or right.strip()]
    return {
        f"{name}.name": [left for left, _ in rows],
        f"{name}.value": [right for _, right in rows],
    }


def _show(each: Field, value: Any, amounts: AmountFormat) -> str | Sequence[str]:
    if each.kind is FieldKind.PICKS:
        return list(value or ())
    if each.kind is FieldKind.PART:
        return "" if value is None else "yes"
    if value is None or value is False:
        return ""
    if each.kind is FieldKind.MONEY and str(value).isascii() and str(value).isdecimal():
        return render_plain(int(value), amounts.currency, amounts.language)
    if isinstance(value, list):
        return ("\n" if each.kind is FieldKind.LINES else ", ").join(map(str, value))
    return "yes" if each.kind is FieldKind.FLAG else str(value)


def _read(each: Field, typed: Typed, amounts: AmountFormat) -> Any:
    """A value of the document; None if it is absent; a Fault if it cannot be read."""
    if each.kind is FieldKind.PAIRS:
        return [*zip(typed[f"{each.name}.name"], typed[f"{each.name}.value"], strict=True)]
    given = typed[each.name]
    if not isinstance(given, str):
        return list(given)
    text = given if each.kind is FieldKind.EXACT else given.strip()
    if text and each.kind is FieldKind.MONEY:
        return _read_money(text, amounts)
    if text or each.kind in _EMPTY_VALUES:
        return _READERS.get(each.kind, str)(text)
    return None


def _read_money(text: str, amounts: AmountFormat) -> str | Fault:
    cents = read_amount(text, amounts.currency, amounts.language)
    return Fault("", "This is no amount.", "AMOUNT") if cents is None else str(cents)


def _read_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _read_codes(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


def _read_numbers(text: str) -> list[int] | Fault:
    read = [read_number(part.strip()) for part in text.split(",") if part.strip()]
    numbers = [each for each in read if isinstance(each, int)]
    return numbers if len(numbers) == len(read) else Fault("", "These are no numbers.", "NUMBER")


_READERS: Mapping[FieldKind, Callable[[str], Any]] = {
    FieldKind.NUMBER: read_number,
    FieldKind.NUMBERS: _read_numbers,
    FieldKind.LINES: _read_lines,
    FieldKind.CODES: _read_codes,
    FieldKind.FLAG: bool,
    FieldKind.PART: lambda _: {},
}
# Kinds of which a field that is left empty still has a value.
_EMPTY_VALUES = (FieldKind.LINES, FieldKind.CODES, FieldKind.FLAG)


def _order(given: Sequence[str], stored: str | Sequence[str]) -> list[str]:
    """What was ticked, in the order in which it is stored."""
    before = list(stored)
    return sorted(given, key=lambda each: before.index(each) if each in before else len(before))


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
