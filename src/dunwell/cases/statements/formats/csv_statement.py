"""Read CSV files of a bank. The mapping of the account says what each column contains; nothing is
guessed. Pure."""

import contextlib
import csv
import io
import re
from dataclasses import dataclass
from datetime import date, datetime

from dunwell.cases.statements.formats.amounts import (
    WrittenAmount,
    is_plausible_day,
    parse_signed_amount,
)
from dunwell.cases.statements.formats.coded_text import CodedText
from dunwell.cases.statements.formats.csv_mapping import CsvMapping, build_date_format
from dunwell.cases.statements.formats.problems import build_problem
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankStatement,
    EntryDetail,
    EntryStatus,
    FilePlace,
    StatementKind,
    clean_text,
    normalize_bank_reference,
    normalize_iban,
)
from dunwell.platform.text.codes import is_currency, is_iban
from dunwell.platform.text.shape import shorten
from dunwell.platform.text.translation import CountText

_MAX_ROWS = 200_000
# Words for money that leaves or arrives: debit or Soll, credit or Haben.
_DIRECTIONS = {
    "D": -1, "S": -1, "DBIT": -1, "DEBIT": -1, "SOLL": -1, "-": -1,
    "C": 1, "H": 1, "CRDT": 1, "CREDIT": 1, "HABEN": 1, "+": 1,
}  # fmt: skip
_TIME = re.compile(r"[T ][0-9]{1,2}:[0-9]{2}.*")
_BYTE_ORDER_MARK = "\N{ZERO WIDTH NO-BREAK SPACE}"


@dataclass(frozen=True, slots=True)
class _Row:
    """The texts of one row by the name of the mapping's field."""

    texts: dict[str, str]
    # The names of the columns in the file, for messages.
    columns: dict[str, str | int]
    place: FilePlace

    def find(self, name: str) -> str | None:
        return clean_text(self.texts.get(name))

    def name_column(self, name: str) -> CodedText:
        column = self.columns[name]
        if isinstance(column, int):
            return build_problem("COLUMN_NUMBER", column=column)
        return build_problem("COLUMN", column=shorten(column))


def parse_csv(content: bytes, place: FilePlace, mapping: CsvMapping) -> BankStatement:
    """Return the statement in a file. Raises BankFileRefused if the mapping does not fit it."""
    rows = _list_rows(content, place, mapping)
    if mapping.has_header and not rows:
        raise place.refuse("NO_HEADER")
    header = [" ".join(name.split()) for name in rows.pop(0)] if mapping.has_header else []
    columns = mapping.list_columns()
    positions = {name: _find_position(column, header, place) for name, column in columns.items()}
    entries = []
    for number, row in enumerate(rows, 1):
        if not any(text.strip() for text in row):
            continue
        texts = {name: row[at] for name, at in positions.items() if at < len(row)}
        here = FilePlace(place.file, mapping.iban, str(number))
        entries.append(_parse_entry(_Row(texts, columns, here), mapping))
    booked = [entry.booked_on for entry in entries if entry.booked_on is not None]
    return BankStatement(
        kind=StatementKind.STATEMENT,
        statement_id=place.file,
        iban=normalize_iban(mapping.iban),
        account_number=None,
        currency=mapping.currency,
        entries=tuple(entries),
        period_from=min(booked, default=None),
        period_to=max(booked, default=None),
    )


def _list_rows(content: bytes, place: FilePlace, mapping: CsvMapping) -> list[list[str]]:
    try:
        text = content.decode(mapping.encoding).removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        raise place.refuse("CSV_ENCODING", encoding=mapping.encoding) from None
    if "\0" in text:
        raise place.refuse("NO_TEXT")
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mapping.delimiter)
    rows: list[list[str]] = []
    try:
        for row in reader:
            rows.append(row)
            if len(rows) > _MAX_ROWS:
                raise place.refuse("TOO_MANY_ROWS", limit=CountText(_MAX_ROWS))
    except csv.Error as error:
        raise place.refuse("DAMAGED_ROW", row=reader.line_num, why=str(error)) from None
    while rows and not any(text.strip() for text in rows[-1]):
        rows.pop()
    end = len(rows) - mapping.skipped_last_rows
    return rows[mapping.skipped_rows : max(end, 0)]


