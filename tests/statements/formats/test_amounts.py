"""Amounts become integer minor units exactly, or the file is refused."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.statements.formats.amounts import (
    WrittenAmount,
    check_currency,
    parse_iso_day,
    parse_signed_amount,
    parse_unsigned_amount,
)
from dunwell.cases.statements.formats.plain_amounts import render_plain_amount
from dunwell.cases.statements.formats.statement import BankFileRefused, FilePlace

PLACE = FilePlace("bank.xml", "S-1", "3 (B-1)")


def parse(text: str | None, currency: str = "EUR") -> int:
    return parse_unsigned_amount(WrittenAmount("Ntry/Amt", text, currency), PLACE)


def parse_typed(text: str, *, comma: bool = True, currency: str = "EUR") -> int:
    written = WrittenAmount('column "Betrag"', text, currency)
    return parse_signed_amount(written, PLACE, decimal_comma=comma)


@pytest.mark.parametrize(
    ("text", "currency", "cents"),
    [
        ("0", "EUR", 0), ("0.00", "EUR", 0), ("5", "EUR", 500), ("5.", "EUR", 500),
        (".5", "EUR", 50), ("+5.0", "EUR", 500), (" 1234.56\n", "EUR", 123456),
        ("007.10", "EUR", 710), ("1234", "JPY", 1234), ("1.234", "KWD", 1234),
        ("1.2", "KWD", 1200), ("5442.09000", "RON", 544209), ("7.0", "JPY", 7),
        ("999999999999999.99", "EUR", 99999999999999999),
    ],
)  # fmt: skip
def test_an_amount_has_the_decimals_of_its_currency(text: str, currency: str, cents: int) -> None:
    assert parse(text, currency) == cents


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        (None, "EUR"), ("", "EUR"), (".", "EUR"), ("-5.00", "EUR"), ("1,00", "EUR"),
        ("1.234,00", "EUR"), ("1e3", "EUR"), ("NaN", "EUR"), ("1.001", "EUR"), ("1.0010", "EUR"),
        ("1.1", "JPY"), ("1.2345", "KWD"), ("1 000.00", "EUR"), ("٣", "EUR"), ("0x10", "EUR"),
        ("9999999999999999.00", "EUR"),
    ],
)  # fmt: skip
def test_another_amount_is_refused_with_its_place_and_value(
    text: str | None, currency: str
) -> None:
    with pytest.raises(BankFileRefused) as refused:
        parse(text, currency)
    shown = "is missing" if text is None else f'is "{text}"'
    assert refused.value.message.startswith(
        f"bank.xml, statement S-1, entry 3 (B-1): Ntry/Amt {shown}. "
    )
    assert refused.value.message.endswith("Nothing from this file was imported.")
    assert refused.value.details == {
        "file": "bank.xml", "statement": "S-1", "entry": "3 (B-1)",
        "element": "Ntry/Amt", "value": text,
    }  # fmt: skip


def test_nothing_is_rounded() -> None:
    with pytest.raises(BankFileRefused, match="EUR has 2 decimals, and nothing is rounded"):
        parse("10.005")


@pytest.mark.parametrize(
    ("text", "comma", "cents"),
    [
        ("1.234,56", True, 123456), ("-1.234.567,89", True, -123456789), ("12,00-", True, -1200),
        ("+12", True, 1200), ("12", True, 1200), ("12,5", True, 1250), ("1'234,50", True, 123450),
        ("1 234,50", True, 123450), ("1\u00a0234,50 EUR", True, 123450), ("€ 5,00", True, 500),
        ("\N{MINUS SIGN}7,00", True, -700), ("1,234.56", False, 123456), ("-12.00", False, -1200),
        ("1234,56", True, 123456), ("EUR -3.00", False, -300),
    ],
)  # fmt: skip
def test_an_amount_of_a_csv_file_follows_the_mapping(text: str, comma: bool, cents: int) -> None:
    assert parse_typed(text, comma=comma) == cents


@pytest.mark.parametrize(
    ("text", "comma"),
    [
        ("1.234.56", True), ("12.50", True), ("1,234.56", True), ("12,50", False),
        ("1.234,56", False), ("-5,00-", True), ("", True), ("5,00 USD", True), ("1.23,00", True),
        ("abc", True), ("1,005", True), ("1,000", True), ("--5", True),
        (".5,00", True), ("1.2345,00", True),
    ],
)  # fmt: skip
def test_an_amount_that_the_mapping_does_not_expect_is_refused(text: str, comma: bool) -> None:
    with pytest.raises(BankFileRefused):
        parse_typed(text, comma=comma)


CURRENCIES = st.sampled_from(["EUR", "JPY", "KWD", "CHF"])
DIGITS = {"EUR": 2, "JPY": 0, "KWD": 3, "CHF": 2}


@given(st.integers(0, 10**16), CURRENCIES)
def test_every_amount_that_is_written_out_is_read_as_it_was(cents: int, currency: str) -> None:
    written = render_plain_amount(cents, currency).removesuffix(f" {currency}")
    assert parse(written, currency) == cents
    assert Decimal(written).scaleb(DIGITS[currency]) == cents
    assert parse_typed(f"-{written}", comma=False, currency=currency) == -cents


@given(st.text(alphabet="0123456789.,+- e€", max_size=12), CURRENCIES)
def test_no_text_is_read_as_another_number(text: str, currency: str) -> None:
    try:
        cents = parse(text, currency)
    except BankFileRefused:
        return
    assert Decimal(text).scaleb(DIGITS[currency]) == cents


def test_an_unknown_currency_is_refused() -> None:
    assert check_currency("Ntry/Amt/@Ccy", "CHF", PLACE) == "CHF"
    for code in (None, "eur", "EURO", "ABC"):
        with pytest.raises(BankFileRefused, match="Ntry/Amt/@Ccy"):
            check_currency("Ntry/Amt/@Ccy", code, PLACE)


def test_the_day_is_the_one_that_the_bank_writes() -> None:
    assert str(parse_iso_day("2026-11-27T23:59:59-05:00")) == "2026-11-27"
    assert str(parse_iso_day(" 2026-11-27 ")) == "2026-11-27"
    for text in (None, "", "27.11.2026", "2026-02-30", "20261127"):
        assert parse_iso_day(text) is None
