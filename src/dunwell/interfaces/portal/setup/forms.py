"""The form of one part of the settings: opened on what is stored, filled with what was typed, read
back into keys of the merchant file."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dunwell.interfaces.portal.setup.fields import (
    Field,
    Kind,
    Read,
    Tongue,
    Typed,
    find_field,
    read_fields,
    show_fields,
)
from dunwell.interfaces.portal.setup.reasons import read_reasons, show_reasons
from dunwell.interfaces.portal.setup.sections import (
    Choices,
    Section,
    flatten,
    list_fields,
    unflatten,
)
from dunwell.interfaces.portal.web.visit import Fields
from dunwell.operations.onboarding.write_file import mark_parts
from dunwell.platform.errors import Fault

_REASONS = "disputes.reasons."


@dataclass(frozen=True, slots=True)
class Form:
    """`document`: the settings as a merchant file has them. `stored`: as they are typed. `typed`:
    what stands in the form."""

    section: Section
    document: Mapping[str, Any]
    fields: Sequence[Field]
    stored: Typed
    typed: Typed
    tongue: Tongue

    @property
    def seen(self) -> str:
        """The mark of what is stored."""
        return mark_parts(self.document, self.section.keys)

    def fill(self, fields: Fields) -> Self:
        """With what was sent, of its fields alone; several ticks in the order they are stored."""
        typed: dict[str, str | Sequence[str]] = {}
        for each in self.fields:
            if each.kind is Kind.PICKS:
                typed[each.name] = _order(fields.all(each.name), self.stored[each.name])
            else:
                typed[each.name] = fields.text(each.name)
        if self.section.name == "disputes":
            given = (name for name in fields.list_names() if name.startswith(_REASONS))
            typed |= {name: fields.text(name) for name in given}
        return replace(self, typed=typed)

    def read(self) -> Read:
        """Keys of the merchant file, without the values that cannot be read, and the faults of
        those."""
        read = read_fields(self.fields, self.typed, self.tongue)
        if self.section.name == "disputes":
            reasons = [each for _, each in read_reasons(self.typed, self.document)]
            read.parts.setdefault("disputes", {})["reasons"] = reasons
        return Read(unflatten(self.section.name, read.parts), read.faults)

    def place(self, faults: Sequence[Fault]) -> list[tuple[str, Fault]]:
        """Each beside its field; "" for what is about none."""
        names = [each.name for each in self.fields]
        return [(self._find(fault.path, names), fault) for fault in faults]

    def list_differences(self) -> Iterator[tuple[str, object, object]]:
        """Name, stored and typed of each field that differs."""
        for name in {**self.stored, **self.typed}:
            before, after = self.stored.get(name, ""), self.typed.get(name, "")
            if before != after:
                yield name, before, after

    def _find(self, pointer: str, names: Sequence[str]) -> str:
        place = pointer.removeprefix("/").replace("/", ".")
        if self.section.name == "disputes" and place.startswith(_REASONS):
            index, _, key = place.removeprefix(_REASONS).partition(".")
            rows = read_reasons(self.typed, self.document)
            row = rows[int(index)][0] if index.isdecimal() and int(index) < len(rows) else ""
            own = [name for name in self.typed if name.startswith(f"{row}.")]
            return find_field(own, f"/{row}.{key}")
        return find_field(names, pointer)


def open_form(
    section: Section, document: Mapping[str, Any], choices: Choices, tongue: Tongue
) -> Form:
    fields = list_fields(section, document, choices)
    stored = show_fields(fields, flatten(section.name, document), tongue)
    fields = [_widen(each, stored[each.name]) for each in fields]
    if section.name == "disputes":
        stored = {**stored, **show_reasons(document)}
    return Form(section, document, fields, stored=stored, typed=stored, tongue=tongue)


def _widen(field: Field, stored: str | Sequence[str]) -> Field:
    """What is stored can be left as it is, though the installation offers it no more."""
    values = [stored] if isinstance(stored, str) else stored
    if field.kind not in (Kind.PICK, Kind.PICKS):
        return field
    more = [each for each in values if each and each not in field.options]
    return replace(field, options=(*field.options, *more))


def _order(given: Sequence[str], stored: str | Sequence[str]) -> list[str]:
    before = list(stored)
    return sorted(given, key=lambda each: before.index(each) if each in before else len(before))
