"""Reads of a JSON value what is right in it, although other parts of it are wrong.

Rules that a type cannot state (a currency that there is, a due date that is not before the item's)
are asked of what can be read, so that their faults are told together with those that
`platform.text.shape` finds. Pure.
"""

from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, inspect

from dunwell.platform.text.shape import inspect_type, strip_metadata

Part = TypeVar("Part")


def read_readable(value: object, shape: type[Part]) -> Part | None:
    """The value as the struct `shape`, as far as it can be read: each field that is missing or has
    a fault is UNSET, objects and lists of objects are read field by field. None: it is no object.

    UNSET is false, so a rule that asks `if field and ...` is silent about what was not read.
    """
    if not isinstance(value, dict):
        return None
    fields = {}
    for field in msgspec.structs.fields(shape):  # type: ignore[arg-type]
        if field.encode_name in value:
            fields[field.name] = _read_field(value[field.encode_name], field.type)
        elif field.required:
            fields[field.name] = UNSET
    return shape(**fields)


def _read_field(value: object, shape: Any) -> object:
    try:
        return msgspec.convert(value, shape)
    except msgspec.ValidationError:
        return _read_parts(value, inspect_type(shape))


def _read_parts(value: object, kind: inspect.Type) -> object:
    for branch in map(strip_metadata, _list_branches(kind)):
        if isinstance(branch, inspect.StructType) and isinstance(value, dict):
            return read_readable(value, branch.cls)
        if isinstance(branch, inspect.ListType) and isinstance(value, list):
            item = strip_metadata(branch.item_type)
            if isinstance(item, inspect.StructType) and len(value) <= (branch.max_length or 0):
                return [read_readable(_as_object(each), item.cls) for each in value]
    return UNSET


def _as_object(value: object) -> object:
    return value if isinstance(value, dict) else {}


def _list_branches(kind: inspect.Type) -> tuple[inspect.Type, ...]:
    stripped = strip_metadata(kind)
    return stripped.types if isinstance(stripped, inspect.UnionType) else (kind,)
