"""Emojis in names are not printed on letters; letters of every script are."""

import pytest

from dunwell.contact.messages.letters.address import (
    remove_debtor_emoji,
    remove_emoji,
    render_address,
)
from dunwell.core.claims.fields import DebtorName


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("Erika 🌸 Mustermann", "Erika Mustermann"),
        ("🎉Erika", "Erika"),
        ("Erika 👩🏽\u200d⚕️", "Erika"),
        ("Familie 👨\u200d👩\u200d👧\u200d👦", "Familie"),
        ("Team 🇩🇪 Nord 🏴\U000e0067\U000e0062\U000e007f", "Team Nord"),
        ("Erika ❤️", "Erika"),
        ("Studio 7️⃣", "Studio 7"),
        ("✨Glanz✨ GmbH", "Glanz GmbH"),
        ("😀", ""),
    ],
)
def test_an_emoji_is_removed(name: str, printed: str) -> None:
    assert remove_emoji(name) == printed


@pytest.mark.parametrize(
    "name",
    [
        "Müller  & Söhne", "Foo® GmbH", "Hotel ★★★", "A→B AG", "㈱山田", "བསོད་ནམས",
        "محمد\u200cعلي", "क\u200dष", "№ 7 ™",
    ],
)  # fmt: skip
def test_every_other_character_is_kept(name: str) -> None:
    assert remove_emoji(name) == name


def test_a_part_with_only_an_emoji_leaves_no_blank_line() -> None:
    debtor = DebtorName(first_name="🌸", last_name="Mustermann", company_name="🏠")
    assert remove_debtor_emoji(debtor) == DebtorName(last_name="Mustermann")
    address = {"street": "Deichstraße 1 🏡", "postal_code": "20459", "city": "Hamburg"}
    assert render_address(debtor, address, None, "de") == [
        "Mustermann", "Deichstraße 1", "20459 Hamburg",
    ]  # fmt: skip
