"""Files that are written to mislead the reader, or to exhaust it, are read correctly or refused."""

import time
import tracemalloc

import pytest

from dunwell.cases.statements.formats.bank_file import parse_bank_file
from dunwell.cases.statements.formats.csv_mapping import CsvMapping
from dunwell.cases.statements.formats.csv_statement import parse_csv
from dunwell.cases.statements.formats.entry_keys import compute_entry_keys
from dunwell.cases.statements.formats.invariants import find_broken_invariants
from dunwell.cases.statements.formats.statement import BankFileRefused, FilePlace
from dunwell.cases.statements.formats.xml_document import find_text, list_children, parse_xml
from tests.statements.formats.test_csv import FILE, GERMAN
from tests.statements.formats.test_mt940 import STATEMENT
from tests.support.bank_files import (
    IBAN,
    build_balance,
    build_camt,
    build_detail,
    build_entry,
    build_statement,
    build_zip,
    find_refusal,
    parse_one_entry,
    parse_one_statement,
)

_PLACE = FilePlace("bank.xml")
_NUMBERED = CsvMapping(
    iban=IBAN, currency="EUR", booked_on=1, amount=2, reference_text=3, has_header=False
)


def test_a_parent_with_many_children_keeps_none_of_them() -> None:
    """What is read of an entry is freed before the next one is read."""
    entry = "<Ntry>" + "".join(f"<a{number}>x</a{number}>" for number in range(20)) + "</Ntry>"
    root = parse_xml(f"<Stmt>{entry * 3_000}</Stmt>".encode(), _PLACE).root
    tracemalloc.start()
    try:
        count = sum(find_text(each, "a7") == "x" for each in list_children(root, "Ntry"))
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 3_000
    assert kept < 1_000_000


@pytest.mark.parametrize("count", [99, 100, 101, 5_000])
def test_children_are_found_however_many_there_are(count: int) -> None:
    others = "<b/>" * (count - 2)
    root = parse_xml(f"<x><a>1</a>{others}<a>2</a></x>".encode(), _PLACE).root
    assert [each.text for each in list_children(root, "a")] == ["1", "2"]
    assert find_text(root, "c", "a") == "1"


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (">119.00<", "><x/>119.00<", "It contains other elements."),
        (">119.00<", ">1<x/>19.00<", "It contains other elements."),
        ("</Amt>", '</Amt><Amt Ccy="EUR">9.00</Amt>', "It occurs more than once."),
        ("</CdtDbtInd>", "</CdtDbtInd><CdtDbtInd>DBIT</CdtDbtInd>", "It occurs more than once."),
        (">119.00<", ">-119.00<", "without a minus sign"),
        (">119.00<", ">1e3<", "An amount consists of digits"),
        (">119.00<", ">\u0661\u0661\u0669.00<", "An amount consists of digits"),
        (">119.00<", ">119.001<", "EUR has 2 decimals"),
        (">119.00<", ">" + "9" * 40 + "<", "An amount consists of digits"),
        (">119.00<", "><", "An amount consists of digits"),
        (">CRDT<", ">crdt<", "It has to be CRDT or DBIT"),
        (">2026-11-27<", ">0001-01-01<", None),
        (">2026-11-27<", ">9999-12-31<", None),
    ],
)
def test_a_value_that_can_be_read_in_two_ways_is_refused(
    old: str, new: str, reason: str | None
) -> None:
    content = build_camt(build_entry().replace(old, new))
    if reason is not None:
        assert reason in find_refusal(content).message
        return
    # An impossible day is as good as none: the statement's day is taken, and reported.
    statement = parse_one_statement(content)
    assert str(statement.entries[0].booked_on) == "2026-11-27"
    assert any("has no booking date" in each for each in statement.problems)


@pytest.mark.parametrize("day", ["01.01.0001", "31.12.9999", "31.12.1969", "30.02.2026"])
def test_a_row_of_an_impossible_day_is_refused(day: str) -> None:
    content = FILE.replace("27.11.2026;28", f"{day};28").encode()
    with pytest.raises(BankFileRefused, match="expects a date"):
        parse_csv(content, _PLACE, GERMAN)


@pytest.mark.parametrize(("kind", "cents"), [("CRDT", 11900), ("DBIT", -11900)])
def test_a_reversal_has_the_sign_that_the_bank_gives(kind: str, cents: int) -> None:
    entry = parse_one_entry(build_entry(kind=kind, more="<RvslInd>true</RvslInd>"))
    assert (entry.amount_cents, entry.is_reversal) == (cents, True)


