"""How a print service writes its status files, as data: which column says what, and which word
means which state. A service's own format is one more file in `formats/`."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Status = Literal["ACCEPTED", "PRINTED", "POSTED", "RETURNED", "FAILED"]
_FOLDER = Path(__file__).parent / "formats"


class Columns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reference: str
    state: str
    time: str


class StatusFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """timeFormat: as strptime reads it, in UTC where it names no zone; none: ISO 8601."""

    columns: Columns
    states: Mapping[str, Status]
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] = ","
    time_format: str | None = None


@cache
def load_status_format(name: str) -> StatusFormat:
    """Raises LookupError for a name that there is no file of."""
    if name not in list_status_formats():
        raise LookupError(f"There is no format of status files named {name}.")
    return msgspec.json.decode((_FOLDER / f"{name}.json").read_bytes(), type=StatusFormat)


def list_status_formats() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.json"))
