"""Each term of the portal has one translation."""

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from babel.messages.catalog import Message
from tools.update_catalogues import CATALOGUES, read_catalogue

_TERMS: list[dict[str, Any]] = tomllib.loads((CATALOGUES / "glossary.toml").read_text())["terms"]
# Placeholders and commands are not words of the text.
_NO_WORDS = re.compile(r"%\(\w+\)s|\{\{.*?\}\}|“dunwell[^”]*”")
_EACH_TERM = pytest.mark.parametrize("term", _TERMS, ids=[each["english"] for each in _TERMS])


@cache
def _list_messages() -> list[Message]:
    return [each for each in read_catalogue(CATALOGUES / "staff" / "de.po") if each.id]


def _list_forms(text: object) -> list[str]:
    forms = [text] if isinstance(text, str) else list(text) if isinstance(text, tuple) else []
    return [_NO_WORDS.sub("", each) for each in forms]


def _has_word(text: str, words: list[str]) -> bool:
    """Return whether a word of the text begins with one of these."""
    return any(re.search(rf"\b{each}", text, re.IGNORECASE) for each in words)


def _list_texts_with(english: str, messages: list[Message]) -> Iterator[Message]:
    plural = f"{english[:-1]}(y|ies)" if english.endswith("y") else f"{english}s?"
    word = re.compile(rf"\b{plural}\b", re.IGNORECASE)
    for message in messages:
        if any(word.search(form) for form in _list_forms(message.id)):
            yield message


def list_violations(term: dict[str, Any], messages: list[Message]) -> list[tuple[str, str]]:
    """Return the English and German of each text that translates the term in another way."""
    excepted = set(term.get("except", ()))
    found = []
    for message in _list_texts_with(term["english"], messages):
        english = message.id if isinstance(message.id, str) else message.id[0]
        if english not in excepted:
            found += [
                (english, form)
                for form in _list_forms(message.string)
                if not any(each.lower() in form.lower() for each in term["german"])
            ]
    return found


@_EACH_TERM
def test_each_text_with_a_term_has_its_translation(term: dict[str, Any]) -> None:
    messages = _list_messages()

    assert list_violations(term, messages) == []
    assert any(_list_texts_with(term["english"], messages)), "no text uses the term"


@_EACH_TERM
def test_no_translation_has_a_rejected_word(term: dict[str, Any]) -> None:
    rejected = term.get("rejected", [])

    assert [
        form
        for message in _list_messages()
        for form in _list_forms(message.string)
        if _has_word(form, rejected)
    ] == []


@_EACH_TERM
def test_each_exception_is_a_text_with_the_term(term: dict[str, Any]) -> None:
    texts = {
        message.id if isinstance(message.id, str) else message.id[0]
        for message in _list_texts_with(term["english"], _list_messages())
    }

    assert set(term.get("except", ())) <= texts


def test_no_term_is_defined_twice() -> None:
    english = [each["english"] for each in _TERMS]

    assert len(set(english)) == len(english)
    assert not {word for each in _TERMS for word in each.get("rejected", ())} & {
        word for each in _TERMS for word in each["german"]
    }


def test_another_translation_of_a_term_is_found() -> None:
    term = {"english": "workflow", "german": ["Workflow"]}
    messages = [
        Message("Delete workflow", "Prozess löschen"),
        Message(("%(n)s workflow", "%(n)s workflows"), ("%(n)s Workflow", "%(n)s Abläufe")),
        Message("Workflows", "Workflows"),
        Message("Deactivate", "Deaktivieren"),
    ]

    assert list_violations(term, messages) == [
        ("Delete workflow", "Prozess löschen"),
        ("%(n)s workflow", " Abläufe"),
    ]
