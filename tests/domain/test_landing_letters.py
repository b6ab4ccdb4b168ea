"""Recognition of a letter's amount, and of an address on file."""

from typing import Any

import pytest

from dunwell.interfaces.landing.sign_in.requested_links import match_contact
from dunwell.interfaces.landing.sign_in.verification import LetterAmounts, is_known_amount

_SUMS = LetterAmounts("EUR", [120000, 250, 4900], [10000])
_ON_FILE: Any = {"EMAIL": "Erika.M@example.org", "SMS": "+491711234567"}


@pytest.mark.parametrize(
    "typed",
    [
        "1200", "1.200,00 €", "EUR 1,200.00", "1202,50", "1251,50", "1151,50", "1100", "1 100,00",
        "\uff11\uff12\uff10\uff10", "01200",
    ],
)  # fmt: skip
def test_an_amount_that_was_once_open_is_recognised_in_every_spelling(typed: str) -> None:
    assert is_known_amount(typed, _SUMS)


@pytest.mark.parametrize("typed", ["", "€", "0", "2,50", "49", "1200,01", "100", "-", "120"])
def test_any_other_amount_is_not_recognised(typed: str) -> None:
    assert not is_known_amount(typed, _SUMS)


def test_a_currency_without_minor_units_has_whole_amounts() -> None:
    assert is_known_amount("¥1,200", LetterAmounts("JPY", [1200], []))
    assert not is_known_amount("12", LetterAmounts("JPY", [1200], []))


@pytest.mark.parametrize(
    ("typed", "channel"),
    [
        ("Erika.M@example.org", "EMAIL"),
        (" erika.m@EXAMPLE.org ", "EMAIL"),
        ("erika@example.org", None),
        ("+491711234567", "SMS"),
        ("0171 123 45 67", "SMS"),
        ("0049171/1234567", "SMS"),
        ("0171 123 45 68", None),
        ("1234567", None),
        ("", None),
        ("\x00", None),
    ],
)
def test_a_contact_address_is_recognised_in_every_spelling(typed: str, channel: str | None) -> None:
    assert match_contact(typed, _ON_FILE) == channel


def test_without_an_address_on_file_none_is_recognised() -> None:
    assert match_contact("", {}) is None
    assert match_contact("+491711234567", {"EMAIL": "erika@example.org"}) is None
