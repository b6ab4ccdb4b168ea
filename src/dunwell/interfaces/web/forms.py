"""Forms over a document: render the document's values as text, and parse the text that a user
typed. A field is named by the path of its value in the document, with dots: "legal.name" is
/legal/name. A fault at that path or below it belongs to the field. Text that cannot be parsed
becomes a fault of its field and is shown again as typed. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias

from dunwell.interfaces.web.amounts import parse_amount, render_typed_amount
from dunwell.platform.errors import Fault


class FormFields(Mapping[str, str]):
    """The fields of a form by name. A missing field is "", and a repeated one is its last value."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> str:
        return self._values.get(name, [""])[-1]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def text(self, name: str) -> str:
        """Return the value without surrounding white space and with plain line ends."""
        return self[name].replace("\r\n", "\n").strip()

    def all(self, name: str) -> list[str]:
        """Return all values of a repeated field."""
        return self._values.get(name, [])


# The texts in a form by field name, a list if a field can have several values.
Typed: TypeAlias = Mapping[str, str | Sequence[str]]
# Faults, each with the name of the field next to which it is shown, "" for none.
FieldFaults: TypeAlias = Sequence[tuple[str, Fault]]
_MAX_DIGITS = 10


class FieldKind(StrEnum):
    TEXT = "TEXT"
    # A text whose spaces at both ends are kept.
    EXACT = "EXACT"
    # A text with several lines.
    BLOCK = "BLOCK"
    # A list with one value on each line.
    LINES = "LINES"
    # A list of codes, separated by commas or spaces.
    CODES = "CODES"
    NUMBER = "NUMBER"
    # A list of numbers, separated by commas.
    NUMBERS = "NUMBERS"
    # Minor units in the document, an amount in the form's currency in the form.
    MONEY = "MONEY"
    FLAG = "FLAG"
    # One of the options.
    PICK = "PICK"
    # Any of the options, in the order of the document.
    PICKS = "PICKS"
    # A check box that says whether the part of the document with this name exists.
    PART = "PART"
    # A list of pairs, sent as two lists called NAME.name and NAME.value.
    PAIRS = "PAIRS"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form. Fields with the same `group` are shown together."""

    name: str
    kind: FieldKind = FieldKind.TEXT
    options: tuple[str, ...] = ()
    group: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class AmountFormat:
    """The currency of a form's amounts, and the language for their decimal separator."""

    currency: str
    language: str


@dataclass(frozen=True, slots=True)
class FormContent:
    """The content of a form: `parts` of the document, and `faults` for what could not be parsed."""

    parts: dict[str, Any] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)

    def combine_faults(self, faults: FieldFaults) -> FieldFaults:
        """Return the parsing faults together with `faults`. A field that could not be parsed gets
        no second fault for its missing value."""
        unparsed = {name for name, _ in self.faults}
        return [*self.faults, *(each for each in faults if each[0] not in unparsed)]


@dataclass(frozen=True, slots=True)
class Form:
    """`stored` has the document's values as text. `typed` has what the form shows."""

    fields: Sequence[Field]
    stored: Typed
    typed: Typed
    amounts: AmountFormat

    def with_sent_fields(self, sent: FormFields) -> Self:
        """Return the form with the fields that the browser sent."""
        typed: dict[str, str | Sequence[str]] = {}
        for each in self.fields:
            if each.kind is FieldKind.PICKS:
                typed[each.name] = _sort_as_stored(sent.all(each.name), self.stored[each.name])
            elif each.kind is FieldKind.PAIRS:
                typed |= _collect_pairs(each.name, sent)
            else:
                is_exact = each.kind is FieldKind.EXACT and sent[each.name].strip()
                typed[each.name] = sent[each.name] if is_exact else sent.text(each.name)
        return replace(self, typed=typed)

    def parse_content(self) -> FormContent:
        """Return the content, without empty values and without parts that do not exist."""
        return parse_fields(self.fields, self.typed, self.amounts)

    def locate_faults(
        self, faults: Sequence[Fault], root: str = "", fallback: str = ""
    ) -> FieldFaults:
        """Return the faults at or below `root`, each with the name of its field. A fault without a
        field, such as one of the document as a whole, gets the name `fallback`."""
        names = [each.name for each in self.fields]
        return [
            (find_field(names, each.path.removeprefix(root)) or fallback, each)
            for each in faults
            if f"{each.path}/".startswith(f"{root}/")
        ]

    def list_differences(self) -> Iterator[tuple[str, object, object]]:
        """Yield the name, stored text and typed text of each field that differs."""
        for name in {**self.stored, **self.typed}:
            before, after = self.stored.get(name, ""), self.typed.get(name, "")
            if before != after:
                yield name, before, after


def build_form(fields: Sequence[Field], document: Mapping[str, Any], amounts: AmountFormat) -> Form:
    """Return the form of a stored document."""
    typed = render_fields(fields, document, amounts)
    return Form(fields, stored=typed, typed=typed, amounts=amounts)


def render_fields(
    fields: Sequence[Field], document: Mapping[str, Any], amounts: AmountFormat
) -> Typed:
    """Return the document's values as text."""
    typed: dict[str, str | Sequence[str]] = {}
    for each in fields:
        value = _get_value(document, each.name)
        if each.kind is FieldKind.PAIRS:
            typed[f"{each.name}.name"] = [name for name, _ in value or ()]
            typed[f"{each.name}.value"] = [text for _, text in value or ()]
        else:
            typed[each.name] = _render_value(each, value, amounts)
    return typed


