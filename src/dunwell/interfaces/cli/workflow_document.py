"""Read a definition from a file, and render its faults."""

from collections.abc import Sequence
from typing import TextIO

from dunwell.core.workflows.document import DefinitionFile, locate_faults, parse_definition_text
from dunwell.platform.errors import Fault, InvalidRequest


def read_definition_file(file: TextIO) -> DefinitionFile:
    """Raises InvalidRequest if the file cannot be read."""
    try:
        text = file.read()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file.name} cannot be read. {error}") from error
    return parse_definition_text(text, file.name)


def render_faults(given: DefinitionFile, faults: Sequence[Fault]) -> list[str]:
    return [
        f"{given.file_name}:{each.line}: {each.path or '/'}: {each.message} ({each.code})"
        for each in locate_faults(given, faults)
    ]
