"""A definition as a document people read and edit: what it says, without defaults.

Reading it again (`checking.read_definition`) gives the same definition. Pure.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from dunwell.core.workflows.definition import Definition

# A step opens with what it is; its guard, the longest, comes last.
_FIRST, _LAST = ("id", "name", "kind"), ("when",)


def render_document(definition: Definition) -> dict[str, Any]:
    """JSON values under the names on the wire."""
    document: dict[str, Any] = _render(definition)
    return document


def _render(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _in_order(dict(_list_members(value)))
    if isinstance(value, Mapping):
        # The database keeps no order of names; one that people find their way in is as good.
        return {name: _render(member) for name, member in sorted(value.items())}
    if isinstance(value, list):
        return [_render(member) for member in value]
    return value


def _list_members(part: msgspec.Struct) -> Iterator[tuple[str, Any]]:
    config = part.__struct_config__
    if config.tag is not None:
        yield str(config.tag_field), config.tag
    for field in fields(part):
        value = getattr(part, field.name)
        if value != default_of(field):
            yield field.encode_name, _render(value)


def default_of(field: FieldInfo) -> Any:
    """What stands for the field when it is left out; NODEFAULT: it cannot be."""
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return field.default


def _in_order(members: dict[str, Any]) -> dict[str, Any]:
    rest = [name for name in members if name not in (*_FIRST, *_LAST)]
    return {name: members[name] for name in (*_FIRST, *rest, *_LAST) if name in members}
