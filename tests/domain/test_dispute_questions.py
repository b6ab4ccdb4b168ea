"""The questions of each dispute reason, the case number, and the due date of the answer."""

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.cases.disputes.dispute import MAX_FILES, check_file_count, render_case_number
from dunwell.cases.disputes.reasons import (
    MAX_LINE_LENGTH,
    MESSAGE_FIELD,
    DisputeType,
    OfferedReason,
    QuestionKind,
    list_answer_faults,
    list_questions,
    needs_message,
)
from dunwell.interfaces.landing.render.pages import load_environment
from dunwell.platform.errors import ValidationError
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages

TODAY = date(2026, 3, 2)
OWN = OfferedReason("WRONG_SIZE", DisputeType.OTHER, {"de": "Falsche Größe"}, is_hidden=False)


def a_reason(dispute_type: DisputeType) -> OfferedReason:
    return OfferedReason(dispute_type, dispute_type, {}, is_hidden=False)


def find(reason: OfferedReason, message: str | None = "a", **answers: str) -> list[tuple[str, str]]:
    faults = list_answer_faults(reason, answers, message, TODAY)
    return [(fault.path, fault.code) for fault in faults]


@pytest.mark.parametrize("dispute_type", DisputeType)
def test_every_reason_can_be_disputed_without_answering_its_questions(
    dispute_type: DisputeType,
) -> None:
    reason = a_reason(dispute_type)
    expected = [("message", "REQUIRED")] if needs_message(reason) else []
    assert find(reason, None) == expected
    assert find(reason, " \n") == expected
    assert find(reason, "So it is") == []


def test_three_reasons_require_a_message() -> None:
    needing = {each for each in DisputeType if needs_message(a_reason(each))}
    assert needing == {"AMOUNT_WRONG", "DEFECTIVE", "OTHER"}
    assert not needs_message(OWN)
    assert list_questions(OWN) == ()


@pytest.mark.parametrize("dispute_type", DisputeType)
def test_a_question_is_asked_once_and_choices_have_names(dispute_type: DisputeType) -> None:
    questions = list_questions(a_reason(dispute_type))
    names = [each.name for each in questions]
    assert len(names) == len(set(names))
    assert "message" not in names
    for question in questions:
        assert bool(question.choices) is (question.kind is QuestionKind.CHOICE)


@pytest.mark.parametrize(
    ("answers", "faults"),
    [
        ({"day": "2026-03-02", "amount": "0", "way": "CASH", "number": "x" * MAX_LINE_LENGTH}, []),
        ({"day": "2026-03-03"}, [("day", "TOO_LATE")]),
        ({"day": "1949-12-31"}, [("day", "TOO_EARLY")]),
        ({"day": "2026-02-29"}, [("day", "WRONG_FORMAT")]),
        ({"day": "?"}, [("day", "WRONG_FORMAT")]),
        ({"amount": "1.5"}, [("amount", "WRONG_FORMAT")]),
        ({"amount": "-1"}, [("amount", "WRONG_FORMAT")]),
        ({"amount": "٣"}, [("amount", "WRONG_FORMAT")]),
        ({"amount": "1" * 13}, [("amount", "WRONG_FORMAT")]),
        ({"way": "BARTER"}, [("way", "NOT_ALLOWED")]),
        ({"number": "x" * (MAX_LINE_LENGTH + 1)}, [("number", "TOO_LONG")]),
        ({"day": "?", "way": "?"}, [("day", "WRONG_FORMAT"), ("way", "NOT_ALLOWED")]),
    ],
)
def test_answers_are_checked_against_their_question(
    answers: dict[str, str], faults: list[tuple[str, str]]
) -> None:
    assert find(a_reason(DisputeType.DEBTOR_ALREADY_PAID), **answers) == faults


def test_a_message_has_at_most_two_thousand_characters() -> None:
    reason = a_reason(DisputeType.OTHER)
    assert find(reason, "x" * 2000) == []
    assert find(reason, "x" * 2001) == [("message", "TOO_LONG")]


@given(st.uuids(), st.uuids())
def test_a_case_number_has_eight_unambiguous_characters_of_the_id(one: UUID, other: UUID) -> None:
    number = render_case_number(one)
    assert len(number) == 9
    assert number[4] == "-"
    assert not set(number) & set("ILOU")
    assert number == render_case_number(one)
    assert one == other or number != render_case_number(other)


@pytest.mark.parametrize(
    ("opened", "days", "expected"),
    [
        ("2026-03-02T09:00", 1, "2026-03-03"),
        ("2026-03-02T09:00", 10, "2026-03-16"),
        ("2026-03-06T09:00", 1, "2026-03-09"),
        # In the merchant's timezone it is Saturday already.
        ("2026-03-06T23:30", 1, "2026-03-09"),
        ("2026-03-07T12:00", 2, "2026-03-10"),
    ],
)
def test_the_answer_is_due_after_the_merchants_business_days(
    opened: str, days: int, expected: str
) -> None:
    opened_at = datetime.fromisoformat(opened).replace(tzinfo=UTC)
    found = compute_answer_day(opened_at, days, "Europe/Berlin")
    assert found == date.fromisoformat(expected)


def test_the_number_of_files_of_a_dispute_is_limited() -> None:
    check_file_count(MAX_FILES - 1, 1)
    with pytest.raises(ValidationError):
        check_file_count(MAX_FILES - 1, 2)


@pytest.mark.parametrize("language", load_languages(DEBTOR_CATALOGUES))
def test_each_reason_has_texts_for_its_label_and_its_questions(language: str) -> None:
    environment = load_environment(load_languages(DEBTOR_CATALOGUES)[language])
    template: Any = environment.get_template("_reason_words.html").module
    for dispute_type in DisputeType:
        words, reason = template.WORDS[dispute_type], a_reason(dispute_type)
        asked = {each.name for each in list_questions(reason)}
        # Where a text is required, the question says what it is about.
        needed = {MESSAGE_FIELD} if needs_message(reason) else set()
        assert words.keys() - {MESSAGE_FIELD} == {"label", *asked}, dispute_type
        assert needed <= words.keys(), dispute_type


def test_the_merchants_guide_lists_each_reason_and_question() -> None:
    guide = Path("docs/merchant/disputes.md").read_text()
    asked = {each.name for every in DisputeType for each in list_questions(a_reason(every))}
    assert {name for name in (*DisputeType, *asked) if f"`{name}`" not in guide} == set()
