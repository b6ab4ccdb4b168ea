"""One text of a definition, found and replaced by its place."""

import pytest

from dunwell.core.workflows.definition import Template
from dunwell.core.workflows.texts import (
    TextContent,
    TextPlace,
    find_part,
    find_text,
    list_places,
    replace_text,
)
from tests.support.texts import a_texts_definition

_DEFINITION = a_texts_definition()
_MAIL = TextPlace("templates", "reminder", "de", "EMAIL")
_LETTER = TextPlace("templates", "reminder", "en", "LETTER")


@pytest.mark.parametrize("place", list(list_places(_DEFINITION)), ids=str)
def test_replacing_a_text_by_itself_changes_nothing(place: TextPlace) -> None:
    written = find_text(_DEFINITION, place)
    assert written is not None
    assert replace_text(_DEFINITION, place, written) == _DEFINITION


def test_all_places_are_listed_and_no_others() -> None:
    assert {(each.part, each.channel, each.language) for each in list_places(_DEFINITION)} == {
        ("templates/reminder", "EMAIL", "de"), ("templates/reminder", "EMAIL", "en"),
        ("templates/reminder", "SMS", "de"), ("templates/reminder", "SMS", "en"),
        ("templates/reminder", "LETTER", "de"), ("snippets/signature", None, "de"),
        ("snippets/signature", None, "en"),
    }  # fmt: skip


def test_replacing_a_text_leaves_the_others_unchanged() -> None:
    changed = replace_text(_DEFINITION, _LETTER, TextContent("{{ items }}", "Your invoice"))

    letter = changed.templates["reminder"].letter
    assert letter is not None
    assert list(letter.subject.items())[1] == ("en", "Your invoice")
    assert find_text(changed, _MAIL) == find_text(_DEFINITION, _MAIL)
    assert changed.steps == _DEFINITION.steps


def test_removing_the_last_text_of_a_channel_removes_the_channel() -> None:
    german = TextPlace("templates", "reminder", "de", "LETTER")

    changed = replace_text(_DEFINITION, german, None)

    assert changed.templates["reminder"].letter is None
    assert changed.templates["reminder"].email == _DEFINITION.templates["reminder"].email


def test_a_subject_without_a_body_is_kept() -> None:
    changed = replace_text(_DEFINITION, _LETTER, TextContent("", "Your invoice"))

    assert find_text(changed, _LETTER) == TextContent("", "Your invoice")


def test_a_new_name_creates_a_template_or_snippet() -> None:
    mail, snippet = TextPlace("templates", "last", "de", "SMS"), TextPlace("snippets", "new", "de")

    changed = replace_text(
        replace_text(_DEFINITION, mail, TextContent("Kurz")), snippet, TextContent("Neu")
    )

    assert isinstance(changed.templates["last"], Template)
    assert find_part(changed, snippet) == {"de": "Neu"}
    assert find_part(_DEFINITION, snippet) is None
