"""A rendered letter, and what other programs read from it."""

import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

from dunwell.contact.messages.letters.rendering import LetterPost, RenderedLetter, render_letter
from dunwell.contact.messages.templates.facts import LandingFacts
from dunwell.core.workflows.definition import LetterTemplate
from tests.support.messages import some_facts
from tests.support.tools import run_tool

TEMPLATE = LetterTemplate(
    subject={"de": "Erinnerung {{ claim.referenceNumber }}"},
    body={
        "de": "Guten Tag {{ debtor.name }},\n\nbitte zahlen Sie **{{ outstanding }}**.\n\n"
        "{{ items }}\n\nIhr Code ist {{ landing.code }}.\n\n{{ snippet.signature }}"
    },
)
SNIPPETS = {"signature": {"de": "Ihr Team"}}
LANDING = LandingFacts(
    "https://pay.example/q/abcdefghijklmnopqrstuv", "ABCD-EFGH-JKMN", "pay.example"
)
ADDRESS = ("Ada Lovelace", "Heidestraße 17", "51147 Köln")
_POINTS_PER_MM = 72 / 25.4
_WORD = re.compile(
    r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">(.*?)</word>'
)


def a_letter(body: str | None = None, language: str = "de", **changes: Any) -> RenderedLetter:
    """Return a letter. `changes` may hold address, enclosures, color, logo and layout; the others
    are passed to some_facts."""
    names = ("address", "enclosures", "color", "logo", "layout")
    given = {name: changes.pop(name) for name in names if name in changes}
    post = LetterPost(**{"address": ADDRESS, "code_page_address": "pay.example/q"} | given)
    template = TEMPLATE
    if body is not None:
        template = LetterTemplate(subject=TEMPLATE.subject, body={"de": body})
    facts = some_facts(**{"landing": LANDING} | changes)
    return render_letter(template, SNIPPETS, language, facts, post)


@dataclass(frozen=True)
class PrintedWord:
    """A word and its box in millimetres from the upper left corner of the sheet."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def is_within(self, left: float, top: float, width: float, height: float) -> bool:
        """Return whether any part of the word is within the box."""
        is_outside_horizontally = self.right <= left or self.left >= left + width
        return not is_outside_horizontally and not (self.bottom <= top or self.top >= top + height)


@dataclass(frozen=True)
class PrintedLetter:
    path: Path

    def words(self, page: int = 1) -> list[PrintedWord]:
        box = run_tool("pdftotext", "-bbox", "-f", str(page), "-l", str(page), str(self.path), "-")
        return [
            PrintedWord(unescape(text), *(float(value) / _POINTS_PER_MM for value in corners))
            for *corners, text in _WORD.findall(box)
        ]

    def text(self) -> str:
        return run_tool("pdftotext", "-layout", str(self.path), "-")

    def codes(self) -> list[str]:
        """Return the contents of the QR codes, decoded as a camera would."""
        prefix = self.path.with_suffix("")
        run_tool("pdftoppm", "-r", "200", "-png", str(self.path), str(prefix))
        images = sorted(str(image) for image in self.path.parent.glob(f"{prefix.name}-*.png"))
        found = run_tool("zbarimg", "--quiet", "--raw", "-Sdisable", "-Sqrcode.enable", *images)
        # Payment codes contain line breaks and begin with BCD.
        codes = re.split(r"\n(?=BCD\n|https?://)", found.strip("\n"))
        return sorted(codes)
