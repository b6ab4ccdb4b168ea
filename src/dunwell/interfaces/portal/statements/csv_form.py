"""The form of an account's CSV mapping, and the rows and columns of a sample file. Pure."""

import codecs
import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from dunwell.cases.statements.formats.csv_mapping import DELIMITERS, ENCODINGS, CsvMapping
from dunwell.interfaces.web.forms import Field, FieldKind

TAB = "TAB"
_SHOWN_ROWS, _SHOWN_COLUMNS = 8, 40
_MAX_DIGITS = 9
_NUMBER = re.compile(r"#([0-9]{1,3})")
_DATE_FORMATS = ("DD.MM.YYYY", "DD.MM.YY", "YYYY-MM-DD", "DD/MM/YYYY", "MM/DD/YYYY", "YYYYMMDD")
# The fields that name a column, in the order of the form.
_COLUMNS = (
    "booked_on", "amount", "debit", "credit", "direction", "reference_text", "counterparty_name",
    "counterparty_iban", "bank_reference", "end_to_end_id", "mandate_id", "value_on",
    "currency_column", "status",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class CsvSample:
    """The first rows of a sample as texts, and the columns as options (value, label)."""

    rows: Sequence[Sequence[str]]
    columns: Sequence[tuple[str, str]]


def guess_format(content: bytes) -> dict[str, str]:
    """Return the encoding and the delimiter that a file probably has."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        encoding = "utf-8" if _is_utf8(content) else "windows-1252"
    # The end of a sample can be in the middle of a character.
    text = content.decode(encoding, "replace")
    delimiter = max(DELIMITERS, key=text.count)
    return {"encoding": encoding, "delimiter": TAB if delimiter == "\t" else delimiter}


def _is_utf8(content: bytes) -> bool:
    """Return whether the content is UTF-8, whose last character may be incomplete."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content)
    except UnicodeDecodeError:
        return False
    return True


def parse_sample(content: bytes, document: Mapping[str, Any]) -> CsvSample:
    """Parse a sample with the encoding and the delimiter that the document names. Return its first
    rows and its columns."""
    encoding = document["encoding"] if document["encoding"] in ENCODINGS else "utf-8"
    text = content.decode(encoding, "replace").lstrip("\ufeff").replace("\0", "")
    delimiter = "\t" if document["delimiter"] == TAB else document["delimiter"]
    delimiter = delimiter if delimiter in DELIMITERS else ";"
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error:
        rows = []
    skipped = str(document.get("skippedRows") or 0)
    is_number = skipped.isascii() and skipped.isdecimal() and len(skipped) <= _MAX_DIGITS
    rows = rows[int(skipped) if is_number else 0 :]
    header = [" ".join(each.split()) for each in rows[0]] if rows and document["hasHeader"] else []
    width = min(max((len(each) for each in rows[:_SHOWN_ROWS]), default=0), _SHOWN_COLUMNS)
    columns = []
    for index in range(width):
        name = header[index] if index < len(header) else ""
        is_name = bool(name) and header.count(name) == 1 and not _NUMBER.fullmatch(name)
        label = f"{index + 1}: {name}" if name else str(index + 1)
        columns.append((name if is_name else f"#{index + 1}", label))
    return CsvSample([each[:width] for each in rows[:_SHOWN_ROWS]], columns)


def list_mapping_fields(columns: Sequence[tuple[str, str]]) -> list[Field]:
    options = tuple(value for value, _ in columns)
    return [
        Field("encoding", FieldKind.PICK, ENCODINGS, "reading", is_required=True),
        Field("delimiter", FieldKind.PICK, (";", ",", TAB, "|"), "reading", is_required=True),
        Field("hasHeader", FieldKind.FLAG, group="reading"),
        Field("skippedRows", FieldKind.NUMBER, group="reading"),
        Field("skippedLastRows", FieldKind.NUMBER, group="reading"),
        Field("dateFormat", FieldKind.PICK, _DATE_FORMATS, "values", is_required=True),
        Field("decimals", FieldKind.PICK, ("COMMA", "POINT"), "values", is_required=True),
        Field("currency", group="values"),
        *(Field(_render_field_name(each), FieldKind.PICK, options, "columns") for each in _COLUMNS),
        Field("bookedWord", group="columns"),
    ]


def describe_mapping(mapping: CsvMapping | None) -> dict[str, Any]:
    """Return the document of the form for a mapping, or the default document if there is no
    mapping."""
    if mapping is None:
        return {"encoding": "utf-8", "delimiter": ";", "hasHeader": True,
                "dateFormat": "DD.MM.YYYY", "decimals": "COMMA", "currency": "EUR"}  # fmt: skip
    document = {
        _render_field_name(each.name): getattr(mapping, each.name) for each in fields(CsvMapping)
    }
    for name in map(_render_field_name, _COLUMNS):
        if isinstance(document[name], int):
            document[name] = f"#{document[name]}"
    document["decimals"] = "COMMA" if mapping.has_decimal_comma else "POINT"
    document["delimiter"] = TAB if mapping.delimiter == "\t" else mapping.delimiter
    return {name: value for name, value in document.items() if value is not None}


def build_mapping(iban: str, document: Mapping[str, Any]) -> CsvMapping:
    """Return the mapping of a document without faults. The mapping is not checked."""
    columns: dict[str, Any] = {}
    for each in _COLUMNS:
        value = document.get(_render_field_name(each))
        number = _NUMBER.fullmatch(value or "")
        columns[each] = int(number[1]) if number else value
    return CsvMapping(
        iban=iban,
        currency=str(document.get("currency") or "EUR").upper(),
        booked_word=document.get("bookedWord"),
        delimiter="\t" if document["delimiter"] == TAB else document["delimiter"],
        encoding=document["encoding"],
        has_decimal_comma=document["decimals"] == "COMMA",
        date_format=document["dateFormat"],
        has_header=bool(document["hasHeader"]),
        skipped_rows=int(document.get("skippedRows") or 0),
        skipped_last_rows=int(document.get("skippedLastRows") or 0),
        **columns,
    )


def _render_field_name(attribute: str) -> str:
    first, *others = attribute.split("_")
    return first + "".join(each.capitalize() for each in others)
