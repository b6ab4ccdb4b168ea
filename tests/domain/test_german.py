"""The German texts for debtors avoid phrases that sound awkward to native readers."""

import re
from pathlib import Path

import pytest

from dunwell.platform.text.translation import DEBTOR_CATALOGUES

_ROOT = Path(__file__).parents[2]
_TEXTS = [
    DEBTOR_CATALOGUES / "de.po",
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
def test_no_text_uses_an_awkward_german_phrase(path: Path) -> None:
    text = path.read_text()
    found = {better: re.findall(worse, text, re.IGNORECASE) for better, worse in _STUMBLES.items()}
    assert {better: each for better, each in found.items() if each} == {}
