"""What the audit log stores and shows of a field, by the class of the field.

SECRET    never shown, whatever the row holds
PERSONAL  data of debtors and free text of users: masked when written, and never shown, not even
          from rows that were written before masking
PLAIN     statuses, amounts, dates and ids: shown
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# Replaces a personal value: the log shows that it changed, but not what it was.
MASKED = "***"


class FieldClass(StrEnum):
    SECRET = "SECRET"  # noqa: S105 - a class of fields
    PERSONAL = "PERSONAL"
    PLAIN = "PLAIN"


_SECRET = frozenset((
    "secret", "oldSecret", "clientSecret", "password", "token", "accessToken",
    "key", "code", "link",
))  # fmt: skip
_PERSONAL = frozenset((
    "email", "mobileNumber", "phone", "salutation", "debtorName", "debtorLastName", "companyName",
    "street", "addressLine2", "postalCode", "city", "dateOfBirth", "customerNumber",
    "contractNumber", "customFields", "iban", "message", "text", "note", "words", "fileName",
    "friendlyName",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class ShownField:
    """A field of `before` and `after`. A side that is absent or masked is None; `is_before_masked`
    and `is_after_masked` tell the two apart."""

    name: str
    field_class: FieldClass
    before: Any
    after: Any
    is_before_masked: bool
    is_after_masked: bool


def classify_field(name: str) -> FieldClass:
    if name in _SECRET:
        return FieldClass.SECRET
    return FieldClass.PERSONAL if name in _PERSONAL else FieldClass.PLAIN


def list_shown_fields(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> list[ShownField]:
    """Return the fields that either side has: first those of `before`, then the others."""
    before, after = before or {}, after or {}
    return [
        _build_shown_field(name, before.get(name), after.get(name)) for name in {**before, **after}
    ]


def redact(value: Any, name: str = "") -> Any:
    """Return the value as the log shows it. Nested values are redacted by their own names."""
    if value is None:
        return None
    if name and classify_field(name) is not FieldClass.PLAIN:
        return MASKED
    if isinstance(value, Mapping):
        return {each: redact(inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [redact(each) for each in value]
    return value


def _build_shown_field(name: str, before: Any, after: Any) -> ShownField:
    shown_before, shown_after = redact(before, name), redact(after, name)
    is_masked = MASKED in (shown_before, shown_after)
    field_class = classify_field(name)
    shown_class = (
        FieldClass.PERSONAL if is_masked and field_class is FieldClass.PLAIN else field_class
    )
    return ShownField(
        name,
        shown_class,
        before=None if shown_before == MASKED else shown_before,
        after=None if shown_after == MASKED else shown_after,
        is_before_masked=shown_before == MASKED,
        is_after_masked=shown_after == MASKED,
    )


def mask(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return for each field MASKED if it has a value, else None."""
    return {name: None if value is None else MASKED for name, value in values.items()}


def select_changed_fields(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that differ, from both sides. A missing field is None."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {n: before.get(n) for n in names}, {n: after.get(n) for n in names}
