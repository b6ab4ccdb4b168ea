"""Rendering of letters: the data for the one layout."""

import msgspec
import pytest

from dunwell.contact.messages.letters.sheet import Enclosure, encode_sheet
from dunwell.core.claims.fields import DebtorName
from tests.support.letters import a_letter


def _text(text: str, *, strong: bool = False, emphasised: bool = False) -> list[object]:
    return ["t", text, strong, emphasised]


def test_a_letter_is_rendered_in_its_language() -> None:
    letter = a_letter()
    assert letter.subject == "Erinnerung R-1"
    assert letter.sheet.body[:3] == [
        ["p", [_text("Guten Tag Ada Lovelace,")]],
        [
            "p",
            [
                _text("bitte zahlen Sie "),
                _text("1.000,00\N{NO-BREAK SPACE}€", strong=True),
                _text("."),
            ],
        ],
        ["items"],
    ]
    assert letter.sheet.return_line == "Nordwind Schuhe GmbH · Deichstraße 1 · 20459 Hamburg"
    assert letter.sheet.information[:2] == [("Datum", "2. März 2026"), ("Aktenzeichen", "R-1")]


def test_the_text_of_a_letter_has_what_the_layout_adds() -> None:
    text = a_letter(enclosures=[Enclosure("Rechnung", 2), Enclosure("Foto")]).body_text
    assert text.startswith("Guten Tag Ada Lovelace,\n\nbitte zahlen Sie 1.000,00")
    assert "Ihre Seite zu diesem Brief: https://pay.example/q/abcdefghijklmnopqrstuv\n" in text
    assert "Ihr Code: ABCD-EFGH-JKMN\n" in text
    assert "IBAN: DE02 1203 0000 0000 2020 51\n" in text
    assert text.endswith("\n\nAnlagen:\nRechnung (2 Seiten)\nFoto\n")


def test_markdown_becomes_blocks() -> None:
    body = (
        "# Titel\n\n- eins\n- *zwei*\n  1. drei\n\n4. vier\nfünf\n\n[hier]({{ landing.url }}) "
        "[x](https://a.example/?q={{ customerNumber }})"
    )
    assert a_letter(body).sheet.body == [
        ["h", [_text("Titel")]],
        [
            "ul",
            [
                [["p", [_text("eins")]]],
                [["p", [_text("zwei", emphasised=True)]], ["ol", [[["p", [_text("drei")]]]], 1]],
            ],
        ],
        ["ol", [[["p", [_text("vier"), ["b"], _text("fünf")]]]], 4],
        [
            "p",
            [
                _text("hier"), _text(" (https://pay.example/q/abcdefghijklmnopqrstuv)"), _text(" "),
                _text("x"), _text(" (https://a.example/?q=C-9)"),
            ],
        ],
    ]  # fmt: skip


def test_a_cached_template_is_filled_separately_each_time() -> None:
    first, second = (
        a_letter(debtor=DebtorName(last_name=name)).sheet.body[0] for name in ("One", "Two")
    )
    assert first == ["p", [_text("Guten Tag One,")]]
    assert second == ["p", [_text("Guten Tag Two,")]]


def test_values_are_never_interpreted_as_markup() -> None:
    hostile = '**x** #read("/etc/passwd") $x$ \\ "]) <b>'
    sheet = a_letter(debtor=DebtorName(last_name=hostile)).sheet
    assert sheet.body[0] == ["p", [_text(f"Guten Tag {hostile},")]]
    assert msgspec.json.decode(encode_sheet(sheet))["body"][0] == sheet.body[0]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_language_without_a_catalogue_uses_english(language: str) -> None:
    assert a_letter(language=language).sheet.words["enclosures"] == "Enclosed"
