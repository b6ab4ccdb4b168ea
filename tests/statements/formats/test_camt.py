"""Statements, notifications and reports of ISO 20022 are read in every version."""

from datetime import date

import pytest

from dunwell.cases.statements.formats.bank_file import parse_bank_file
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.statement import NO_BALANCE, EntryStatus, StatementKind
from tests.support.bank_files import (
    IBAN,
    build_balance,
    build_camt,
    build_detail,
    build_entry,
    build_statement,
    find_refusal,
    parse_one_entry,
    parse_one_statement,
)

DAY = date(2026, 11, 27)
VERSIONS = [f"{number:02}" for number in range(1, 15)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("053", StatementKind.STATEMENT), ("054", StatementKind.DETAILS),
        ("052", StatementKind.REPORT),
    ],
)  # fmt: skip
def test_each_message_is_read_in_every_version(
    message: str, kind: StatementKind, version: str
) -> None:
    content = build_camt(build_entry(details=build_detail()), message=message, version=version)
    statement = parse_one_statement(content)
    assert (statement.kind, statement.statement_id, statement.iban) == (kind, "S-1", IBAN)
    assert (statement.currency, statement.created_on) == ("EUR", DAY)
    assert (statement.period_from, statement.period_to) == (DAY, DAY)
    (entry,) = statement.entries
    assert (entry.amount_cents, entry.currency, entry.status) == (11900, "EUR", EntryStatus.BOOK)
    assert (entry.booked_on, entry.value_on, entry.bank_reference) == (DAY, DAY, "B-1")
    assert entry.transaction_code == "PMNT-RCDT-ESCT"
    assert statement.problems == ()


def test_version_01_has_its_transactions_directly_in_the_entry() -> None:
    content = build_camt(
        build_entry(status="BOOK", more="<Btch><PmtInfId>P-1</PmtInfId></Btch>" + build_detail()),
        version="01",
    )
    content = content.replace(b"BkToCstmrStmt>", b"BkToCstmrStmtV01>")
    (entry,) = parse_one_statement(content).entries
    assert entry.payment_information_id == "P-1"
    assert [detail.end_to_end_id for detail in entry.details] == ["E2E-1"]


def test_the_prefix_of_the_namespace_does_not_matter() -> None:
    content = build_camt(build_entry())
    prefixed = content.replace(b"<", b"<n:").replace(b"<n:/", b"</n:").replace(b"<n:?", b"<?")
    prefixed = prefixed.replace(b"Document xmlns=", b"Document xmlns:n=")
    assert parse_one_statement(prefixed) == parse_one_statement(content)


def test_a_message_in_an_envelope_is_read() -> None:
    inner = build_camt(build_entry()).partition(b"?>")[2]
    content = b"<Envelope><AppHdr><Fr>x</Fr></AppHdr>" + inner + b"</Envelope>"
    assert len(parse_one_statement(content).entries) == 1


def test_money_that_leaves_is_negative() -> None:
    assert parse_one_entry(build_entry("5.00", kind="DBIT")).amount_cents == -500


def test_a_reversal_already_has_the_right_sign() -> None:
    entry = parse_one_entry(build_entry("5.00", kind="DBIT", more="<RvslInd>true</RvslInd>"))
    assert (entry.amount_cents, entry.is_reversal) == (-500, True)


def test_a_statement_without_entries_is_read() -> None:
    statement = parse_one_statement(build_camt())
    assert (statement.entries, statement.period_to, statement.problems) == ((), DAY, ())
    assert find_broken_invariants(statement) == ()


@pytest.mark.parametrize("message", ["052", "054"])
def test_an_empty_report_may_have_neither_balances_nor_currency(message: str) -> None:
    content = build_camt(message=message, balances="").replace(b"<Ccy>EUR</Ccy>", b"")
    statement = parse_one_statement(content)
    assert (statement.currency, statement.opening_cents, statement.entries) == (None, None, ())


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("BOOK", EntryStatus.BOOK), ("<Cd>BOOK</Cd>", EntryStatus.BOOK),
        ("PDNG", EntryStatus.PDNG), ("<Cd>FUTR</Cd>", EntryStatus.PDNG),
        ("<Cd>INFO</Cd>", EntryStatus.INFO),
    ],
)  # fmt: skip
def test_only_a_booked_entry_counts(status: str, expected: EntryStatus) -> None:
    entry = parse_one_entry(build_entry(status=status))
    assert (entry.status, entry.has_payments) == (expected, expected is EntryStatus.BOOK)


