"""How facts are shown: money, days, names, and a text for every placeholder."""

import re
from datetime import date
from decimal import Decimal

import pytest
from babel import Locale
from babel.numbers import format_currency
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.messages.templates.formatting import (
    MessageValues,
    render_day,
    render_iban,
    render_line,
    render_money,
    render_name,
)
from dunwell.contact.messages.templates.placeholders import PLACEHOLDER_NAMES
from dunwell.core.claims.fields import DebtorName
from tests.support.messages import some_facts

_NBSP = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("cents", "currency", "language", "text"),
    [
        (123456, "EUR", "de", f"1.234,56{_NBSP}€"),
        (123456, "EUR", "en", "€1,234.56"),
        (5, "EUR", "de", f"0,05{_NBSP}€"),
        (500, "JPY", "de", f"500{_NBSP}¥"),
        (1234, "KWD", "en", f"KWD{_NBSP}1.234"),
        (100, "CHF", "de-CH", f"CHF{_NBSP}1.00"),
        (100, "EUR", "no such tongue", "€1.00"),
    ],
)
def test_money_is_formatted_in_its_language(
    cents: int, currency: str, language: str, text: str
) -> None:
    assert render_money(cents, currency, language) == text


@given(st.integers(0, 10**14), st.sampled_from(["en", "de", "fr", "pl"]))
def test_money_is_never_broken_across_lines(cents: int, language: str) -> None:
    assert " " not in render_money(cents, "EUR", language)


@given(
    st.integers(-(10**6), 10**14),
    st.sampled_from(["EUR", "USD", "CHF", "INR"]),
    st.sampled_from(["en", "de", "fr", "es", "pl", "hi", "ar", "de-CH", "pt-PT"]),
)
def test_money_of_every_size_is_formatted_as_in_cldr(cents: int, code: str, language: str) -> None:
    locale = Locale.parse(language, sep="-")
    expected = format_currency(Decimal(cents) / 100, code, locale=locale)
    apart = re.sub(r"(?<=[A-Z])(?=\d)", "\N{NO-BREAK SPACE}", expected)
    assert render_money(cents, code, language) == apart.replace(" ", "\N{NO-BREAK SPACE}")


def test_days_have_their_month_in_words() -> None:
    assert render_day(date(2026, 3, 2), "de") == "2. März 2026"
    assert render_day(date(2026, 3, 2), "en") == "2 March 2026"
    assert render_day(date(2026, 10, 15), "en-US") == "October 15, 2026"
    assert render_day(None, "en") == ""


def test_a_debtor_is_named_by_name_or_company() -> None:
    ada = DebtorName(first_name="Ada", last_name="Lovelace", company_name="Engines Ltd")
    assert render_name(ada) == "Ada Lovelace"
    assert render_name(DebtorName(last_name="Lovelace")) == "Lovelace"
    assert render_name(DebtorName(company_name="Engines Ltd")) == "Engines Ltd"
    assert render_name(DebtorName()) == ""


def test_an_iban_is_shown_in_groups_of_four() -> None:
    assert render_iban("DE02120300000000202051") == "DE02 1203 0000 0000 2020 51"
    assert render_iban(None) is None


def test_a_value_cannot_break_the_line_or_reverse_its_direction() -> None:
    assert render_line("Ada\r\nBcc: x@y") == "Ada Bcc: x@y"
    assert render_line("Ada\u202eecalevoL\x00\u2028!") == "AdaecalevoL !"
    assert render_line(f"Müller{_NBSP}👩‍💻") == f"Müller{_NBSP}👩‍💻"


@given(st.text())
def test_a_value_is_always_one_line(value: str) -> None:
    assert len(render_line(value).splitlines()) <= 1


def test_every_placeholder_has_a_text_in_every_language() -> None:
    for language in ("de", "en", "fr"):
        values = MessageValues(some_facts(pay_by=some_facts().today), language)
        texts = {name: values.text(name) for name in PLACEHOLDER_NAMES}
        empty = {name for name, text in texts.items() if not text}
        assert empty == {"contractNumber", "companyName", "landing.code"}


def test_an_unknown_placeholder_has_no_text() -> None:
    assert MessageValues(some_facts(), "de").text("no.such") == ""


@pytest.mark.parametrize(
    ("currency", "shown"),
    [
        ("EUR", "€10,240.05"),
        ("RSD", "RSD\N{NO-BREAK SPACE}10,240.05"),
        ("JPY", "¥1,024,005"),
        ("IQD", "IQD\N{NO-BREAK SPACE}1,024.005"),
        ("KWD", "KWD\N{NO-BREAK SPACE}1,024.005"),
    ],
)
def test_money_is_counted_in_the_currencys_own_minor_unit(currency: str, shown: str) -> None:
    assert render_money(1024005, currency, "en") == shown
