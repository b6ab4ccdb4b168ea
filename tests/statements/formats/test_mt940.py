"""MT940 is read with its German structure, and no line of it is lost."""

import logging
from datetime import date

import pytest

from dunwell.cases.statements.formats.bank_file import BankFileFormat, parse_bank_file
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.statement import (
    NO_BALANCE,
    BankEntry,
    EntryDetail,
    StatementKind,
)
from tests.support.bank_files import PAYER_IBAN, find_refusal, parse_one_statement

STATEMENT = """:20:STARTUMSE
:25:50080000/1234567
:28C:00012/001
:60F:C261231EUR1000,00
:61:2612310101CR119,00NTRFNONREF//2611020001
:86:166?00GUTSCHRIFT?20EREF+E2E-1?21MREF+MANDATE-1?22SVWZ+Invoice RF1853900754?237034 t
hanks?30COBADEFFXXX?31DE02120300000000202051?32Erika Muster?33mann
:61:2701020102DR53,50N011KREF-9
/OCMT/EUR50,00//CHGS/EUR3,50/
:86:159?00RUECKLASTSCHRIFT?20EREF+E2E-9?22SVWZ+RETURN?31123456?34914
:61:2701020102RCR10,00NMSCNONREF
:86:Free text
in two lines
:62F:C270102EUR1055,50
:86:About the statement
-
"""


def parse_entries(text: str) -> tuple[BankEntry, ...]:
    return parse_one_statement(text.encode(), "bank.sta").entries


def test_a_statement_is_read() -> None:
    statement = parse_one_statement(STATEMENT.encode())
    assert statement.kind is StatementKind.STATEMENT
    assert (statement.iban, statement.account_number) == (None, "50080000/1234567")
    assert (statement.statement_id, statement.currency) == ("STARTUMSE/00012/001", "EUR")
    assert (statement.opening_cents, statement.closing_cents) == (100000, 105550)
    assert statement.period_to == date(2027, 1, 2)
    assert [entry.amount_cents for entry in statement.entries] == [11900, -5350, -1000]
    assert find_broken_invariants(statement) == ()


def test_the_structured_texts_of_german_banks_are_read() -> None:
    entry = parse_entries(STATEMENT)[0]
    assert entry.bank_reference == "2611020001"
    assert entry.transaction_code == "166"
    assert entry.details == (
        EntryDetail(
            amount_cents=11900,
            end_to_end_id="E2E-1",
            mandate_id="MANDATE-1",
            remittance_lines=("Invoice RF18539007547034 thanks",),
            additional_text="GUTSCHRIFT",
            counterparty_name="Erika Mustermann",
            counterparty_iban=PAYER_IBAN,
            transaction_code="166",
        ),
    )


def test_the_booking_date_may_be_in_the_next_year() -> None:
    entry = parse_entries(STATEMENT)[0]
    assert (entry.value_on, entry.booked_on) == (date(2026, 12, 31), date(2027, 1, 1))


def test_the_charges_of_a_return_are_a_separate_cost() -> None:
    entry = parse_entries(STATEMENT)[1]
    (detail,) = entry.details
    assert (detail.amount_cents, entry.charges_cents) == (-5000, -350)
    assert (detail.return_reason, detail.instruction_id) == ("914", "KREF-9")
    assert detail.counterparty_iban is None  # An account number is no IBAN.


def test_the_original_amount_is_also_read_from_the_texts() -> None:
    text = STATEMENT.replace("/OCMT/EUR50,00//CHGS/EUR3,50/\n", "")
    text = text.replace("?22SVWZ+RETURN", "?22SVWZ+RETURN?23OAMT+50,00?24COAM+3,50")
    assert parse_entries(text)[1].details[0].amount_cents == -5000
    larger = parse_entries(text.replace("OAMT+50,00", "OAMT+60,00"))[1]
    assert (larger.details[0].amount_cents, larger.charges_cents) == (-5350, 0)
    refusal = find_refusal(text.replace("OAMT+50,00", "OAMT+50.00").encode())
    assert refusal.details["element"] == ":86: OAMT"


def test_a_reversal_of_a_credit_is_negative() -> None:
    entry = parse_entries(STATEMENT)[2]
    assert (entry.amount_cents, entry.is_reversal, entry.bank_reference) == (-1000, True, None)
    assert parse_entries(STATEMENT.replace("RCR10,00", "RDR10,00"))[2].amount_cents == 1000


def test_a_text_after_the_closing_balance_is_not_part_of_the_last_entry() -> None:
    assert parse_entries(STATEMENT)[2].details[0].remittance_lines == ("Free text", "in two lines")


def test_a_line_after_the_text_of_the_statement_is_not_lost() -> None:
    text = STATEMENT.removesuffix("-\n") + ":61:2701020102C7,00NTRFNONREF\n"
    assert [entry.amount_cents for entry in parse_entries(text)] == [11900, -5350, -1000, 700]
    statement = parse_one_statement(text.encode())
    assert len(find_broken_invariants(statement)) == 1


def test_a_line_before_the_first_statement_stops_the_file() -> None:
    text = ":61:2701020102C7,00NTRFNONREF\n" + STATEMENT
    assert "before the first statement (:20:)" in find_refusal(text.encode()).message


