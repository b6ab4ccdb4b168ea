"""CSV files are read as the account's mapping says."""

from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from dunwell.cases.statements.formats.bank_file import BankFileFormat, parse_bank_file
from dunwell.cases.statements.formats.csv_mapping import CsvMapping, check_mapping
from dunwell.cases.statements.formats.csv_statement import parse_csv
from dunwell.cases.statements.formats.statement import (
    BankEntry,
    BankFileRefused,
    BankStatement,
    EntryStatus,
    FilePlace,
)
from dunwell.platform.errors import ValidationError
from tests.support.bank_files import IBAN, PAYER_IBAN

GERMAN = CsvMapping(
    iban=IBAN, currency="EUR", booked_on="Buchungstag", value_on="Wertstellung", amount="Betrag",
    reference_text="Verwendungszweck", counterparty_name="Name", counterparty_iban="IBAN",
)  # fmt: skip
FILE = f"""Buchungstag;Wertstellung;Name;IBAN;Verwendungszweck;Betrag;Saldo
27.11.2026;28.11.2026;Erika Mustermann;{PAYER_IBAN};"Invoice; RF18539007547034";1.119,00;x
27.11.2026;27.11.2026;Dunwell;;Fee;-3,50;x
"""


def parse(text: str, mapping: CsvMapping = GERMAN, encoding: str | None = None) -> BankStatement:
    return parse_csv(text.encode(encoding or mapping.encoding), FilePlace("bank.csv"), mapping)


def parse_one(text: str, mapping: CsvMapping = GERMAN) -> BankEntry:
    (entry,) = parse(text, mapping).entries
    return entry


def refuse(text: str, mapping: CsvMapping = GERMAN) -> str:
    with pytest.raises(BankFileRefused) as refused:
        parse(text, mapping)
    return refused.value.message


def test_a_file_with_one_signed_column_is_read() -> None:
    statement = parse(FILE)
    assert (statement.iban, statement.currency) == (IBAN, "EUR")
    assert (statement.period_from, statement.period_to) == (date(2026, 11, 27),) * 2
    first, second = statement.entries
    assert (first.amount_cents, second.amount_cents) == (111900, -350)
    assert (first.booked_on, first.value_on) == (date(2026, 11, 27), date(2026, 11, 28))
    assert first.status is EntryStatus.BOOK
    (detail,) = first.details
    assert detail.remittance_lines == ("Invoice; RF18539007547034",)
    assert (detail.counterparty_name, detail.counterparty_iban) == ("Erika Mustermann", PAYER_IBAN)
    assert second.details[0].counterparty_iban is None


def test_debits_and_credits_may_have_a_column_each() -> None:
    mapping = replace(GERMAN, amount=None, debit="Soll", credit="Haben", value_on=None)
    mapping = replace(mapping, reference_text=None, counterparty_name=None, counterparty_iban=None)
    text = "Buchungstag;Soll;Haben\n27.11.2026;3,50;\n27.11.2026;-4,00;\n27.11.2026;;119,00\n"
    amounts = [entry.amount_cents for entry in parse(text, mapping).entries]
    assert amounts == [-350, -400, 11900]
    for row in ("27.11.2026;;", "27.11.2026;1,00;2,00"):
        message = refuse(f"Buchungstag;Soll;Haben\n{row}\n", mapping)
        assert 'column "Soll" or column "Haben"' in message
        assert "Exactly one of them has to have an amount" in message


def test_a_column_may_have_the_direction() -> None:
    mapping = CsvMapping(
        iban=IBAN, currency="EUR", booked_on=1, amount=2, direction=3, has_header=False
    )
    text = "27.11.2026;3,50;S\n27.11.2026;119,00;H\n"
    assert [entry.amount_cents for entry in parse(text, mapping).entries] == [-350, 11900]
    assert 'column 3 is "X"' in refuse("27.11.2026;3,50;X\n", mapping)
    assert "column 3" in refuse("27.11.2026;-3,50;S\n", mapping)


