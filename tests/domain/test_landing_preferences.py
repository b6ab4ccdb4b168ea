"""The channels of a debtor, which of them can be chosen, and how addresses are parsed."""

import pytest

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.contact_preferences.views import (
    ContactWay,
    compute_way_changes,
    parse_address,
    render_address,
)
from dunwell.interfaces.landing.session.facts import OnFile
from dunwell.interfaces.landing.session.lifecycle import list_addresses

_ADDRESS = {"street": "Am Markt 1", "postal_code": "20095", "city": "Hamburg"}
_ALL: tuple[Channel, ...] = ("EMAIL", "SMS", "LETTER")


def a_way(channel: Channel, suppressed_for: str | None = None) -> ContactWay:
    return ContactWay(channel, "e@example.org", suppressed_for)


def test_contact_channels_are_those_of_the_merchant_with_an_address() -> None:
    on_file = OnFile("e@example.org", postal_address=_ADDRESS)

    assert list_addresses(on_file, _ALL) == {
        "EMAIL": "e@example.org", "LETTER": "Am Markt 1, 20095 Hamburg",
    }  # fmt: skip
    assert list_addresses(on_file, ("SMS", "LETTER")) == {"LETTER": "Am Markt 1, 20095 Hamburg"}
    assert list_addresses(OnFile(postal_address={"postal_code": "20095"}), _ALL) == {}


def test_deselected_channels_are_suppressed_and_selected_ones_are_lifted() -> None:
    ways = [a_way("EMAIL"), a_way("SMS", "DEBTOR"), a_way("LETTER")]

    chosen = compute_way_changes(ways, ["SMS", "LETTER"])

    assert chosen is not None
    assert [way.channel for way in chosen.suppressed] == ["EMAIL"]
    assert [way.channel for way in chosen.lifted] == ["SMS"]


@pytest.mark.parametrize("reason", ["BOUNCE", "MERCHANT", "OPERATOR"])
def test_a_channel_suppressed_by_others_cannot_be_chosen(reason: str) -> None:
    ways = [a_way("EMAIL", reason), a_way("SMS")]

    assert compute_way_changes(ways, ["EMAIL"]) is None
    chosen = compute_way_changes(ways, ["EMAIL", "SMS"])
    assert chosen is not None
    assert (list(chosen.suppressed), list(chosen.lifted)) == ([], [])


def test_without_a_channel_to_choose_nothing_changes() -> None:
    chosen = compute_way_changes([a_way("EMAIL", "BOUNCE")], [])
    assert chosen is not None
    assert (list(chosen.suppressed), list(chosen.lifted)) == ([], [])


@pytest.mark.parametrize(
    ("channel", "typed", "present", "expected"),
    [
        ("EMAIL", " a@b.example ", None, ("a@b.example", None)),
        ("EMAIL", "Anna <a@b.example>", None, ("Anna <a@b.example>", "WRONG_EMAIL")),
        ("EMAIL", "", None, ("", "WRONG_EMAIL")),
        ("EMAIL", "A@B.example", "a@b.example", ("A@B.example", "SAME")),
        ("SMS", "0151 2345 6789", "+491711234567", ("+4915123456789", None)),
        ("SMS", "0151 2345 6789", None, ("0151 2345 6789", "WRONG_NUMBER")),
        ("SMS", "+44 7400 123456", "+491711234567", ("+447400123456", None)),
        ("SMS", "0171/1234567", "+491711234567", ("0171/1234567", "SAME")),
        ("SMS", "+49 1", None, ("+49 1", "WRONG_NUMBER")),
        ("SMS", "+1 212 555 2368", None, ("+12125552368", None)),
        ("SMS", "+49 40 12345678", None, ("+49 40 12345678", "WRONG_NUMBER")),
        ("SMS", "+4990012345678", None, ("+4990012345678", "WRONG_NUMBER")),
        ("SMS", "+449098790000", None, ("+449098790000", "WRONG_NUMBER")),
        ("SMS", "+491379123456", None, ("+491379123456", "WRONG_NUMBER")),
    ],
)
def test_an_address_is_accepted_in_common_spellings(
    channel: NoticeChannel, typed: str, present: str | None, expected: tuple[str, str | None]
) -> None:
    assert parse_address(channel, typed, present) == expected


@pytest.mark.parametrize(
    "number",
    [
        "+49 1512 3456789", "+43 664 1234567", "+41 79 123 45 67", "+44 7400 123456",
        "+33 6 12 34 56 78", "+1 202 555 0123", "+1 876 210 1234",
    ],
)  # fmt: skip
def test_a_mobile_number_of_any_country_is_accepted(number: str) -> None:
    assert parse_address("SMS", number, "+491711234567") == (number.replace(" ", ""), None)


@pytest.mark.parametrize(
    "number",
    [
        # Satellites, ships and international networks.
        "+8816 12345678", "+870 773123456", "+882 16 1234567", "+883 1401 23456",
        # Premium, personal, shared-cost and voice-mail numbers.
        "+1 900 555 1234", "+1 500 555 0006", "+44 7012 345678", "+49 70 012345678",
        "+43 930 123456", "+41 900 123 456", "+41 860 79 123 45 67", "+33 8 99 12 34 56",
        # Landlines, toll-free and unassigned numbers.
        "+49 40 12345678", "+43 1 5123456", "+41 44 368 12 34", "+44 20 7123 4567",
        "+33 1 42 34 56 78", "+1 876 922 1234", "+800 1234 5678", "+1 710 555 1234",
        "+41 74 123 45 67", "+33 700 12 34 56",
    ],
)  # fmt: skip
def test_premium_and_landline_numbers_are_refused(number: str) -> None:
    assert parse_address("SMS", number, "+491711234567") == (number, "WRONG_NUMBER")


def test_a_number_is_shown_in_groups_and_an_address_as_it_is() -> None:
    assert render_address("SMS", "+4915123456789") == "+49 1512 3456789"
    assert render_address("SMS", "+49") == "+49"
    assert render_address("EMAIL", "erika@neu.example") == "erika@neu.example"