def parse_fields(fields: Sequence[Field], typed: Typed, amounts: AmountFormat) -> FormContent:
    """Parse the fields. An empty field is absent, and the fields of a part that does not exist are
    ignored."""
    content = FormContent()
    parts = [each.name for each in fields if each.kind is FieldKind.PART]
    absent = tuple(f"{name}." for name in parts if not typed[name])
    for each in fields:
        if each.name.startswith(absent):
            continue
        value = _parse_value(each, typed, amounts)
        if value is None and each.is_required:
            value = Fault("", "Please fill this in.", "REQUIRED")
        if isinstance(value, Fault):
            content.faults.append((each.name, value))
        elif value is not None:
            _set_value(content.parts, each.name, value)
    return content


def find_field(names: Sequence[str], pointer: str) -> str:
    """Return the field for a fault at this path of the document, or the nearest field, or "" if
    there is none."""
    path = pointer.removeprefix("/").replace("/", ".")
    above = [each for each in names if path == each or path.startswith(f"{each}.")]
    if above:
        return max(above, key=len)
    while path:
        below = [each for each in names if each.startswith(f"{path}.")]
        if below:
            return below[0]
        path = path.rpartition(".")[0]
    return ""


def parse_number(text: str) -> int | Fault:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdecimal() and len(digits) <= _MAX_DIGITS:
        return int(text)
    return Fault("", "Enter a whole number.", "NUMBER")


def _collect_pairs(name: str, sent: FormFields) -> dict[str, list[str]]:
    """Return the rows that are at least partly filled in."""
    names, values = sent.all(f"{name}.name"), sent.all(f"{name}.value")
    rows = [(left.strip(), right) for left, right in zip(names, values, strict=False)]
    rows = [(left, right) for left, right in rows if left or right.strip()]
    return {
        f"{name}.name": [left for left, _ in rows],
        f"{name}.value": [right for _, right in rows],
    }


def _render_value(form_field: Field, value: Any, amounts: AmountFormat) -> str | Sequence[str]:
    if form_field.kind is FieldKind.PICKS:
        return list(value or ())
    if form_field.kind is FieldKind.PART:
        return "" if value is None else "yes"
    if value is None or value is False:
        return ""
    if form_field.kind is FieldKind.MONEY and str(value).isascii() and str(value).isdecimal():
        return render_typed_amount(int(value), amounts.currency, amounts.language)
    if isinstance(value, list):
        return ("\n" if form_field.kind is FieldKind.LINES else ", ").join(map(str, value))
    return "yes" if form_field.kind is FieldKind.FLAG else str(value)


def _parse_value(form_field: Field, typed: Typed, amounts: AmountFormat) -> Any:
    """Return a value of the document, None if it is absent, or a Fault if it cannot be parsed."""
    if form_field.kind is FieldKind.PAIRS:
        return [
            *zip(typed[f"{form_field.name}.name"], typed[f"{form_field.name}.value"], strict=True)
        ]
    typed_value = typed[form_field.name]
    if not isinstance(typed_value, str):
        return list(typed_value)
    text = typed_value if form_field.kind is FieldKind.EXACT else typed_value.strip()
    if text and form_field.kind is FieldKind.MONEY:
        return _parse_money(text, amounts)
    if text or form_field.kind in _EMPTY_VALUES:
        return _PARSERS.get(form_field.kind, str)(text)
    return None


def _parse_money(text: str, amounts: AmountFormat) -> str | Fault:
    cents = parse_amount(text, amounts.currency, amounts.language)
    return Fault("", "Enter an amount, e.g. 49.90.", "AMOUNT") if cents is None else str(cents)


def _parse_lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _parse_codes(text: str) -> list[str]:
    return text.replace(",", " ").replace(";", " ").split()


def _parse_numbers(text: str) -> list[int] | Fault:
    parsed = [parse_number(part.strip()) for part in text.split(",") if part.strip()]
    numbers = [each for each in parsed if isinstance(each, int)]
    return (
        numbers
        if len(numbers) == len(parsed)
        else Fault("", "Enter whole numbers, separated by commas.", "NUMBER")
    )


_PARSERS: Mapping[FieldKind, Callable[[str], Any]] = {
    FieldKind.NUMBER: parse_number,
    FieldKind.NUMBERS: _parse_numbers,
    FieldKind.LINES: _parse_lines,
    FieldKind.CODES: _parse_codes,
    FieldKind.FLAG: bool,
    FieldKind.PART: lambda _: {},
}
# Kinds of fields that have a value even if they are empty.
_EMPTY_VALUES = (FieldKind.LINES, FieldKind.CODES, FieldKind.FLAG)


def _sort_as_stored(selected: Sequence[str], stored: str | Sequence[str]) -> list[str]:
    """Return the selected options in the stored order."""
    before = list(stored)
    return sorted(selected, key=lambda each: before.index(each) if each in before else len(before))


def _get_value(document: Mapping[str, Any], name: str) -> Any:
    value: Any = document
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _set_value(document: dict[str, Any], name: str, value: Any) -> None:
    *outer, last = name.split(".")
    for part in outer:
        document = document.setdefault(part, {})
    document[last] = value