def _find_position(column: str | int, header: list[str], place: FilePlace) -> int:
    if isinstance(column, int):
        return column - 1
    name = " ".join(column.split())
    if header.count(name) == 1:
        return header.index(name)
    raise place.refuse("TWO_COLUMNS" if name in header else "NO_COLUMN", column=shorten(name))


def _parse_entry(row: _Row, mapping: CsvMapping) -> BankEntry:
    currency = (row.find("currency_column") or mapping.currency).upper()
    if not is_currency(currency):
        raise row.place.refuse_value(
            row.name_column("currency_column"), currency,
            "CSV_CURRENCY",
        )  # fmt: skip
    amount = _parse_amount(row, currency, mapping)
    is_booked = mapping.status is None or row.find("status") == mapping.booked_word
    booked_on = _parse_day(row, "booked_on", mapping, is_required=is_booked)
    iban = normalize_iban(row.find("counterparty_iban"))
    lines = tuple(filter(None, [row.find("reference_text")]))
    detail = EntryDetail(
        amount_cents=amount,
        end_to_end_id=normalize_bank_reference(row.find("end_to_end_id")),
        mandate_id=row.find("mandate_id"),
        remittance_lines=lines,
        counterparty_name=row.find("counterparty_name"),
        counterparty_iban=iban if iban and is_iban(iban) else None,
    )
    return BankEntry(
        amount_cents=amount,
        currency=currency,
        status=EntryStatus.BOOK if is_booked else EntryStatus.PDNG,
        booked_on=booked_on,
        value_on=_parse_day(row, "value_on", mapping, is_required=False),
        bank_reference=normalize_bank_reference(row.find("bank_reference")),
        details=(detail,),
    )


def _parse_amount(row: _Row, currency: str, mapping: CsvMapping) -> int:
    if mapping.amount is not None:
        cents = _parse_cents(row, "amount", currency, mapping)
        if mapping.direction is None:
            return cents
        word = row.find("direction")
        direction = _DIRECTIONS.get((word or "").upper())
        if direction is None or cents < 0:
            raise row.place.refuse_value(
                row.name_column("direction"), word,
                "CSV_DIRECTION",
            )  # fmt: skip
        return direction * cents
    debit, credit = (
        _parse_cents(row, name, currency, mapping) if row.find(name) is not None else 0
        for name in ("debit", "credit")
    )
    if (debit and credit) or (row.find("debit") is None and row.find("credit") is None):
        raise row.place.refuse_value(
            build_problem(
                "EITHER_COLUMN", first=row.name_column("debit"), second=row.name_column("credit")
            ),
            row.find("debit"),
            "ONE_AMOUNT",
        )  # fmt: skip
    return -abs(debit) if debit else credit


def _parse_cents(row: _Row, name: str, currency: str, mapping: CsvMapping) -> int:
    written = WrittenAmount(row.name_column(name), row.find(name), currency)
    return parse_signed_amount(written, row.place, decimal_comma=mapping.has_decimal_comma)


def _parse_day(row: _Row, name: str, mapping: CsvMapping, *, is_required: bool) -> date | None:
    text = row.find(name)
    date_format = build_date_format(mapping.date_format)
    # Some banks add the time of day.
    for written in (text or "", _TIME.sub("", text or "")):
        with contextlib.suppress(ValueError):
            day = datetime.strptime(written, date_format).date()  # noqa: DTZ007
            if is_plausible_day(day):
                return day
    if not is_required:
        return None
    raise row.place.refuse_value(
        row.name_column(name), text, "CSV_DATE", format=mapping.date_format,
    )  # fmt: skip
