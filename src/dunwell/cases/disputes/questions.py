"""What a debtor is asked about a reason, beside a text of their own.

Answers are kept by the question's name: a DAY as 2026-02-14, an AMOUNT as digits in minor units, a
CHOICE as one of its names, a LINE as it was typed. Nearly all may be left out: whoever cannot
answer must still be able to object. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

from dunwell.cases.disputes.reasons import WRONG_PERSON, DisputeType, Reason
from dunwell.platform.errors import Fault

LONGEST_LINE = 255
# The text every reason has.
MESSAGE = "message"
_LONGEST_MESSAGE = 2_000
_MOST_CENTS = 10**12 - 1
_EARLIEST = date(1950, 1, 1)


class Kind(StrEnum):
    DAY = "DAY"
    AMOUNT = "AMOUNT"
    CHOICE = "CHOICE"
    LINE = "LINE"


@dataclass(frozen=True, slots=True)
class Question:
    name: str
    kind: Kind
    # Of a CHOICE.
    choices: tuple[str, ...] = ()


_DAY = Question("day", Kind.DAY)
_AMOUNT = Question("amount", Kind.AMOUNT)
_NUMBER = Question("number", Kind.LINE)
_PAID_BY = Question("way", Kind.CHOICE, ("TRANSFER", "DEBIT", "CARD", "CASH", "OTHER"))
_TOLD_BY = Question("way", Kind.CHOICE, ("ONLINE", "EMAIL", "LETTER", "PHONE", "OTHER"))
_QUESTIONS: Mapping[str, tuple[Question, ...]] = {
    DisputeType.DEBTOR_ALREADY_PAID: (_DAY, _AMOUNT, _PAID_BY, _NUMBER),
    DisputeType.AMOUNT_WRONG: (_AMOUNT,),
    DisputeType.GOODS_RETURNED: (_DAY, _NUMBER),
    DisputeType.DEFECTIVE: (_DAY,),
    DisputeType.CONTRACT_CANCELLED: (_DAY, _TOLD_BY),
    WRONG_PERSON: (Question("person", Kind.LINE),),
    DisputeType.NOT_MY_DEBT: (Question("person", Kind.LINE),),
    DisputeType.IDENTITY_THEFT: (_DAY, _NUMBER),
    DisputeType.ALREADY_IN_PLAN: (_DAY, Question("person", Kind.LINE)),
    DisputeType.INSOLVENCY: (_DAY, Question("court", Kind.LINE), _NUMBER),
}
# Without a word there would be nothing to look into.
_NEEDS_MESSAGE: frozenset[str] = frozenset(
    {DisputeType.AMOUNT_WRONG, DisputeType.DEFECTIVE, DisputeType.OTHER}
)


def list_questions(reason: Reason) -> tuple[Question, ...]:
    """In their order, before the message. A merchant's own reason has the message alone."""
    return _QUESTIONS.get(reason.name, ())


def needs_message(reason: Reason) -> bool:
    return reason.name in _NEEDS_MESSAGE


def find_answer_faults(
    reason: Reason, answers: Mapping[str, str], message: str | None, today: date
) -> Iterator[Fault]:
    """By the questions' names, in their order. today: where the merchant is; answers: none is
    empty."""
    for question in list_questions(reason):
        if question.name in answers:
            yield from _check(question, answers[question.name], today)
    if needs_message(reason) and not (message or "").strip():
        yield Fault(MESSAGE, "Say what is not right.", "REQUIRED")
    if len(message or "") > _LONGEST_MESSAGE:
        yield Fault(MESSAGE, f"Use at most {_LONGEST_MESSAGE} characters.", "TOO_LONG")


def _check(question: Question, answer: str, today: date) -> Iterator[Fault]:
    match question.kind:
        case Kind.DAY:
            yield from _check_day(question.name, answer, today)
        case Kind.AMOUNT:
            if not answer.isdecimal() or not answer.isascii() or int(answer) > _MOST_CENTS:
                yield Fault(question.name, "Give an amount.", "WRONG_FORMAT")
        case Kind.CHOICE:
            if answer not in question.choices:
                yield Fault(question.name, "Choose one of these.", "NOT_ALLOWED")
        case Kind.LINE:
            if len(answer) > LONGEST_LINE:
                message = f"Use at most {LONGEST_LINE} characters."
                yield Fault(question.name, message, "TOO_LONG")


def _check_day(name: str, answer: str, today: date) -> Iterator[Fault]:
    try:
        day = date.fromisoformat(answer)
    except ValueError:
        yield Fault(name, "There is no such day.", "WRONG_FORMAT")
        return
    if day > today:
        yield Fault(name, "The day is still to come.", "TOO_LATE")
    elif day < _EARLIEST:
        yield Fault(name, "The day is too long ago.", "TOO_EARLY")