def test_each_statement_of_a_file_is_read_by_itself() -> None:
    second = STATEMENT.replace("50080000/1234567", "COBADEFFXXX/DE89370400440532013000EUR")
    (file,) = parse_bank_file("bank.txt", (STATEMENT + second).encode())
    assert file.format is BankFileFormat.MT940
    assert [statement.iban for statement in file.statements] == [None, "DE89370400440532013000"]
    assert [len(statement.entries) for statement in file.statements] == [3, 3]


def test_the_envelope_of_swift_is_removed() -> None:
    text = "{1:F01BANKDEFFXXXX}{4:\n" + STATEMENT.removesuffix("-\n") + "-}{5:{CHK:123}}\n"
    assert parse_one_statement(text.encode()) == parse_one_statement(STATEMENT.encode())


def test_lines_that_the_bank_wrapped_are_joined() -> None:
    text = STATEMENT.replace("0101CR119", "0101CR\n119").replace(":86:159", ":\n86:159")
    text = text.replace(":61:2701020102DR", ":\n61:2701020102DR")
    assert parse_one_statement(text.encode()) == parse_one_statement(STATEMENT.encode())


def test_control_characters_are_removed_and_long_texts_cut() -> None:
    text = STATEMENT.replace("Free text", "Free\0\x1b text" + "x" * 2_000)
    (line, _) = parse_entries(text)[2].details[0].remittance_lines
    assert line == ("Free text" + "x" * 2_000)[:1_000]
    text = STATEMENT.replace("//2611020001", "//26\x00110").replace("STARTUMSE", "A\0B" * 400)
    statement = parse_one_statement(text.encode())
    assert statement.entries[0].bank_reference == "26110"
    assert statement.statement_id.startswith("ABABAB")
    assert "\0" not in statement.statement_id


def test_a_missing_closing_balance_is_reported() -> None:
    text = STATEMENT.replace(":62F:C270102EUR1055,50\n", "")
    assert parse_one_statement(text.encode()).problems == (NO_BALANCE,)


def test_windows_line_ends_and_encoding_are_read() -> None:
    text = STATEMENT.replace("Mustermann", "Müller").replace("?32Erika Muster?33mann", "?32Müller")
    content = text.replace("\n", "\r\n").encode("windows-1252")
    assert parse_one_statement(content).entries[0].details[0].counterparty_name == "Müller"


def test_a_report_has_no_balances() -> None:
    text = (
        ":20:R-1\n:25:DE89370400440532013000\n:28C:1/1\n:34F:EUR0,00\n:13D:2611270800+0100\n"
        ":61:2611271127C5,00NTRFNONREF//B-1\n:86:text\n"
    )
    statement = parse_one_statement(text.encode())
    assert (statement.kind, statement.opening_cents) == (StatementKind.REPORT, None)
    assert [entry.amount_cents for entry in statement.entries] == [500]


def test_a_line_without_transaction_type_is_not_overwritten_by_the_next() -> None:
    text = STATEMENT.replace("N011KREF-9", "").replace("NMSCNONREF", "")
    assert [entry.amount_cents for entry in parse_entries(text)] == [11900, -5350, -1000]


def test_a_line_that_the_library_does_not_see_stops_the_file() -> None:
    refusal = find_refusal(STATEMENT.replace(":61:2701020102RC", " :61:2701020102RC").encode())
    assert refusal.message.startswith(
        "bank.xml, statement STARTUMSE: There are 3 statement lines (:61:), of which only 2 can be "
        "read."
    )


@pytest.mark.parametrize(
    ("part", "replacement", "element", "value", "entry"),
    [
        ("R53,50", "R53,5,0", ":61:", "53,5,0", "2"),
        ("R53,50", "R53,505", ":61:", "53.505", "2"),
        ("EUR1000,00", "EUR1.000,00", ":60F:", "1.000,00", None),
        ("R53,50", "R1.053,50", ":61:", "1.053,50", "2"),
        ("R53,50", "R1234567890123,45", ":61:", "1234567890123,45", "2"),
        ("EUR1055,50", "EUR", ":62F:", "", None),
        (":61:2612310101CR119,00", ":61:no line", ":61:", None, "1"),
    ],
)  # fmt: skip
def test_an_unreadable_amount_stops_the_file_and_is_named(
    part: str, replacement: str, element: str, value: str | None, entry: str | None
) -> None:
    refusal = find_refusal(STATEMENT.replace(part, replacement).encode(), "bank.sta")
    assert refusal.details["file"] == "bank.sta"
    assert refusal.details["statement"].startswith("STARTUMSE")
    assert refusal.details["element"] == element
    assert value is None or refusal.details["value"] == value
    assert refusal.details["entry"] == entry


def test_an_impossible_day_stops_the_file() -> None:
    assert (
        "cannot be read"
        in find_refusal(STATEMENT.replace("2612310101", "2613310101").encode()).message
    )


def test_unreadable_values_are_not_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger=""):
        find_refusal(STATEMENT.replace(":28C:00012/001", ":28C:Erika Mustermann").encode())
    assert caplog.records == []
