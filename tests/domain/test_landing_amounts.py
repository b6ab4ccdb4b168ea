"""Typed amounts are accepted if they are unambiguous and refused otherwise."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.templates.formatting import render_money
from dunwell.interfaces.web.amounts import parse_amount, render_typed_amount


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize(
    ("typed", "cents"),
    [
        ("50", 5000),
        ("50,00", 5000),
        ("50.00", 5000),
        ("€50", 5000),
        ("50 €", 5000),
        ("EUR 50,00", 5000),
        ("50.00eur", 5000),
        ("  50\u00a0", 5000),
        ("0,50", 50),
        ("1.234,56", 123456),
        ("1,234.56", 123456),
        ("1.234.567,89", 123456789),
        ("1,234,567", 123456700),
        ("0", 0),
    ],
)
def test_an_unambiguous_amount_is_accepted_in_every_language(
    typed: str, cents: int, language: str
) -> None:
    assert parse_amount(typed, "EUR", language) == cents


@pytest.mark.parametrize(
    ("typed", "german", "english"), [("1.234", 123400, None), ("1,234", None, 123400)]
)
def test_thousands_separators_follow_the_language(
    typed: str, german: int | None, english: int | None
) -> None:
    assert parse_amount(typed, "EUR", "de") == german
    assert parse_amount(typed, "EUR", "en") == english


@pytest.mark.parametrize("language", ["de", "en"])
@pytest.mark.parametrize(
    "typed",
    [
        "", " ", "fifty", "-50", "+50", "50-", "5e2", "0x50", "50,5", "50.000,0", "050", "00",
        "12.34,56", "1.23.4", "1,23,456", "1 234,56", "1'234.56", "50,00.00", ".50", "50.", ",",
        "\u0665\u0660", "\uff15\uff10", "$50", "50 USD", "€50€", "50 000", "1/2", "50;00", "NaN",
        "1" * 12, "1" * 41, "50\x00", "<b>50</b>",
    ],
)  # fmt: skip
def test_an_ambiguous_amount_is_refused(typed: str, language: str) -> None:
    assert parse_amount(typed, "EUR", language) is None


@pytest.mark.parametrize(
    ("typed", "currency", "language", "minor"),
    [
        ("500", "JPY", "en", 500),
        ("500.00", "JPY", "en", None),
        ("1,500", "JPY", "en", 1500),
        ("1.500", "KWD", "en", 1500),
        ("1.500", "KWD", "de", 1500000),
        ("1,500", "KWD", "de", 1500),
        ("1.50", "KWD", "en", None),
    ],
)
def test_minor_units_are_the_currencys_own(
    typed: str, currency: str, language: str, minor: int | None
) -> None:
    assert parse_amount(typed, currency, language) == minor


_AMOUNTS = st.integers(min_value=0, max_value=999_999_999_999)
_CURRENCIES = st.sampled_from(["EUR", "USD", "CHF", "GBP"])
_LANGUAGES = st.sampled_from(["de", "en"])


@given(_AMOUNTS, _CURRENCIES, _LANGUAGES)
def test_an_amount_as_shown_on_the_pages_is_accepted(
    cents: int, currency: str, language: str
) -> None:
    assert parse_amount(render_money(cents, currency, language), currency, language) == cents
    assert parse_amount(render_typed_amount(cents, currency, language), currency, language) == cents


@given(st.text(max_size=60), _LANGUAGES)
def test_parsing_an_amount_never_crashes(typed: str, language: str) -> None:
    cents = parse_amount(typed, "EUR", language)
    assert cents is None or 0 <= cents <= 999_999_999_999


@given(st.text(alphabet="0123456789.,€ ", max_size=16), _LANGUAGES)
def test_an_amount_has_the_digits_that_were_typed(typed: str, language: str) -> None:
    cents = parse_amount(typed, "EUR", language)
    if cents is not None:
        digits = "".join(each for each in typed if each.isdecimal())
        assert str(cents).rstrip("0") == digits.lstrip("0").rstrip("0")
