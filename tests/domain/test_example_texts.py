"""The messages of the example workflow begin as the grammar of their language requires."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dunwell.platform.text.yaml_document import parse_yaml

_EXAMPLE = Path(__file__).parents[2] / "examples" / "friendly-reminders.yaml"
_AFTER_GREETING = re.compile(r"\{\{ snippet\.greeting \}\},\n\n(\w+)")


def _list_first_words(language: str) -> list[str]:
    """Return the first word after the greeting and its comma in each e-mail and letter."""
    bodies = list(_list_bodies(parse_yaml(_EXAMPLE.read_text()), language))
    words = [found[1] for body in bodies if (found := _AFTER_GREETING.match(body))]
    assert len(words) >= 6
    return words


def _list_bodies(document: Any, language: str) -> Iterator[str]:
    for channels in document["templates"].values():
        for template in channels.values():
            if isinstance(template["body"], dict):
                yield template["body"][language]


def test_the_first_english_sentence_begins_with_a_capital_letter() -> None:
    assert [word for word in _list_first_words("en") if not word[0].isupper()] == []


def test_the_first_german_sentence_continues_in_lower_case_after_the_comma() -> None:
    """Only the polite "Ihre" begins with a capital letter."""
    words = _list_first_words("de")
    assert [word for word in words if not word[0].islower() and word != "Ihre"] == []
