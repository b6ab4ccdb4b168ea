"""Parse the status file of a print service, completely or not at all. Its format is described by
data."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

LetterStatus = Literal["ACCEPTED", "PRINTED", "POSTED", "RETURNED", "FAILED"]
_FOLDER = Path(__file__).parent / "formats"


class StatusColumns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    reference: str
    state: str
    time: str


class StatusFormat(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The format of a status file. `timeFormat` is a format of strptime, in UTC if it has no time
    zone; None means ISO 8601."""

    columns: StatusColumns
    states: Mapping[str, LetterStatus]
    delimiter: Annotated[str, Meta(min_length=1, max_length=1)] = ","
    time_format: str | None = None


@cache
def load_status_format(name: str) -> StatusFormat:
    """Load a format of status files. Raises LookupError if there is none of this name."""
    if name not in list_status_formats():
        raise LookupError(f"There is no format of status files named {name}.")
    return msgspec.json.decode((_FOLDER / f"{name}.json").read_bytes(), type=StatusFormat)


def list_status_formats() -> list[str]:
    return sorted(path.stem for path in _FOLDER.glob("*.json"))


MAX_STATUS_FILE_BYTES = 4_000_000
MAX_STATUS_LINES = 20_000
_MAX_TEXT = 200
_ENDINGS = (".csv", ".json")


class StatusFileBroken(Exception):  # noqa: N818 - the suffix Error would add nothing
    """The file cannot be read completely. The message says why, without the content."""


@dataclass(frozen=True, slots=True)
class StatusLine:
    """One line of a status file. `reference` is as the print service wrote it; `raw` is the parsed
    line as JSON, cut off after 4,000 bytes."""

    reference: str
    status: LetterStatus
    at: datetime
    raw: bytes


def check_status_file(name: str, size: int) -> None:
    """Check the name and size before reading. Raises StatusFileBroken."""
    if size > MAX_STATUS_FILE_BYTES:
        raise StatusFileBroken(f"it has more than {MAX_STATUS_FILE_BYTES} bytes")
    if not name.endswith(_ENDINGS):
        raise StatusFileBroken(f"its name must end in one of {', '.join(_ENDINGS)}")


def parse_status_file(
    name: str, content: bytes, status_format: StatusFormat
) -> Sequence[StatusLine]:
    """Parse the lines of a status file. Raises StatusFileBroken."""
    check_status_file(name, len(content))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise StatusFileBroken("it is not UTF-8") from error
    rows = (
        _parse_json_rows(text) if name.endswith(".json") else _parse_csv_rows(text, status_format)
    )
    lines = []
    for number, row in rows:
        if number > MAX_STATUS_LINES:
            raise StatusFileBroken(f"it has more than {MAX_STATUS_LINES} lines")
        lines.append(_parse_line(number, row, status_format))
    return lines


def _parse_csv_rows(
    text: str, status_format: StatusFormat
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    reader = csv.DictReader(io.StringIO(text), delimiter=status_format.delimiter, strict=True)
    columns = status_format.columns
    required = {columns.reference, columns.state, columns.time}
    try:
        if not required <= set(reader.fieldnames or ()):
            raise StatusFileBroken(f"its header lacks one of {', '.join(sorted(required))}")
        for number, row in enumerate(reader, start=1):
            if None in row:
                raise StatusFileBroken(f"line {number} has more columns than the header")
            yield number, row
    except csv.Error as error:
        raise StatusFileBroken("it is not valid CSV") from error


def _parse_json_rows(text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        rows = msgspec.json.decode(text, type=list[dict[str, Any]])
    except (msgspec.MsgspecError, RecursionError) as error:
        raise StatusFileBroken("it is not a JSON list of objects") from error
    yield from enumerate(rows, start=1)


def _parse_line(number: int, row: Mapping[str, Any], status_format: StatusFormat) -> StatusLine:
    columns = status_format.columns
    reference = _parse_text(number, row, columns.reference)
    status = status_format.states.get(_parse_text(number, row, columns.state))
    if status is None:
        raise StatusFileBroken(f"line {number} has an unknown {columns.state}")
    return StatusLine(
        reference=reference,
        status=status,
        at=_parse_time(number, _parse_text(number, row, columns.time), status_format.time_format),
        raw=msgspec.json.encode(row)[:4_000],
    )


def _parse_text(number: int, row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    if not isinstance(value, str) or not 0 < len(value.strip()) <= _MAX_TEXT:
        raise StatusFileBroken(f"line {number} lacks {column}")
    if not value.strip().isprintable():
        raise StatusFileBroken(f"line {number} has control characters in {column}")
    return value.strip()


def _parse_time(number: int, text: str, time_format: str | None) -> datetime:
    try:
        at = (
            datetime.strptime(text, time_format)  # noqa: DTZ007
            if time_format
            else datetime.fromisoformat(text)
        )
        # A date near the limits of datetime cannot be converted to UTC.
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise StatusFileBroken(f"line {number} has no valid time") from error
