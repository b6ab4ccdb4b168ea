"""The lines in the window of a letter."""

import pytest

from dunwell.contact.messages.letters.address import MAX_LINES, render_address
from dunwell.core.claims.fields import DebtorName
from dunwell.platform.text.codes import find_timezone_country

_ADA = DebtorName(first_name="Ada", last_name="Lovelace")
_KOELN = {"street": "Heidestraße 17", "postal_code": "51147", "city": "Köln", "country": "DE"}


def test_a_person_at_home_has_three_lines() -> None:
    lines = render_address(_ADA, _KOELN, "DE", "de")
    assert lines == ["Ada Lovelace", "Heidestraße 17", "51147 Köln"]


def test_a_person_at_a_company_abroad_has_six_lines() -> None:
    debtor = DebtorName(
        first_name="Ada", last_name="Lovelace", company_name="Analytical Engines Ltd"
    )
    address = {
        "street": "12 Church Road", "address_line2": "2nd floor", "postal_code": "SW1A 1AA",
        "city": "London", "country": "GB",
    }  # fmt: skip
    lines = render_address(debtor, address, "DE", "de")
    assert lines == [
        "Analytical Engines Ltd", "Ada Lovelace", "2nd floor", "12 Church Road", "London SW1A 1AA",
        "VEREINIGTES KÖNIGREICH",
    ]  # fmt: skip
    assert len(lines) == MAX_LINES


def test_a_country_is_named_when_the_senders_is_not_known() -> None:
    assert render_address(_ADA, _KOELN, None, "en")[-1] == "GERMANY"


def test_no_value_can_add_a_line() -> None:
    address = {**_KOELN, "street": "A\nB\u202eC", "city": "x" * 255}
    lines = render_address(_ADA, address, "DE", "de")
    assert lines[1] == "A BC"
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)


@pytest.mark.parametrize(
    ("zone", "country"), [("Europe/Berlin", "DE"), ("Europe/Vienna", "AT"), ("UTC", None)]
)
def test_the_senders_country_is_that_of_its_timezone(zone: str, country: str | None) -> None:
    assert find_timezone_country(zone) == country
