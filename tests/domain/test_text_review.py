"""The review of a text while it is written, and the grid of all texts."""

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import MerchantContact
from dunwell.cases.rollout.texts.edit_text import (
    TextReview,
    count_words,
    list_sentences,
    review_text,
)
from dunwell.cases.rollout.texts.grid import TextCell, build_text_grid
from dunwell.contact.messages.templates.merchant_rules import list_forbidden_word_faults
from dunwell.contact.messages.templates.template_faults import list_template_faults
from dunwell.core.workflows.texts import TextContent, TextPlace, list_places, replace_text
from tests.support.merchants import CONFIGURATION
from tests.support.texts import a_texts_definition

_MAIL = TextPlace("templates", "reminder", "de", "EMAIL")
_SMS = TextPlace("templates", "reminder", "de", "SMS")
_SNIPPET = TextPlace("snippets", "signature", "de")
_GOOD = "Bitte zahlen Sie {{ outstanding }}. {{ landing.url }}"


def review(
    text: str, place: TextPlace = _MAIL, subject: str = "{{ claim.referenceNumber }}"
) -> TextReview:
    definition = replace_text(a_texts_definition(), place, TextContent(text, subject))
    return review_text(definition, place, CONFIGURATION)


def codes(review: TextReview) -> list[str]:
    return [fault.code for fault in review.faults]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (_GOOD, []),
        ("Bitte zahlen Sie. {{ landing.url }}", ["MISSING_PART"]),
        (f"{_GOOD} {{{{ debtor.nam }}}}", ["UNKNOWN_PLACEHOLDER"]),
        (f"{_GOOD} {{{{ snippet.sign }}}}", ["UNKNOWN_SNIPPET"]),
        (f"{_GOOD} Sonst kommt die Polizei.", ["FORBIDDEN_WORD"]),
        (f"{_GOOD} <b>jetzt</b>", ["HTML_IN_TEXT"]),
        (f"{_GOOD} [hier](http://evil.example)", ["BAD_LINK"]),
        (f"{_GOOD} {{{{ landing.code }}}}", ["CODE_OUTSIDE_LETTER"]),
    ],
)
def test_a_review_lists_what_prevents_publishing(text: str, wanted: list[str]) -> None:
    assert codes(review(text)) == wanted


def test_a_missing_part_is_named_only_for_the_reviewed_text() -> None:
    [fault] = review("Bitte. {{ landing.url }}").faults

    assert fault.path == "/templates/reminder/EMAIL/body/de"
    assert getattr(fault.message, "facts", None) == {"choice": "{{ outstanding }} or {{ items }}"}


def test_a_snippet_can_provide_a_missing_part() -> None:
    definition = replace_text(a_texts_definition(), _SNIPPET, TextContent("{{ outstanding }}"))
    text = TextContent("{{ snippet.signature }} {{ landing.url }}", "{{ claim.referenceNumber }}")

    found = review_text(replace_text(definition, _MAIL, text), _MAIL, CONFIGURATION)

    assert codes(found) == []


def test_a_snippet_is_reviewed_separately() -> None:
    assert codes(review("{{ snippet.other }}", _SNIPPET, "")) == ["NESTED_SNIPPET"]
    assert codes(review("Ihr Gerichtsvollzieher", _SNIPPET, "")) == ["FORBIDDEN_WORD"]


def test_the_reviews_of_all_texts_equal_the_review_of_the_definition() -> None:
    definition = a_texts_definition()
    whole = [*list_template_faults(definition), *list_forbidden_word_faults(definition, {})]

    alone = [
        fault
        for place in list_places(definition)
        for fault in review_text(definition, place, CONFIGURATION).faults
    ]

    assert alone == whole
    assert len(whole) == 1


def test_long_sentences_are_listed_and_a_placeholder_is_one_word() -> None:
    long = " ".join(["Wort"] * 20)

    found = review(f"{_GOOD}\n\n{long} {{{{ debtor.name }}}}.\n\n{long}.")

    assert found.long_sentences == [(f"{long} {{{{ debtor.name }}}}.", 21)]
    assert found.max_words == 21


def test_sentences_are_split_in_the_right_places() -> None:
    text = "# Titel\n- Bis zum 3. Oktober z. B. so. Und so!\n\n{{ items }}"

    assert [*list_sentences(text)] == [
        "Titel",
        "Bis zum 3. Oktober z. B. so.",
        "Und so!",
        "{{ items }}",
    ]
    assert count_words("Bis zum {{ payBy }}") == 3


def test_the_grid_marks_missing_and_faulty_texts() -> None:
    grid = build_text_grid(a_texts_definition(), CONFIGURATION)

    def mark(cell: TextCell) -> str:
        return "gap" if cell.written is None else " ".join(each.code for each in cell.faults)

    [block] = grid.templates
    assert grid.languages == ["de", "en"]
    assert {line.channel: [*map(mark, line.cells)] for line in block.rows} == {
        "EMAIL": ["", ""], "SMS": ["", "MISSING_PART"], "LETTER": ["", "gap"],
    }  # fmt: skip
    assert [line.steps for line in block.rows] == [
        ["First reminder"], ["First reminder"], ["Last letter"],
    ]  # fmt: skip
    assert (grid.gaps, grid.faulty) == (1, 1)


def test_a_template_that_is_used_and_not_written_has_only_missing_texts() -> None:
    grid = build_text_grid(a_texts_definition(templates={}), CONFIGURATION)

    [block] = grid.templates
    assert [cell.written for line in block.rows for cell in line.cells] == [None] * 6
    assert grid.gaps == 6


def test_a_text_without_a_subject_is_marked_as_incomplete() -> None:
    definition = replace_text(a_texts_definition(), _MAIL, TextContent(_GOOD))

    grid = build_text_grid(definition, CONFIGURATION)

    assert grid.templates[0].rows[0].cells[0].is_incomplete
    assert (grid.gaps, grid.faulty) == (2, 1)


def test_a_merchants_own_forbidden_words_replace_the_standard_ones() -> None:
    definition = replace_text(
        a_texts_definition(), _SMS, TextContent(f"Polizei? {_GOOD} {{{{ merchant.name }}}}")
    )

    own = msgspec.structs.replace(CONFIGURATION, forbidden_words={"de": ("Amt",)})
    assert codes(review_text(definition, _SMS, own)) == []
    assert codes(review_text(definition, _SMS, CONFIGURATION)) == ["FORBIDDEN_WORD"]


def test_a_placeholder_that_the_merchant_can_never_fill_is_reported() -> None:
    contact = MerchantContact(email="hilfe@nordwind.example")
    nobodys = msgspec.structs.replace(CONFIGURATION, contact=contact)
    text = TextContent(f"{_GOOD} {{{{ merchant.phone }}}}", "{{ claim.referenceNumber }}")
    definition = replace_text(a_texts_definition(), _MAIL, text)

    assert codes(review_text(definition, _MAIL, CONFIGURATION)) == []
    assert codes(review_text(definition, _MAIL, nobodys)) == ["MISSING_VALUE"]
