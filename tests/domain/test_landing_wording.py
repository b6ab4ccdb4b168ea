"""The catalogues are complete, plain and calm; the right one is chosen."""

import re
from collections.abc import Iterator
from gettext import NullTranslations
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.pofile import read_po
from jinja2 import Environment
from jinja2.ext import babel_extract

from dunwell.accounts.merchants.configuration import PAGE_LANGUAGES
from dunwell.interfaces.landing.render.pages import CATALOGUES, TEMPLATES
from dunwell.interfaces.landing.telling.writer import NOTICE_TEMPLATES
from dunwell.interfaces.web.languages import choose_language, load_languages
from dunwell.interfaces.web.templates import TranslatedTemplates

_OPTIONS = {
    "trimmed": "true", "newstyle_gettext": "true", "trim_blocks": "true", "lstrip_blocks": "true",
}  # fmt: skip
_MOST_WORDS = 20


def _extract() -> Iterator[str | tuple[str, str]]:
    """Everything the templates say: a text, or one and its plural."""
    for path in [path for folder in (*TEMPLATES, NOTICE_TEMPLATES) for path in folder.iterdir()]:
        with path.open("rb") as file:
            for _, function, found, _ in babel_extract(file, ("gettext", "ngettext"), [], _OPTIONS):
                texts = (
                    [found] if isinstance(found, str) else [each for each in found or () if each]
                )
                yield (texts[0], texts[1]) if function == "ngettext" else texts[0]


def _read(path: Path) -> dict[str | tuple[str, str], Message]:
    with path.open("rb") as file:
        return {
            message.id if isinstance(message.id, str) else (message.id[0], message.id[1]): message
            for message in read_po(file, locale=path.stem)
            if message.id
        }


_CATALOGUES = sorted(CATALOGUES.glob("*.po"))


@pytest.mark.parametrize("path", _CATALOGUES, ids=lambda path: path.stem)
def test_a_catalogue_says_all_the_templates_say_and_nothing_else(path: Path) -> None:
    messages = _read(path)

    assert set(messages) == set(_extract())
    assert [key for key, message in messages.items() if not all(_texts(message))] == []
    assert [key for key, message in messages.items() if message.fuzzy] == []


@pytest.mark.parametrize("path", _CATALOGUES, ids=lambda path: path.stem)
def test_a_translation_has_the_same_facts_as_its_source(path: Path) -> None:
    for key, message in _read(path).items():
        source = key if isinstance(key, str) else key[1]
        for text in _texts(message):
            assert sorted(_facts(text)) == sorted(_facts(source))


def test_a_no_break_space_belongs_to_the_text_that_is_translated() -> None:
    class Words(NullTranslations):
        def gettext(self, message: str) -> str:
            return {"10\u00a0MB at most": "höchstens 10\u00a0MB"}.get(message, message)

    environment = Environment(extensions=[TranslatedTemplates], autoescape=True)
    environment.globals["words"] = Words()

    template = environment.from_string("{% trans %}\n10\u00a0MB\n at most{% endtrans %}")

    assert template.render() == "höchstens 10\u00a0MB"


def test_every_sentence_is_short_and_calm() -> None:
    said = {text for key in _extract() for text in ([key] if isinstance(key, str) else key)}
    said |= {text for path in _CATALOGUES for each in _read(path).values() for text in _texts(each)}
    for text in said:
        for sentence in re.split(r"(?<=[.?:]) ", re.sub(r"<[^>]*>|%\(\w+\)s", "x", text)):
            assert len(sentence.split()) <= _MOST_WORDS, sentence
        assert "!" not in text
        assert not re.search(r"\b[A-ZÄÖÜ]{4,}\b", text.replace("WCAG", "").replace("IBAN", ""))


def test_every_language_a_merchant_can_choose_has_a_catalogue() -> None:
    assert set(load_languages(CATALOGUES)) == set(PAGE_LANGUAGES)


def test_a_language_is_a_catalogue(tmp_path: Path) -> None:
    (tmp_path / "he.po").write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Pay now"\nmsgstr "לתשלום"\n'
    )

    languages = load_languages(tmp_path)

    assert list(languages) == ["en", "he"]
    assert (languages["he"].direction, languages["he"].name) == ("rtl", "עברית")
    assert languages["he"].words.gettext("Pay now") == "לתשלום"
    assert type(languages["en"].words) is NullTranslations


@pytest.mark.parametrize(
    ("chosen", "claims", "accepted", "merchants", "expected"),
    [
        ("en", "de", "de", "de", "en"),
        ("fr", "de", "en", "en", "de"),
        (None, "fr", "fr, en-GB;q=0.5, de;q=0.7", "en", "de"),
        (None, None, "de;q=0, en;q=0.1", "de", "en"),
        (None, None, "*;q=x,,;", "de", "de"),
        (None, None, "", "fr", "en"),
        ("../de\r\nX: 1", None, "", "de", "de"),
    ],
)
def test_the_language_is_the_readers_then_the_claims(
    chosen: str | None, claims: str | None, accepted: str, merchants: str, expected: str
) -> None:
    assert choose_language(("de", "en"), chosen, claims, accepted, merchants) == expected


def _texts(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def _facts(text: str) -> list[str]:
    return re.findall(r"%\(\w+\)s|</?\w+>", text)
