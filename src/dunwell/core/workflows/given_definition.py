"""A definition in a file: YAML or JSON, and the lines its faults are in.

Taken are a bare definition and what `dunwell workflow show --json` prints, which also says which
version it was read from. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from dunwell.platform.errors import Fault, InvalidRequest
from dunwell.platform.text.yaml_document import DocumentFaulty, find_lines, parse_yaml


@dataclass(frozen=True, slots=True)
class GivenDefinition:
    """What a file says, and the version it says it was read from."""

    file_name: str
    text: str
    # Keys that lead to the definition within the file.
    place: tuple[str, ...]
    document: Any
    version_id: UUID | None


class PlacedFault(msgspec.Struct, frozen=True):
    """A fault with the line of the file it is in."""

    line: int
    path: str
    message: str
    code: str


def read_given_text(text: str, file_name: str) -> GivenDefinition:
    """Raises InvalidRequest: it cannot be read."""
    try:
        document = parse_yaml(text)
    except DocumentFaulty as error:
        raise unreadable_file(file_name, error) from error
    return take_given(document, text, file_name)


def unreadable_file(file_name: str, error: DocumentFaulty) -> InvalidRequest:
    return InvalidRequest(f"{file_name} cannot be read. {error}")


def take_given(document: Any, text: str, file_name: str) -> GivenDefinition:
    """Return the definition in a document's value."""
    if isinstance(document, dict) and "definition" in document:
        inner, version_id = document["definition"], _read_id(document.get("versionId"))
        return GivenDefinition(
            file_name=file_name,
            text=text,
            place=("definition",),
            document=inner,
            version_id=version_id,
        )
    return GivenDefinition(
        file_name=file_name, text=text, place=(), document=document, version_id=None
    )


def place_faults(given: GivenDefinition, faults: Sequence[Fault]) -> list[PlacedFault]:
    """In the order of the file."""
    return order_faults(faults, find_lines(given.text, list_places(given, faults)))


def list_places(given: GivenDefinition, faults: Sequence[Fault]) -> list[list[str]]:
    """Where in the document each fault is, for `find_lines`."""
    return [[*given.place, *_split(fault.path)] for fault in faults]


def order_faults(faults: Sequence[Fault], lines: Sequence[int]) -> list[PlacedFault]:
    """Return faults with their lines, in the order of the file."""
    placed = [
        PlacedFault(line, fault.path, str(fault.message), fault.code)
        for line, fault in zip(lines, faults, strict=True)
    ]
    return sorted(placed, key=lambda fault: fault.line)


def _split(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _read_id(value: object) -> UUID | None:
    try:
        return UUID(str(value))
    except ValueError:
        return None
