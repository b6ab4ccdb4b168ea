"""The German that debtors read: words a native reader would stumble over do not come back."""

import re
from pathlib import Path

import pytest
from babel.messages.pofile import read_po

from dunwell.contact.messages import wording
from dunwell.contact.messages.letters import wording as letter_wording
from dunwell.interfaces.landing.render.pages import CATALOGUES

_ROOT = Path(__file__).parents[2]
_TEXTS = [
    CATALOGUES / "de.po",
    Path(wording.__file__),
    Path(letter_wording.__file__),
    *sorted((_ROOT / "examples").glob("*.yaml")),
]
_STUMBLES = {
    "a fixed hyphen": "\N{NON-BREAKING HYPHEN}",
    "Aktenzeichen": r"\bunser Zeichen",
    "Bitte um": r"Anfrage (an \S+ )?nach\b",
    "gegenstandslos": r"(Nachricht|Schreiben|Brief) ist erledigt",
    "deswegen": r"mahnen wir Sie dafür",
    "erhalten": r"Sie haben eine Antwort bis",
    "angefordert": r"danach gefragt|wir gefragt haben|nichts angefragt",
    "in Raten": r"in Teilen zahlen",
}


@pytest.mark.parametrize("path", _TEXTS, ids=lambda path: path.name)
def test_no_reader_stumbles(path: Path) -> None:
    text = path.read_text()
    found = {better: re.findall(worse, text, re.IGNORECASE) for better, worse in _STUMBLES.items()}
    assert {better: each for better, each in found.items() if each} == {}


def test_messages_say_what_is_owed_and_why_in_the_pages_words() -> None:
    """Of both languages: a letter's table reads as the page that it leads to."""
    with (CATALOGUES / "de.po").open("rb") as file:
        pages = {str(each.id): str(each.string) for each in read_po(file, locale="de")}
    english, german = wording.find_wording("en"), wording.find_wording("de")
    for one, other in (
        (english.item_types, german.item_types),
        (english.reasons, german.reasons),
    ):
        assert {pages[text] for text in one.values()} == set(other.values())
    for name in ("item", "amount", "outstanding"):
        assert pages[getattr(english, name)] == getattr(german, name)
    for name in ("dated", "due"):
        assert pages[getattr(english, name).format("%(day)s")] == (
            getattr(german, name).format("%(day)s")
        )