@pytest.mark.parametrize("status", ["", "<Prtry>BOOKED</Prtry>", "<Cd>NEW</Cd>"])
def test_an_entry_of_unknown_status_is_shown_and_not_booked(status: str) -> None:
    statement = parse_one_statement(build_camt(build_entry(status=status)))
    assert statement.entries[0].status is EntryStatus.INFO
    assert not statement.entries[0].has_payments
    (problem,) = statement.problems
    assert problem.startswith("Entry 1 (B-1): the status ")
    assert problem.endswith("is unknown; the entry is shown and not booked.")


def test_an_entry_of_zero_is_shown_and_not_booked() -> None:
    entry = parse_one_entry(build_entry("0.00"))
    assert (entry.amount_cents, entry.status, entry.has_payments) == (0, EntryStatus.BOOK, False)


def test_an_unreadable_amount_stops_the_file_and_is_named() -> None:
    statements = build_statement(build_entry()) + build_statement(
        build_entry(), build_entry("12,50", reference="B-2"), statement_id="S-2"
    )
    refusal = find_refusal(build_camt(statements=statements), "november.xml")
    assert refusal.message == (
        'november.xml, statement S-2, entry 2 (B-2): Ntry/Amt is "12,50". An amount '
        "consists of digits without a minus sign, with a point before the decimals. Ask the bank "
        "for a corrected file. Nothing from this file was imported."
    )


@pytest.mark.parametrize(
    ("part", "replacement", "element"),
    [
        ('<Amt Ccy="EUR">119.00</Amt>', "", "Ntry/Amt"),
        ('<Amt Ccy="EUR">119.00</Amt>', '<Amt Ccy="EUR"></Amt>', "Ntry/Amt"),
        ('Ccy="EUR">119', 'Ccy="EURO">119', "Ntry/Amt/@Ccy"),
        ("<CdtDbtInd>CRDT</CdtDbtInd><Sts>", "<Sts>", "Ntry/CdtDbtInd"),
        ("<CdtDbtInd>CRDT</CdtDbtInd><Sts>", "<CdtDbtInd>C</CdtDbtInd><Sts>", "Ntry/CdtDbtInd"),
        (f"<Id><IBAN>{IBAN}</IBAN></Id>", "", "Acct/Id"),
        ("<Ccy>EUR</Ccy>", "<Ccy>Euro</Ccy>", "Acct/Ccy"),
        ('<Amt Ccy="EUR">0.00</Amt>', '<Amt Ccy="EUR">0,00</Amt>', "Bal/Amt of OPBD"),
        ("</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt>", "</Amt><Dt>", "Bal/CdtDbtInd of OPBD"),
    ],
)  # fmt: skip
def test_what_money_depends_on_has_to_be_readable(
    part: str, replacement: str, element: str
) -> None:
    content = build_camt(build_entry()).decode()
    assert part in content
    refusal = find_refusal(content.replace(part, replacement).encode())
    assert refusal.details["element"] == element


def test_an_amount_without_currency_has_that_of_the_account() -> None:
    content = build_camt(build_entry()).replace(b'<Amt Ccy="EUR">119', b"<Amt>119")
    statement = parse_one_statement(content)
    assert (statement.entries[0].amount_cents, statement.entries[0].currency) == (11900, "EUR")
    assert statement.problems == (
        "Entry 1 (B-1): Amt has no currency; the account's currency is used.",
    )


def test_a_booked_entry_without_a_booking_date_takes_the_value_date() -> None:
    content = build_camt(build_entry()).replace(b"<BookgDt><Dt>2026-11-27</Dt></BookgDt>", b"")
    statement = parse_one_statement(content)
    assert statement.entries[0].booked_on == DAY
    assert statement.problems == (
        "Entry 1 (B-1) has no booking date; 2026-11-27 is used.",
    )  # fmt: skip


def test_a_booked_entry_without_any_date_is_refused() -> None:
    content = build_camt(build_entry()).decode()
    for part in ("<BookgDt><Dt>2026-11-27</Dt></BookgDt>", "<ValDt><Dt>2026-11-27</Dt></ValDt>"):
        content = content.replace(part, "")
    start, end = content.index("<FrToDt>"), content.index("</FrToDt>")
    content = content[:start] + content[end + len("</FrToDt>") :]
    content = content.replace("<Id>S-1</Id><CreDtTm>2026-11-27T20:00:00</CreDtTm>", "<Id>S-1</Id>")
    assert find_refusal(content.encode()).details["element"] == "Ntry/BookgDt"


