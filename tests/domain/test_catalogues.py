"""Every shown text is translated with the same placeholders, and no other text is in the
catalogues."""

import re
from gettext import NullTranslations
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from tools.update_catalogues import (
    AUDIENCES,
    CATALOGUES,
    Audience,
    MessageId,
    extract_texts,
    list_given_facts,
    read_catalogue,
)

from dunwell.platform.text.translation import LazyText, find_debtor_language, load_languages

_TRANSLATIONS = [
    (audience, path)
    for audience in AUDIENCES
    for path in sorted((CATALOGUES / audience.name).glob("*.po"))
]
_CASES = pytest.mark.parametrize(
    ("audience", "path"),
    _TRANSLATIONS,
    ids=[f"{audience.name}-{path.stem}" for audience, path in _TRANSLATIONS],
)


_NAME = re.compile(r"%\((\w+)\)s")


def _read(path: Path) -> dict[MessageId, Message]:
    return {
        message.id if isinstance(message.id, str) else (message.id[0], message.id[1]): message
        for message in read_catalogue(path)
        if message.id
    }


def list_translations(message: Message) -> list[str]:
    return [message.string] if isinstance(message.string, str) else list(message.string or ())


def _list_facts(text: str) -> list[str]:
    return sorted(re.findall(r"%\(\w+\)s|</?\w+>", text))


@_CASES
def test_a_catalogue_has_exactly_the_texts_that_are_shown(audience: Audience, path: Path) -> None:
    messages, texts = _read(path), extract_texts(audience)

    assert sorted(map(str, texts - messages.keys())) == []
    assert sorted(map(str, messages.keys() - texts)) == []


@_CASES
def test_no_translation_is_empty_or_fuzzy(audience: Audience, path: Path) -> None:
    messages = _read(path)

    assert len(messages) > (900 if audience.name == "debtors" else 2_000)
    assert [key for key, each in messages.items() if not all(list_translations(each))] == []
    assert [key for key, each in messages.items() if each.fuzzy] == []


@_CASES
def test_a_translation_has_the_same_placeholders_as_its_text(
    audience: Audience, path: Path
) -> None:
    del audience
    given = list_given_facts()
    for key, message in _read(path).items():
        forms = list_translations(message)
        if isinstance(key, str) and given.get(key):
            assert {name for each in forms for name in _NAME.findall(each)} <= given[key], key
        elif isinstance(key, str):
            assert [_list_facts(each) for each in forms] == [_list_facts(key)], key
        else:  # A singular may omit the number.
            assert all(set(_list_facts(each)) <= set(_list_facts(key[1])) for each in forms), key
            assert _list_facts(forms[-1]) == _list_facts(key[1]), key


def test_adding_a_catalogue_adds_a_language(tmp_path: Path) -> None:
    (tmp_path / "he.po").write_text(
        'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-8\\n"\n\n'
        'msgid "Pay now"\nmsgstr "לתשלום"\n'
    )

    languages = load_languages(tmp_path)

    assert list(languages) == ["en", "he"]
    assert (languages["he"].direction, languages["he"].name) == ("rtl", "עברית")
    assert languages["he"].translate("Pay now") == "לתשלום"
    assert type(languages["en"].translations) is NullTranslations


def test_a_region_uses_its_language_and_an_unknown_language_english() -> None:
    words = [find_debtor_language(code).translate("Kind regards") for code in ("de-AT", "DE", "fr")]
    assert words == ["Mit freundlichen Grüßen", "Mit freundlichen Grüßen", "Kind regards"]


def test_a_lazy_text_is_its_english_sentence_with_its_key_and_values() -> None:
    text = LazyText("There are %(count)s jobs.", count=3)

    assert text == "There are 3 jobs."
    assert (text.text, text.facts) == ("There are %(count)s jobs.", {"count": 3})
    assert LazyText("100 % of %(count)s").text == "100 % of %(count)s"