def test_columns_are_found_by_number_where_there_is_no_header() -> None:
    mapping = CsvMapping(
        iban=IBAN, currency="CHF", booked_on=2, amount=1, bank_reference=3, end_to_end_id=4,
        delimiter=",", has_decimal_comma=False, date_format="YYYY-MM-DD", has_header=False,
    )  # fmt: skip
    entry = parse_one("1234.50,2026-11-27,B-1,E2E-1", mapping)
    assert (entry.amount_cents, entry.currency, entry.bank_reference) == (123450, "CHF", "B-1")
    assert entry.details[0].end_to_end_id == "E2E-1"


def test_rows_before_and_after_the_entries_are_skipped() -> None:
    mapping = replace(GERMAN, skipped_rows=2, skipped_last_rows=1)
    text = f"Account;{IBAN}\n\n{FILE}Closing balance;;;;;1.115,50;\n\n"
    assert parse(text, mapping).entries == parse(FILE).entries


@pytest.mark.parametrize(
    ("date_format", "text"),
    [
        ("DD.MM.YYYY", "27.11.2026"), ("DD.MM.YY", "27.11.26"), ("YYYY-MM-DD", "2026-11-27"),
        ("MM/DD/YYYY", "11/27/2026"), ("YYYYMMDD", "20261127"),
        ("YYYY-MM-DD", "2026-11-27T08:15:00Z"), ("DD.MM.YYYY", "27.11.2026 08:15"),
        ("DD MM YYYY", "27 11 2026"), ("DD-MM-YYYY", "27-11-2026"),
    ],
)  # fmt: skip
def test_dates_follow_the_mapping(date_format: str, text: str) -> None:
    mapping = CsvMapping(
        iban=IBAN, currency="EUR", booked_on=1, amount=2, date_format=date_format, has_header=False
    )
    check_mapping(mapping)
    assert parse_one(f"{text};1,00", mapping).booked_on == date(2026, 11, 27)


@pytest.mark.parametrize("encoding", ["windows-1252", "utf-16", "iso-8859-1"])
def test_the_encoding_follows_the_mapping(encoding: str) -> None:
    mapping = replace(GERMAN, encoding=encoding)
    entry = parse(FILE.replace("Erika", "Jörg"), mapping).entries[0]
    assert entry.details[0].counterparty_name == "Jörg Mustermann"


def test_a_byte_order_mark_is_no_part_of_the_first_header() -> None:
    assert len(parse("\ufeff" + FILE).entries) == 2


def test_pending_rows_are_shown_and_not_booked() -> None:
    mapping = CsvMapping(
        iban=IBAN, currency="EUR", booked_on=1, amount=2, status=3, booked_word="gebucht",
        has_header=False,
    )  # fmt: skip
    text = "27.11.2026;1,00;gebucht\n;2,00;vorgemerkt\n"
    statement = parse(text, mapping)
    assert [entry.has_payments for entry in statement.entries] == [True, False]
    assert statement.entries[1].status is EntryStatus.PDNG


def test_a_column_may_have_the_currency() -> None:
    mapping = CsvMapping(
        iban=IBAN, currency="EUR", booked_on=1, amount=2, currency_column=3, has_header=False
    )
    assert parse_one("27.11.2026;1,00;usd", mapping).currency == "USD"
    assert parse_one("27.11.2026;1,00;", mapping).currency == "EUR"
    assert 'column 3 is "XY"' in refuse("27.11.2026;1,00;XY", mapping)


def test_an_unreadable_amount_stops_the_file_and_is_named() -> None:
    assert refuse(FILE.replace("-3,50", "3.50")) == (
        f'bank.csv, statement {IBAN}, entry 2: column "Betrag" is "3.50". The mapping expects an '
        "amount with a decimal comma. Correct the mapping or the file. Nothing from this file was "
        "imported."
    )


def test_an_unreadable_day_stops_the_file_and_is_named() -> None:
    message = refuse(FILE.replace("\n27.11.2026;27", "\n2026-11-27;27"))
    assert 'entry 2: column "Buchungstag" is "2026-11-27". The mapping expects a date as' in message


