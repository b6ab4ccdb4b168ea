"""The form of a condition, for assignment rules and workflow steps. Its fields are generated from
the properties that a condition can test. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dunwell.core.claims.conditions import PROPERTIES, ConditionProperty, ConditionPropertyKind
from dunwell.interfaces.web.forms import Field, FieldKind, FormContent
from dunwell.platform.errors import Fault

_ROOT = "when"
_LIMITS = (".min", ".max")
# For each kind of property, the kind of its fields and the endings of their names.
_SHAPES: Mapping[ConditionPropertyKind, tuple[FieldKind, Sequence[str]]] = {
    ConditionPropertyKind.AMOUNT: (FieldKind.MONEY, _LIMITS),
    ConditionPropertyKind.NUMBER: (FieldKind.NUMBER, _LIMITS),
    ConditionPropertyKind.CODES: (FieldKind.CODES, [""]),
    ConditionPropertyKind.ONE_OF: (FieldKind.PICKS, [""]),
    ConditionPropertyKind.ALL_OF: (FieldKind.PICKS, [""]),
    ConditionPropertyKind.TEXT: (FieldKind.EXACT, (".equals", ".startsWith", ".endsWith")),
    ConditionPropertyKind.FIELDS: (FieldKind.PAIRS, [""]),
}
# The number of empty rows for custom fields.
EXTRA_ROWS = 2


def _list_fields(condition_property: ConditionProperty) -> Iterator[Field]:
    kind, tests = _SHAPES[condition_property.kind]
    for test in tests:
        yield Field(
            f"{_ROOT}.{condition_property.name}{test}",
            kind,
            condition_property.options,
            condition_property.name,
        )


# The group of each field is the name of its property.
CONDITION_FIELDS = tuple(field for each in PROPERTIES for field in _list_fields(each))


def count_extra_rows(button: str) -> int:
    """Return the number of empty rows. The button "more_fields" asks for more of them."""
    return 2 * EXTRA_ROWS if button == "more_fields" else EXTRA_ROWS


def build_field_values(when: Mapping[str, Any] | None) -> dict[str, Any]:
    """Convert a condition (JSON) to the values of the form's fields: single values become lists,
    and custom fields become pairs."""
    values = {name: value for name, value in (when or {}).items() if value is not None}
    for each in PROPERTIES:
        value = values.get(each.name)
        if isinstance(value, str):
            values[each.name] = [value]
        elif each.kind is ConditionPropertyKind.FIELDS and value is not None:
            values[each.name] = [*value.items()]
    return values


def build_condition(
    content: FormContent, stored: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Return the condition (JSON) of the submitted fields, None if nothing is filled in. Add its
    faults to `content`. A single value becomes a string, unless the stored condition has it as a
    list."""
    typed, when = content.parts.get(_ROOT, {}), {}
    for each in PROPERTIES:
        value = typed.get(each.name)
        if not value:
            continue
        if each.name == "country":
            value = [code.upper() for code in value]
        if each.kind is ConditionPropertyKind.FIELDS:
            content.faults.extend(_list_pair_faults(f"{_ROOT}.{each.name}", value))
            value = dict(value)
        elif (
            each.kind in (ConditionPropertyKind.CODES, ConditionPropertyKind.ONE_OF)
            and len(value) == 1
        ):
            value = value if (stored or {}).get(each.name) == value else value[0]
        when[each.name] = value
    return when or None


def _list_pair_faults(name: str, pairs: list[tuple[str, str]]) -> Iterator[tuple[str, Fault]]:
    names = [left for left, _ in pairs]
    for row, left in enumerate(names):
        if not left:
            yield f"{name}.name.{row}", Fault("", "Please fill this in.", "REQUIRED")
        elif left in names[:row]:
            yield f"{name}.name.{row}", Fault("", "This field appears twice.", "REPEATED")
