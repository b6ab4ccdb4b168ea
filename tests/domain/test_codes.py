"""Codes of external standards, and texts without hidden characters."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.platform.text.codes import (
    is_bic,
    is_country,
    is_currency,
    is_iban,
    is_language,
    is_timezone,
)
from dunwell.platform.text.texts import find_unprintable, is_email_address, is_printable


@pytest.mark.parametrize(
    ("known", "unknown"),
    [
        ([is_currency(code) for code in ("EUR", "CHF")],
         [is_currency(code) for code in ("eur", "EURO", "", "ZZZ")]),
        ([is_language(code) for code in ("de", "en", "tr")],
         [is_language(code) for code in ("DE", "de-DE", "xx", "")]),
        ([is_country(code) for code in ("DE", "IE")],
         [is_country(code) for code in ("de", "DEU", "419", "ZX", "")]),
        ([is_timezone(name) for name in ("Europe/Berlin", "UTC")],
         [is_timezone(name) for name in ("Berlin", "europe/berlin", "../etc/passwd", "")]),
        ([is_iban(text) for text in ("DE02120300000000202051", "DE02 1203 0000 0000 2020 51")],
         [is_iban(text) for text in ("DE02120300000000202052", "DE0212030000", "", "XX")]),
        ([is_bic(text) for text in ("BYLADEM1001", "DEUTDEFF")],
         [is_bic(text) for text in ("BYLADEM", "12345678", "")]),
    ],
)  # fmt: skip
def test_known_codes_are_distinguished_from_unknown_ones(
    known: list[bool], unknown: list[bool]
) -> None:
    assert all(known)
    assert not any(unknown)


@pytest.mark.parametrize("text", ["a@b.example", "first.last+tag@sub.b.example"])
def test_a_plain_email_address_is_accepted(text: str) -> None:
    assert is_email_address(text)


@pytest.mark.parametrize(
    "text",
    ["", "a", "a@b", "@b.example", "A <a@b.example>", "a@b.example\n", "a@b..example",
     "a b@c.example", "a@b.example, c@d.example", " a@b.example", "a@b.example\nBcc: c@d.example"],
)  # fmt: skip
def test_any_other_email_address_is_refused(text: str) -> None:
    assert not is_email_address(text)


@given(st.text())
def test_checking_a_text_never_crashes(text: str) -> None:
    assert not (is_email_address(text) and "@" not in text)
    assert not (is_iban(text) and not text.strip())


def test_hidden_characters_are_found_at_any_position() -> None:
    value = {"a": ["fine\nline\t", "bell\x07"], "b\x00": {"c": "half\ud800"}, "d": 1}
    assert [fault.path for fault in find_unprintable(value)] == ["/a/1", "/b\x00/c", ""]


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])))
def test_letters_of_any_script_are_printable(text: str) -> None:
    assert is_printable(text)