def test_a_file_without_a_mapped_column_is_refused() -> None:
    assert refuse(FILE.replace("Betrag", "Umsatz")) == (
        'bank.csv: The file has no column "Betrag". Correct the name, or the skipped rows, in the '
        "mapping."
    )
    assert 'two columns "Betrag"' in refuse(FILE.replace("Saldo", "Betrag"))
    assert "no header" in refuse("")


def test_a_row_that_is_too_short_is_refused() -> None:
    assert 'column "Betrag" is missing' in refuse(FILE + "27.11.2026;27.11.2026;Max\n")


def test_a_file_in_another_encoding_is_refused() -> None:
    with pytest.raises(BankFileRefused, match="not in the mapping's encoding, utf-8"):
        parse(FILE.replace("Erika", "Jörg"), encoding="windows-1252")


def test_a_file_that_is_no_csv_is_refused() -> None:
    assert "is not a text" in refuse(FILE + "\0")
    assert "more than 200,000 rows" in refuse("x\n" * 200_001)
    assert "cannot be read as CSV" in refuse(FILE + '"' + "x" * 200_000)


def test_csv_is_read_only_with_a_mapping() -> None:
    (file,) = parse_bank_file("bank.xml", FILE.encode(), GERMAN)
    assert (file.format, len(file.statements[0].entries)) == (BankFileFormat.CSV, 2)
    (refused,) = parse_bank_file("bank.csv", FILE.encode())
    assert refused.refusal is not None
    assert "save a mapping for the account first" in refused.refusal.message


@pytest.mark.parametrize(
    ("changes", "path", "code"),
    [
        ({"iban": "DE00"}, "/iban", "NOT_ALLOWED"),
        ({"currency": "Euro"}, "/currency", "NOT_ALLOWED"),
        ({"delimiter": "::"}, "/delimiter", "NOT_ALLOWED"),
        ({"encoding": "rot13"}, "/encoding", "NOT_ALLOWED"),
        ({"date_format": "%d.%m.%Y"}, "/dateFormat", "NOT_ALLOWED"),
        ({"date_format": "DD.DD.YYYY"}, "/dateFormat", "NOT_ALLOWED"),
        ({"date_format": "DD.MM"}, "/dateFormat", "NOT_ALLOWED"),
        ({"skipped_rows": -1}, "/skippedRows", "NOT_ALLOWED"),
        ({"skipped_rows": 101}, "/skippedRows", "NOT_ALLOWED"),
        ({"skipped_last_rows": -1}, "/skippedLastRows", "NOT_ALLOWED"),
        ({"skipped_last_rows": 101}, "/skippedLastRows", "NOT_ALLOWED"),
        ({"amount": None}, "/amount", "REQUIRED"),
        ({"debit": "Soll"}, "/amount", "REQUIRED"),
        ({"amount": None, "debit": "Soll"}, "/amount", "REQUIRED"),
        (
            {"amount": None, "debit": "Soll", "credit": "Haben", "direction": "S/H"},
            "/direction", "NOT_ALLOWED",
        ),
        ({"status": "Status"}, "/bookedWord", "REQUIRED"),
        ({"value_on": "Buchungstag"}, "/amount", "NOT_UNIQUE"),
        ({"value_on": 0}, "/valueOn", "NOT_ALLOWED"),
        ({"value_on": " "}, "/valueOn", "NOT_ALLOWED"),
        ({"value_on": 201}, "/valueOn", "NOT_ALLOWED"),
        ({"booked_word": "gebucht"}, "/bookedWord", "REQUIRED"),
    ],
)  # fmt: skip
def test_a_mapping_is_checked_before_it_is_saved(
    changes: dict[str, Any], path: str, code: str
) -> None:
    check_mapping(GERMAN)
    with pytest.raises(ValidationError) as refused:
        check_mapping(replace(GERMAN, **changes))
    assert [(fault.path, fault.code) for fault in refused.value.faults] == [(path, code)]


def test_the_last_allowed_value_of_a_mapping_is_accepted() -> None:
    check_mapping(replace(GERMAN, skipped_rows=100, skipped_last_rows=100, value_on=200))


def test_names_of_columns_need_a_header() -> None:
    with pytest.raises(ValidationError, match="Name the column by its number"):
        check_mapping(replace(GERMAN, has_header=False))