def test_the_balances_of_a_statement_are_signed() -> None:
    balances = build_balance("OPBD", "100.00", "DBIT") + build_balance("CLBD", "19.00")
    statement = parse_one_statement(build_camt(build_entry(), balances=balances))
    assert (statement.opening_cents, statement.closing_cents) == (-10000, 1900)
    assert find_broken_invariants(statement) == ()


def test_the_balance_of_the_day_before_opens_a_statement_that_has_no_other() -> None:
    balances = build_balance("CLBD", "219.00") + build_balance("PRCD", "100.00")
    statement = parse_one_statement(build_camt(build_entry(), balances=balances))
    assert (statement.opening_cents, statement.closing_cents) == (10000, 21900)


def test_intermediate_balances_open_and_close_a_part_of_a_statement() -> None:
    balances = build_balance("ITBD", "1.00") + build_balance("ITBD", "120.00")
    statement = parse_one_statement(build_camt(build_entry(), balances=balances))
    assert (statement.opening_cents, statement.closing_cents) == (100, 12000)


def test_available_and_foreign_balances_are_not_taken() -> None:
    balances = build_balance("CLAV", "x") + build_balance("CLBD", "5.00", currency="USD")
    statement = parse_one_statement(build_camt(balances=balances))
    assert (statement.opening_cents, statement.closing_cents) == (None, None)
    assert statement.problems == (
        "The balance CLBD is not in the account's currency.",
        NO_BALANCE,
    )


@pytest.mark.parametrize("message", ["052", "053", "054"])
def test_only_a_statement_has_to_have_balances(message: str) -> None:
    statement = parse_one_statement(build_camt(build_entry(), message=message, balances=" "))
    assert statement.problems == ((NO_BALANCE,) if message == "053" else ())


def test_each_statement_of_a_file_is_read_by_itself() -> None:
    other = "DE02120300000000202051"
    statements = build_statement(build_entry()) + build_statement(iban=other, statement_id="S-2")
    (file,) = parse_bank_file("bank.xml", build_camt(statements=statements))
    assert [(each.statement_id, each.iban) for each in file.statements] == [
        ("S-1", IBAN), ("S-2", other),
    ]  # fmt: skip


def test_another_account_number_than_an_iban_is_kept() -> None:
    content = build_camt().replace(
        f"<IBAN>{IBAN}</IBAN>".encode(), b"<Othr><Id>123 456</Id></Othr>"
    )
    statement = parse_one_statement(content)
    assert (statement.iban, statement.account_number, statement.account) == (
        None, "123 456", "123 456",
    )  # fmt: skip


def test_what_does_not_validate_is_reported_and_read() -> None:
    content = (
        build_camt(build_entry())
        .replace(b"<Id>S-1</Id>", b"")
        .replace(IBAN.encode(), b"DE00 3704 0044 0532 0130 00")
        .replace(
            b"<Bal>",
            b"<TxsSummry><TtlNtries><NbOfNtries>2</NbOfNtries></TtlNtries></TxsSummry><Bal>",
            1,
        )
    )
    statement = parse_one_statement(content)
    assert statement.statement_id == "#1"
    assert statement.iban == "DE00370400440532013000"
    assert statement.problems == (
        "The statement has no Id.",
        "The account's IBAN DE00370400440532013000 is not valid.",
        "The summary counts 2 entries; there are 1.",
    )
    assert len(statement.entries) == 1


def test_control_characters_are_removed_and_long_texts_cut() -> None:
    text = "a\x85\u0080b &#xD; c" + "x" * 2_000
    statement = parse_one_statement(build_camt(build_entry(details=build_detail(text=text))))
    (line,) = statement.entries[0].details[0].remittance_lines
    assert line == ("a b c" + "x" * 2_000)[:1_000]


def test_texts_in_another_encoding_than_declared_are_read_and_reported() -> None:
    entry = build_entry(details=build_detail(text="Müller"))
    content = build_camt(entry).decode().encode("windows-1252")
    statement = parse_one_statement(content)
    assert statement.entries[0].details[0].remittance_lines == ("Müller",)
    assert statement.problems == ("The file is not UTF-8; it was read as Windows-1252.",)


@pytest.mark.parametrize("encoding", ["iso-8859-15", "utf-16", "utf-8-sig"])
def test_the_declared_encoding_is_followed(encoding: str) -> None:
    text = build_camt(build_entry(details=build_detail(text="Größe"))).decode()
    content = text.replace("UTF-8", encoding.removesuffix("-sig")).encode(encoding)
    statement = parse_one_statement(content)
    assert statement.entries[0].details[0].remittance_lines == ("Größe",)
    assert statement.problems == ()
