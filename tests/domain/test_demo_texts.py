"""The demo's texts follow our rules for texts: short, friendly, without threats or shouting."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dunwell.contact.messages.templates.placeholders import PLACEHOLDER
from dunwell.contact.messages.templates.sms_parts import count_parts, replace_typography
from dunwell.platform.text.yaml_document import parse_yaml

FILE = Path(__file__).parents[2] / "examples" / "friendly-reminders.yaml"
# Abbreviations that are written in capitals.
_CAPITALS = {"IBAN"}


def texts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text with its path; each placeholder is one word."""
    if isinstance(value, str):
        yield path, PLACEHOLDER.sub("Wort", value)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, f"{path}/{name}")


def all_texts() -> list[tuple[str, str]]:
    document = parse_yaml(FILE.read_text())
    found = [*texts(document["templates"]), *texts(document["snippets"])]
    assert len(found) > 30
    return found


def test_no_sentence_has_more_than_twenty_words() -> None:
    sentences = [
        (path, sentence)
        for path, text in all_texts()
        for sentence in re.split(r"[.?:](?:\s|$)|\n\n", text)
    ]
    assert [each for each in sentences if len(each[1].split()) > 20] == []


def test_no_text_has_capitals_or_exclamation_marks_for_emphasis() -> None:
    for path, text in all_texts():
        words = set(re.findall(r"\b[A-ZÄÖÜ]{3,}\b", text))
        assert words <= _CAPITALS, path
        assert "!" not in text, path


def test_no_text_contains_a_threat() -> None:
    threats = "Inkasso|Gericht|Anwalt|Schufa|Pfänd|Vollstreck|court|lawyer|legal action|collect"
    assert [path for path, text in all_texts() if re.search(threats, text, re.IGNORECASE)] == []


def test_an_sms_costs_at_most_two_parts_with_usual_values() -> None:
    values = {
        "merchant.name": "Teekontor Hansen",
        "claim.referenceNumber": "TK-2026-1001",
        "outstanding": "400,15\u00a0€",
        "landing.url": "https://pay.teekontor-hansen.example/q/" + "x" * 22,
    }
    templates = parse_yaml(FILE.read_text())["templates"]
    bodies = [
        t["SMS"]["body"][code]
        for t in templates.values()
        if "SMS" in t
        for code in t["SMS"]["body"]
    ]
    assert len(bodies) == 4
    for body in bodies:
        filled = PLACEHOLDER.sub(lambda match: values[match.group(1)], body)
        parts = count_parts(replace_typography(filled))
        assert (parts.alphabet, parts.count <= 2) == ("GSM-7", True), filled
