"""The mapping by which the CSV files of an account are read. It is saved with the account. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dunwell.platform.errors import Fault, ValidationError
from dunwell.platform.text.codes import is_currency, is_iban

ENCODINGS = ("utf-8", "windows-1252", "iso-8859-1", "iso-8859-15", "utf-16")
DELIMITERS = (";", ",", "\t", "|")
_MAX_SKIPPED = 100
_MAX_COLUMNS = 200
# The parts of a date format, and how Python calls them.
_DATE_PARTS = {"YYYY": "%Y", "YY": "%y", "MM": "%m", "DD": "%d"}
_DATE_FORMAT = re.compile(r"(?:(?:YYYY|YY|MM|DD)[-./ ]?){3}")


@dataclass(frozen=True, slots=True)
class CsvMapping:
    """How the CSV files of one account are written. A column is named by its header, or by its
    number from 1 if the file has no header."""

    iban: str
    # The currency of every entry, unless the file has a column for it.
    currency: str
    booked_on: str | int
    # A column of signed amounts, unless there is one for debits and one for credits.
    amount: str | int | None = None
    debit: str | int | None = None
    credit: str | int | None = None
    # The sign of `amount` if that column has none: S or H, D or C, DBIT or CRDT.
    direction: str | int | None = None
    value_on: str | int | None = None
    currency_column: str | int | None = None
    reference_text: str | int | None = None
    counterparty_name: str | int | None = None
    counterparty_iban: str | int | None = None
    bank_reference: str | int | None = None
    end_to_end_id: str | int | None = None
    mandate_id: str | int | None = None
    # A column that distinguishes booked entries from pending ones, and its text for booked ones.
    status: str | int | None = None
    booked_word: str | None = None
    delimiter: str = ";"
    encoding: str = "utf-8"
    has_decimal_comma: bool = True
    # Made of YYYY or YY, MM and DD.
    date_format: str = "DD.MM.YYYY"
    has_header: bool = True
    # Rows before the header or the first entry, and after the last entry.
    skipped_rows: int = 0
    skipped_last_rows: int = 0

    def list_columns(self) -> dict[str, str | int]:
        """Return the columns that are used, by the name of their field."""
        names = (
            "booked_on", "amount", "debit", "credit", "direction", "value_on", "currency_column",
            "reference_text", "counterparty_name", "counterparty_iban", "bank_reference",
            "end_to_end_id", "mandate_id", "status",
        )  # fmt: skip
        columns = {name: getattr(self, name) for name in names}
        return {name: column for name, column in columns.items() if column is not None}


def check_mapping(mapping: CsvMapping) -> None:
    """Raise ValidationError with every fault of a mapping, before it is saved."""
    faults = [
        *_check_choices(mapping),
        *_check_amount_columns(mapping),
        *_check_columns(mapping),
    ]
    if faults:
        raise ValidationError(faults, f"{faults[0].message} Correct the mapping and save it again.")


def build_date_format(date_format: str) -> str:
    """Return the format as `datetime.strptime` takes it."""
    return re.sub("YYYY|YY|MM|DD", lambda found: _DATE_PARTS[found[0]], date_format)


def _check_choices(mapping: CsvMapping) -> Sequence[Fault]:
    checks = {
        "/iban": (is_iban(mapping.iban), "The account's IBAN is not valid."),
        "/currency": (is_currency(mapping.currency), "The currency is not a code such as EUR."),
        "/delimiter": (
            mapping.delimiter in DELIMITERS,
            "The delimiter has to be a semicolon, a comma, a tab or a vertical bar.",
        ),
        "/encoding": (
            mapping.encoding in ENCODINGS,
            f"The encoding has to be one of {', '.join(ENCODINGS)}.",
        ),
        "/dateFormat": (
            _is_date_format(mapping.date_format),
            "The date format has to be made of DD, MM and YYYY or YY, such as DD.MM.YYYY.",
        ),
        "/skippedRows": (
            0 <= mapping.skipped_rows <= _MAX_SKIPPED,
            f"Between 0 and {_MAX_SKIPPED} rows can be skipped.",
        ),
        "/skippedLastRows": (
            0 <= mapping.skipped_last_rows <= _MAX_SKIPPED,
            f"Between 0 and {_MAX_SKIPPED} rows can be skipped.",
        ),
    }
    return [
        Fault(path, message, "NOT_ALLOWED")
        for path, (is_right, message) in checks.items()
        if not is_right
    ]


def _is_date_format(date_format: str) -> bool:
    """Return whether the format has the day, the month and the year once each."""
    if _DATE_FORMAT.fullmatch(date_format) is None:
        return False
    return all(date_format.count(part) == 1 for part in ("DD", "MM")) and "YY" in date_format


def _check_amount_columns(mapping: CsvMapping) -> Sequence[Fault]:
    has_both = mapping.debit is not None and mapping.credit is not None
    has_one = mapping.debit is not None or mapping.credit is not None
    if (mapping.amount is None) != has_both or (mapping.amount is not None and has_one):
        message = "Name one column for the amount, or one for debits and one for credits."
        return [Fault("/amount", message, "REQUIRED")]
    if mapping.direction is not None and mapping.amount is None:
        message = "A column for the direction needs one column for the amount."
        return [Fault("/direction", message, "NOT_ALLOWED")]
    if (mapping.status is None) != (mapping.booked_word is None):
        message = "A column for the status needs its text for booked entries."
        return [Fault("/bookedWord", message, "REQUIRED")]
    return []


def _check_columns(mapping: CsvMapping) -> Sequence[Fault]:
    """Return a fault for each column whose number is out of range or whose name has no header, and
    one if two fields use the same column."""
    columns = mapping.list_columns()
    faults = []
    for name, column in columns.items():
        if isinstance(column, int) and not 1 <= column <= _MAX_COLUMNS:
            faults.append(
                Fault(_render_path(name), "A column's number is between 1 and 200.", "NOT_ALLOWED")
            )
        if isinstance(column, str) and not (mapping.has_header and column.strip()):
            message = "Name the column by its number: the file has no header."
            faults.append(Fault(_render_path(name), message, "NOT_ALLOWED"))
    if len(set(columns.values())) != len(columns):
        faults.append(Fault("/amount", "Two fields use the same column.", "NOT_UNIQUE"))
    return faults


def _render_path(name: str) -> str:
    """Return the path of a field as documents write it: "/valueOn"."""
    first, *others = name.split("_")
    return "/" + first + "".join(each.capitalize() for each in others)
