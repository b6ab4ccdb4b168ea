"""Forbidden words in messages are found in any spelling and reported with their path."""

from collections.abc import Mapping, Sequence

import pytest

from dunwell.contact.messages.templates.merchant_rules import (
    STANDARD_FORBIDDEN_WORDS,
    list_forbidden_word_faults,
)
from tests.support.definitions import a_definition


def _find(text: str, language: str = "de", own: Mapping[str, Sequence[str]] | None = None) -> str:
    definition = a_definition(templates={}, snippets={"end": {language: text}})
    return " ".join(fault.message for fault in list_forbidden_word_faults(definition, own or {}))


def test_the_usual_definition_has_no_forbidden_words() -> None:
    assert list(list_forbidden_word_faults(a_definition(), {})) == []


@pytest.mark.parametrize(
    "text",
    [
        "Sonst kommt der Gerichtsvollzieher.",
        "SCHUFA-Eintrag droht",
        "eine **letzte   Warnung**",
        "Schuld*ner*",
        "Ge\u00adfängnis",
        "Haftbefehle",
    ],
)
def test_a_threat_is_found_however_it_is_written(text: str) -> None:
    assert _find(text).endswith("Remove the words.")


@pytest.mark.parametrize(
    "word",
    [
        "Pfändung", "Pfändungen", "Lohnpfändung", "Gehaltspfändung", "Konto-Pfändung",
        "Sachpfändungen", "Pfändungsbeschluss", "Forderungspfändungsverfahren", "pfänden",
        "pfändet",
        "pfändeten", "gepfändet", "gepfändete", "kontogepfändet", "zu pfänden", "abzupfänden",
        "verpfändet", "wegpfänden", "auspfänden", "abpfändet", "vorgepfändet", "Vorpfändung",
        "pfändbar", "unpfändbares", "PFÄNDUNG",
        "Pfaendung", "gepfaendet",
        "Gehaltspfaendung", "Pfa\u0308ndung", "Pfän\u00addung", "Pfandsiegel",
    ],
)  # fmt: skip
def test_seizure_is_found_in_all_its_forms(word: str) -> None:
    assert _find(word).endswith("Remove the words.")


@pytest.mark.parametrize("word", ["Pfand", "Pfandflasche", "Pfund", "empfände", "empfänden"])
def test_words_that_only_resemble_seizure_are_allowed(word: str) -> None:
    assert _find(word) == ""


@pytest.mark.parametrize("text", ["Schuld", "verpolizeit", "Bitte zahlen Sie", "Pursued"])
def test_words_that_only_contain_a_forbidden_word_are_allowed(text: str) -> None:
    assert _find(text) == ""


def test_each_text_has_one_fault_with_its_path_and_all_forbidden_words() -> None:
    mail = {"subject": {"en": "Final warning"}, "body": {"en": "We sue you. Police! SUE"}}
    definition = a_definition(templates={"a/b": {"EMAIL": mail}}, snippets={})
    faults = [(each.path, each.message) for each in list_forbidden_word_faults(definition, {})]
    assert faults == [
        (
            "/templates/a~1b/EMAIL/subject/en",
            'Messages to debtors must not contain "Final warning". Remove the words.',
        ),
        (
            "/templates/a~1b/EMAIL/body/en",
            'Messages to debtors must not contain "sue", "Police", "SUE". Remove the words.',
        ),
    ]


def test_a_regional_variant_uses_the_list_of_its_language() -> None:
    assert "Polizei" in _find("Polizei", "de-AT")


def test_a_merchants_own_list_replaces_the_standard_one() -> None:
    assert _find("Polizei", own={"de": ["Mahnung"]}) == ""
    assert "Mahnung" in _find("Mahnung", own={"de": ["Mahnung"]})
    assert _find("Polizei", own={"de": []}) == ""
    assert "jail" in _find("jail", "en", own={"de": []})


def test_the_debtor_pages_languages_have_a_list() -> None:
    assert set(STANDARD_FORBIDDEN_WORDS) == {"de", "en"}
