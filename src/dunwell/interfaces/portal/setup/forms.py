"""The form of one part of the settings: it shows what is stored, is filled with what was typed, and
is read back into keys of the merchant file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from dunwell.interfaces.portal.setup.reasons import read_reasons, show_reasons
from dunwell.interfaces.portal.setup.sections import (
    Choices,
    Section,
    flatten,
    list_fields,
    unflatten,
)
from dunwell.interfaces.web.form_fields import FormFields
from dunwell.interfaces.web.forms import (
    AmountFormat,
    Field,
    FieldKind,
    Form,
    FormContent,
    PlacedFaults,
    find_field,
    read_fields,
    show_fields,
)
from dunwell.operations.onboarding.write_file import compute_parts_revision
from dunwell.platform.errors import Fault

_REASONS = "disputes.reasons."


@dataclass(frozen=True, slots=True)
class SectionForm(Form):
    """`document`: the settings as a merchant file has them. `seen_revision`: the one that the user
    saw; "": the form shows what is stored now."""

    section: Section
    document: Mapping[str, Any]
    seen_revision: str = ""

    @property
    def revision(self) -> str:
        """What the form is compared with when it is saved."""
        return self.seen_revision or compute_parts_revision(self.document, self.section.keys)

    def fill(self, sent: FormFields) -> Self:
        form = replace(Form.fill(self, sent), seen_revision=sent["revision"])
        if self.section.name != "disputes":
            return form
        reasons = {name: sent.text(name) for name in sent if name.startswith(_REASONS)}
        return replace(form, typed={**form.typed, **reasons})

    def read(self) -> FormContent:
        """Keys of the merchant file, and what cannot be read."""
        content = read_fields(self.fields, self.typed, self.amounts)
        if self.section.name == "disputes":
            reasons = [each for _, each in read_reasons(self.typed, self.document)]
            content.parts.setdefault("disputes", {})["reasons"] = reasons
        return replace(content, parts=unflatten(self.section.name, content.parts))

    def place(self, faults: Sequence[Fault], root: str = "", whole: str = "") -> PlacedFaults:
        placed = Form.place(self, faults, root, whole)
        if self.section.name != "disputes":
            return placed
        return [(self._find_reason(fault.path) or name, fault) for name, fault in placed]

    def _find_reason(self, pointer: str) -> str:
        """The field of a reason to dispute that a fault is about; "" for other faults."""
        place = pointer.removeprefix("/").replace("/", ".")
        if not place.startswith(_REASONS):
            return ""
        index, _, key = place.removeprefix(_REASONS).partition(".")
        rows = read_reasons(self.typed, self.document)
        row = rows[int(index)][0] if index.isdecimal() and int(index) < len(rows) else ""
        return find_field(
            [name for name in self.typed if name.startswith(f"{row}.")], f"/{row}.{key}"
        )


def open_section(
    section: Section, document: Mapping[str, Any], choices: Choices, amounts: AmountFormat
) -> SectionForm:
    fields = list_fields(section, document, choices)
    stored = show_fields(fields, flatten(section.name, document), amounts)
    fields = [_widen(each, stored[each.name]) for each in fields]
    if section.name == "disputes":
        stored = {**stored, **show_reasons(document)}
    return SectionForm(
        fields, stored=stored, typed=stored, amounts=amounts, section=section, document=document
    )


def _widen(field: Field, stored: str | Sequence[str]) -> Field:
    """The stored value stays an option when the installation no longer offers it."""
    if field.kind not in (FieldKind.PICK, FieldKind.PICKS):
        return field
    values = [stored] if isinstance(stored, str) else stored
    more = [each for each in values if each and each not in field.options]
    return replace(field, options=(*field.options, *more))
