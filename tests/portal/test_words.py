"""The portal's words: every text is translated, the same text the same everywhere, facts kept."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from babel.messages.pofile import read_po
from jinja2.ext import babel_extract

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.disputes.reasons import KNOWN_NAMES
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import Status
from dunwell.interfaces.portal.render.pages import PORTAL, TEMPLATES, load_environment
from dunwell.interfaces.web.languages import list_catalogues, load_languages

_OPTIONS = {
    "trimmed": "true", "newstyle_gettext": "true", "trim_blocks": "true", "lstrip_blocks": "true",
    "extensions": "jinja2.ext.do",
}  # fmt: skip
_FACT = re.compile(r"%\((\w+)\)s")


def _extract(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.iterdir():
        with path.open("rb") as file:
            for _, _, texts, _ in babel_extract(file, ("gettext", "ngettext"), [], _OPTIONS):
                said = [texts] if isinstance(texts, str) else [each for each in texts or () if each]
                found |= set(said[:1])
    return found


def _read(path: Path) -> Iterator[tuple[str, list[str]]]:
    with path.open("rb") as file:
        for message in read_po(file, locale=path.stem, abort_invalid=True):
            if message.id:
                words = message.string
                texts = [words] if isinstance(words, str) else [*(words or ())]
                yield (message.id if isinstance(message.id, str) else message.id[0]), texts


@pytest.mark.parametrize("language", list_catalogues(PORTAL))
def test_the_catalogues_say_all_the_templates_say_and_nothing_else(language: str) -> None:
    said = {
        text: translated
        for path in list_catalogues(PORTAL)[language]
        for text, translated in _read(path)
    }

    assert set(said) == {text for folder in TEMPLATES for text in _extract(folder)}
    assert [text for text, translated in said.items() if not all(translated)] == []


@pytest.mark.parametrize("language", list_catalogues(PORTAL))
def test_a_text_reads_the_same_in_every_slice(language: str) -> None:
    known: dict[str, list[str]] = {}
    for path in list_catalogues(PORTAL)[language]:
        for text, translated in _read(path):
            assert known.setdefault(text, translated) == translated, (path, text)


@pytest.mark.parametrize("language", list_catalogues(PORTAL))
def test_a_translation_has_the_facts_of_its_text(language: str) -> None:
    for path in list_catalogues(PORTAL)[language]:
        for text, translated in _read(path):
            for each in translated:
                assert set(_FACT.findall(each)) <= set(_FACT.findall(text)) | {"count"}, text


@pytest.mark.parametrize(
    ("words", "values"),
    [("REASONS", KNOWN_NAMES), ("HOLDS", HoldKind), ("STATUSES", Status), ("ACTORS", ActorKind)],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_clerk_reads_words_and_no_value_of_the_database(
    words: str, values: Iterable[str]
) -> None:
    environment = load_environment(load_languages(PORTAL)["en"])
    module = environment.get_template("_words.html").module
    assert set(getattr(module, words)) == {*values}
