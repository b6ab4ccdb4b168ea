"""A definition as a YAML or JSON document: rendered without default values, and parsed with the
lines of its faults. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from dunwell.core.workflows.definition import Definition
from dunwell.platform.errors import Fault, InvalidRequest
from dunwell.platform.text.yaml_document import InvalidDocument, list_lines, parse_yaml

# A step begins with its identity. Its guard, the longest part, comes last.
_FIRST, _LAST = ("id", "name", "kind"), ("when",)


def render_document(definition: Definition) -> dict[str, Any]:
    """Return the JSON values with their JSON names."""
    document: dict[str, Any] = _render(definition)
    return document


def _render(value: Any) -> Any:
    if isinstance(value, msgspec.Struct):
        return _sort_members(dict(_list_members(value)))
    if isinstance(value, Mapping):
        # The database does not keep the order of names, so they are sorted.
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
        if value != get_default(field):
            yield field.encode_name, _render(value)


def get_default(field: FieldInfo) -> Any:
    """Return the default value of a field; NODEFAULT if it is required."""
    if field.default_factory is not NODEFAULT:
        return field.default_factory()
    return field.default


def _sort_members(members: dict[str, Any]) -> dict[str, Any]:
    rest = [name for name in members if name not in (*_FIRST, *_LAST)]
    return {name: members[name] for name in (*_FIRST, *rest, *_LAST) if name in members}


@dataclass(frozen=True, slots=True)
class DefinitionFile:
    """A parsed definition file, and the id of the version that it names as its origin."""

    file_name: str
    text: str
    # The keys that lead to the definition within the file.
    place: tuple[str, ...]
    document: Any
    version_id: UUID | None


class LocatedFault(msgspec.Struct, frozen=True):
    """A fault with the line of the file that it is in."""

    line: int
    path: str
    message: str
    code: str


def parse_definition_text(text: str, file_name: str) -> DefinitionFile:
    """Parse the text. Raises InvalidRequest."""
    try:
        document = parse_yaml(text)
    except InvalidDocument as error:
        raise build_unreadable_file(file_name, error) from error
    return build_definition_file(document, text, file_name)


def build_unreadable_file(file_name: str, error: InvalidDocument) -> InvalidRequest:
    return InvalidRequest(f"{file_name} cannot be read. {error}")


def build_definition_file(document: Any, text: str, file_name: str) -> DefinitionFile:
    """Build a definition file from its parsed document: either the definition itself, or an object
    that has it as `definition` and its origin as `versionId`."""
    if isinstance(document, dict) and "definition" in document:
        inner, version_id = document["definition"], _parse_id(document.get("versionId"))
        return DefinitionFile(
            file_name=file_name,
            text=text,
            place=("definition",),
            document=inner,
            version_id=version_id,
        )
    return DefinitionFile(
        file_name=file_name, text=text, place=(), document=document, version_id=None
    )


def locate_faults(file: DefinitionFile, faults: Sequence[Fault]) -> list[LocatedFault]:
    """Return the faults with their lines, in the order of the file."""
    return sort_faults(faults, list_lines(file.text, list_places(file, faults)))


def list_places(file: DefinitionFile, faults: Sequence[Fault]) -> list[list[str]]:
    """Return the location of each fault in the file's document, for `list_lines`."""
    return [[*file.place, *_split(fault.path)] for fault in faults]


def sort_faults(faults: Sequence[Fault], lines: Sequence[int]) -> list[LocatedFault]:
    """Return faults with their lines, in the order of the file."""
    placed = [
        LocatedFault(line, fault.path, str(fault.message), fault.code)
        for line, fault in zip(lines, faults, strict=True)
    ]
    return sorted(placed, key=lambda fault: fault.line)


def _split(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _parse_id(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None
