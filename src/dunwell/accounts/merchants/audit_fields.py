"""What of a row of the audit log is written, and what of it is shown, by the class of each field.

SECRET    opens something: never shown, whatever a row holds
PERSONAL  of a debtor or in a person's own words: masked when it is written; shown to nobody,
          also of rows that were written before that was done
PLAIN     states, sums, days, ids: shown
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

# In the place of what is a person's: that it changed is told, not what it was.
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
    """One field of before and after; a side that had none, or shows none, is None. `is_masked`: the
    side has a value that is not shown."""

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
    """Of both sides, in their order."""
    was, now = before or {}, after or {}
    return [_build_shown_field(name, was.get(name), now.get(name)) for name in {**was, **now}]


def redact(value: Any, name: str = "") -> Any:
    """A value as it is shown: what lies in it by its own names."""
    if value is None or (name and classify_field(name) is not FieldClass.PLAIN):
        return None if value is None else MASKED
    if isinstance(value, Mapping):
        return {each: redact(inner, each) for each, inner in value.items()}
    if isinstance(value, list):
        return [redact(each) for each in value]
    return value


def _build_shown_field(name: str, before: Any, after: Any) -> ShownField:
    was, now = redact(before, name), redact(after, name)
    is_masked = MASKED in (was, now)
    found = classify_field(name)
    shown_class = FieldClass.PERSONAL if is_masked and found is FieldClass.PLAIN else found
    return ShownField(
        name, shown_class,
        before=None if was == MASKED else was, after=None if now == MASKED else now,
        is_before_masked=was == MASKED, is_after_masked=now == MASKED,
    )  # fmt: skip


def mask(values: Mapping[str, Any]) -> dict[str, Any]:
    """Whether each field has a value, and nothing of what it is."""
    return {name: None if value is None else MASKED for name, value in values.items()}


def select_changed_fields(
    before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of both, the fields that differ; one that is missing is None."""
    names = [name for name in {**before, **after} if before.get(name) != after.get(name)]
    return {n: before.get(n) for n in names}, {n: after.get(n) for n in names}
