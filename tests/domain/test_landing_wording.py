"""Texts for debtors are plain and calm, and the right language is chosen."""

import re
from gettext import NullTranslations

import pytest
from jinja2 import Environment
from tools.update_catalogues import AUDIENCES, extract_texts, read_catalogue

from dunwell.accounts.merchants.configuration import PAGE_LANGUAGES
from dunwell.interfaces.web.requests import choose_language
from dunwell.interfaces.web.templates import TranslatedTemplates
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.domain.test_catalogues import list_translations

_MAX_WORDS = 20


def test_a_no_break_space_is_part_of_the_translated_text() -> None:
    class Words(NullTranslations):
        def gettext(self, message: str) -> str:
            return {"10\u00a0MB at most": "höchstens 10\u00a0MB"}.get(message, message)

    environment = Environment(extensions=[TranslatedTemplates], autoescape=True)
    environment.globals["translations"] = Words()

    template = environment.from_string("{% trans %}\n10\u00a0MB\n at most{% endtrans %}")

    assert template.render() == "höchstens 10\u00a0MB"


def test_every_sentence_is_short_and_calm() -> None:
    (debtors,) = [each for each in AUDIENCES if each.name == "debtors"]
    texts = {
        text for key in extract_texts(debtors) for text in ([key] if isinstance(key, str) else key)
    }
    texts |= {
        text
        for path in DEBTOR_CATALOGUES.glob("*.po")
        for message in read_catalogue(path)
        if message.id
        for text in list_translations(message)
    }
    for text in texts:
        for sentence in re.split(r"(?<=[.?:]) ", re.sub(r"<[^>]*>|%\(\w+\)s", "x", text)):
            assert len(sentence.split()) <= _MAX_WORDS, sentence
        assert "!" not in text
        assert not re.search(r"\b[A-ZÄÖÜ]{4,}\b", text.replace("WCAG", "").replace("IBAN", ""))


def test_every_language_a_merchant_can_choose_has_a_catalogue() -> None:
    assert set(load_languages(DEBTOR_CATALOGUES)) == set(PAGE_LANGUAGES)


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
def test_the_language_is_chosen_by_the_reader_and_then_by_the_claim(
    chosen: str | None, claims: str | None, accepted: str, merchants: str, expected: str
) -> None:
    assert choose_language(("de", "en"), chosen, claims, accepted, merchants) == expected
