"""Read a merchant file, and the definitions that it names, into plain values."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dunwell.accounts.merchants.configuration import Logo
from dunwell.operations.merchant_file.file import find_workflows_key
from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.shape import render_pointer
from dunwell.platform.text.yaml_document import InvalidDocument, parse_yaml

_MAX_BYTES = 10 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class MerchantFileSource:
    """A merchant file as it was read, with the definitions that it names by `file`."""

    document: Any
    # Keyed by the position in `workflows` or `scenarios`.
    definitions: Mapping[int, Any]
    # Faults of files that could not be read.
    faults: list[Fault]
    # The checked image. `logo.add_logo` adds it.
    logo: Logo | None = None


def read_merchant_file(path: Path) -> MerchantFileSource:
    """Read the file and the definitions that it names. The result has a fault for each named file
    that cannot be read. Raises ValidationError if the merchant file itself cannot be read."""
    document = read_document(path)
    definitions: dict[int, Any] = {}
    faults: list[Fault] = []
    for pointer, index, name in _list_files(document):
        value = _read_yaml(path.parent / name, pointer)
        if isinstance(value, Fault):
            faults.append(value)
        else:
            definitions[index] = value
    return MerchantFileSource(document, definitions, faults)


def read_document(path: Path) -> Any:
    """Return the value of one YAML file. Raises ValidationError if it cannot be read."""
    document = _read_yaml(path, "")
    if isinstance(document, Fault):
        raise ValidationError([document], f"{path.name} cannot be read: {document.message}")
    return document


def _list_files(document: Any) -> list[tuple[str, int, str]]:
    """Return the pointer, the position and the path of each named file."""
    if not isinstance(document, dict):
        return []
    key = find_workflows_key(document)
    entries = document.get(key)
    if not isinstance(entries, list):
        return []
    return [
        (render_pointer([key, index, "file"]), index, entry["file"])
        for index, entry in enumerate(entries)
        if isinstance(entry, dict) and isinstance(entry.get("file"), str)
    ]


def _read_yaml(path: Path, pointer: str) -> Any:
    """Return the value of the file, or a fault if it cannot be read."""
    try:
        if path.stat().st_size > _MAX_BYTES:
            return Fault(pointer, f"{path.name} is larger than 10 MiB.", "TOO_LARGE")
        return parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        return Fault(pointer, f"{path.name} cannot be read: {reason}.", "UNREADABLE")
    except InvalidDocument as error:
        return Fault(pointer, f"{path.name} is not valid YAML. {error}", "NOT_YAML")
