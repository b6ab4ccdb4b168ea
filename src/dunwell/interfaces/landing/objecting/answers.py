"""Reads what a debtor answered to a reason's questions from the fields of a form.

Faults come by the question's name, as the page shows them beside the field. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from dunwell.cases.disputes.reasons import (
    MESSAGE,
    Kind,
    Question,
    Reason,
    find_answer_faults,
    list_questions,
)
from dunwell.interfaces.web.amounts import read_amount
from dunwell.platform.errors import Fault
from dunwell.platform.text.texts import is_printable

# What an answer becomes that cannot be read: no answer of any kind.
_UNREADABLE = "?"
_DATE_PARTS = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class Answered:
    answers: Mapping[str, str]
    message: str | None
    faults: list[Fault]


def list_fields(reason: Reason) -> list[str]:
    """The names of the form's fields that a draft keeps."""
    fields: list[str] = []
    for question in list_questions(reason):
        fields += _list_parts(question)
    return [*fields, MESSAGE]


def pick_fields(reason: Reason, form: Mapping[str, str]) -> dict[str, str]:
    """What was typed, without what cannot be shown."""
    picked = {name: _tidy(form[name]) for name in list_fields(reason) if name in form}
    return {name: text for name, text in picked.items() if text.strip()}


def read_answers(
    reason: Reason, fields: Mapping[str, str], currency: str, language: str, today: date
) -> Answered:
    """fields: as `pick_fields` gives them. language: the one they were typed in."""
    answers: dict[str, str] = {}
    for question in list_questions(reason):
        typed = [fields.get(name, "").strip() for name in _list_parts(question)]
        if any(typed):
            answers[question.name] = _read(question, typed, currency, language)
    message = fields.get(MESSAGE, "").strip() or None
    faults = list(find_answer_faults(reason, answers, message, today))
    return Answered(answers, message, faults)


def _list_parts(question: Question) -> list[str]:
    if question.kind is Kind.DAY:
        return [f"{question.name}_{part}" for part in _DATE_PARTS]
    return [question.name]


def _read(question: Question, typed: list[str], currency: str, language: str) -> str:
    if question.kind is Kind.DAY:
        return _read_day(typed)
    if question.kind is Kind.AMOUNT:
        cents = read_amount(typed[0], currency, language)
        return _UNREADABLE if cents is None else str(cents)
    return typed[0]


def _read_day(typed: list[str]) -> str:
    """typed: year, month, day."""
    if not all(part.isdecimal() and part.isascii() for part in typed):
        return _UNREADABLE
    year, month, day = typed
    return f"{year:0>4}-{month:0>2}-{day:0>2}"


def _tidy(text: str) -> str:
    """Without the controls that no text of ours holds."""
    if is_printable(text):
        return text
    return "".join(letter for letter in text if is_printable(letter))