def test_statements_of_several_accounts_and_currencies_stay_apart() -> None:
    parts = [
        build_statement(build_entry(reference=""), iban=iban, currency=currency, balances="")
        for iban in ("DE89370400440532013000", "DE02120300000000202051")
        for currency in ("EUR", "CHF")
    ]
    parts[1] = parts[1].replace('Ccy="EUR"', 'Ccy="CHF"')
    (file,) = parse_bank_file("bank.xml", build_camt(statements="".join(parts)))
    keys = [key for each in file.statements for key in compute_entry_keys(each)]
    assert len({key.text for key in keys if key}) == 3
    held = [bool(find_broken_invariants(each)) for each in file.statements]
    # The entry of the last one is not in the currency of its account, but that of the third one.
    assert held == [False, False, False, True]


@pytest.mark.parametrize("balances", ["", build_balance("OPBD", "1.00"), build_balance("X", "1")])
def test_a_statement_without_balances_is_read_and_says_so(balances: str) -> None:
    statement = parse_one_statement(build_camt(build_entry(), balances=balances))
    assert find_broken_invariants(statement) == ()
    assert any("balance is missing" in each for each in statement.problems)


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_byte_order_marks_change_nothing(end: str, mark: str) -> None:
    camt = build_camt(build_entry()).decode().replace("><", f">{end}<")
    text = mark + FILE.replace("\n", end)
    assert parse_one_statement((mark + camt).encode()).entries[0].amount_cents == 11900
    assert len(parse_csv(text.encode(), _PLACE, GERMAN).entries) == 2
    (file,) = parse_bank_file("bank.sta", (mark + STATEMENT.replace("\n", end)).encode())
    assert file.refusal is None
    assert file.statements


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-15", "windows-1252"])
def test_the_declared_encoding_is_used(encoding: str) -> None:
    text = build_camt(build_entry(details=build_detail(text="Müller"))).decode()
    content = text.replace("UTF-8", encoding).encode(encoding)
    (detail,) = parse_one_statement(content).entries[0].details
    assert detail.remittance_lines == ("Müller",)


@pytest.mark.parametrize("encoding", ["utf-7", "utf-32", "cp500", "hz-gb-2312"])
def test_an_encoding_that_hides_the_markup_is_refused(encoding: str) -> None:
    attack = '<!DOCTYPE a [<!ENTITY x "1">]>'
    text = build_camt(build_entry()).decode().replace("?><Doc", f"?>{attack}<Doc")
    refusal = find_refusal(text.replace("UTF-8", encoding).encode(encoding))
    assert refusal.message


def test_a_huge_field_is_cut_or_refused() -> None:
    long = build_camt(build_entry(details=build_detail(text="x" * 100_000)))
    (detail,) = parse_one_statement(long).entries[0].details
    assert len(detail.remittance_lines[0]) == 1_000
    row = FILE.replace("Fee", "y" * 200_000)
    with pytest.raises(BankFileRefused, match="cannot be read as CSV"):
        parse_csv(row.encode(), _PLACE, GERMAN)


def _repeat(text: str, count: int) -> bytes:
    return text.encode() * count


@pytest.mark.parametrize(
    "content",
    [
        build_camt(build_entry(more="<Chrgs><Rcrd/></Chrgs>" * 30_000)),
        build_camt(build_entry(details="<TxDtls/>" * 30_000)),
        build_camt(build_entry(details=build_detail(more="<a/>" * 30_000))),
        build_camt(build_entry(details="<TxDtls><RmtInf>" + "<Ustrd>1</Ustrd>" * 30_000
                               + "</RmtInf></TxDtls>")),
        STATEMENT.encode() + _repeat(":86:1234?20abc\n", 20_000),
        STATEMENT.encode() + b":86:" + b"?20" * 100_000,
        STATEMENT.encode() + b":61:" + b"9" * 200_000,
        STATEMENT.encode() + b"\n" * 200_000 + b":62F:C",
        STATEMENT.encode() + b":61:2611271127C1,00NMSC" + b" " * 200_000,
        _repeat("<?xml ", 60_000),
        b"a;" * 30_000,
        b'"' * 100_001,
    ],
)  # fmt: skip
def test_no_small_file_takes_long(content: bytes) -> None:
    began = time.process_time()
    assert parse_bank_file("bank", content, _NUMBERED)
    assert time.process_time() - began < 5


def test_an_archive_with_good_and_bad_files_reports_each() -> None:
    good, bad = build_camt(build_entry()), build_camt(build_entry("-1.00"))
    inner = build_zip({"good.xml": good, "bad.xml": bad, "empty.xml": b""})
    files = parse_bank_file("a.zip", build_zip({"inner.zip": inner, "../../x.xml": good}))
    assert [file.refusal is None for file in files] == [True, False, False, True]
    assert [len(file.statements) for file in files] == [1, 0, 0, 1]
