"""The reasons for disputing a claim (those of the API contract, built-in ones and the merchant's
own), and the questions to the debtor about each. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum

import msgspec

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.platform.errors import Fault
from dunwell.platform.text.translation import DEBTOR_CATALOGUES, SOURCE_LANGUAGE, load_languages


class DisputeType(StrEnum):
    DEBTOR_ALREADY_PAID = "DEBTOR_ALREADY_PAID"
    AMOUNT_WRONG = "AMOUNT_WRONG"
    GOODS_NOT_RECEIVED = "GOODS_NOT_RECEIVED"
    GOODS_RETURNED = "GOODS_RETURNED"
    DEFECTIVE = "DEFECTIVE"
    CONTRACT_CANCELLED = "CONTRACT_CANCELLED"
    NOT_MY_DEBT = "NOT_MY_DEBT"
    IDENTITY_THEFT = "IDENTITY_THEFT"
    ALREADY_IN_PLAN = "ALREADY_IN_PLAN"
    INSOLVENCY = "INSOLVENCY"
    STATUTE_BARRED = "STATUTE_BARRED"
    DOCUMENTS_MISSING = "DOCUMENTS_MISSING"
    OTHER = "OTHER"


WRONG_PERSON = "WRONG_PERSON"
PERSON_DIED = "PERSON_DIED"
# Built-in reasons, which are neither of the API contract nor a merchant's own -> their type in
# events.
BUILT_IN_REASONS: Mapping[str, DisputeType] = {
    WRONG_PERSON: DisputeType.NOT_MY_DEBT,
    PERSON_DIED: DisputeType.OTHER,
}
# Names that a merchant cannot use for its own reasons.
RESERVED_NAMES: tuple[str, ...] = (*DisputeType, *BUILT_IN_REASONS)
ALWAYS_OFFERED: frozenset[str] = frozenset(
    {DisputeType.NOT_MY_DEBT, DisputeType.OTHER, *BUILT_IN_REASONS}
)


class OfferedReason(msgspec.Struct, frozen=True, gc=False):
    """A reason to choose from. `name` is a type of the API contract or the name of another
    reason."""

    name: str
    # The type in events.
    type: DisputeType
    # Language -> label; empty if the pages have their own label for the reason.
    labels: Mapping[str, str]
    is_hidden: bool

    @property
    def is_own(self) -> bool:
        """True if the merchant defined the reason."""
        return self.name not in RESERVED_NAMES

    @property
    def is_contract_type(self) -> bool:
        """True if the reason's name is a type of the API contract, so that events need no label."""
        return self.name == self.type

    @property
    def withholds_claim(self) -> bool:
        return self.name in BUILT_IN_REASONS

    def label_in(self, *languages: str) -> str:
        """Return the label in the first of the languages that has one, or else in any language."""
        for language in languages:
            label = self.labels.get(language) or _label_built_in(self.name, language)
            if label is not None:
                return label
        return _label_built_in(self.name, SOURCE_LANGUAGE) or next(iter(self.labels.values()))


def _label_built_in(name: str, language: str) -> str | None:
    """Return the label of a built-in reason that is recorded and sent in events, or None if the
    language has none."""
    translation = load_languages(DEBTOR_CATALOGUES).get(language)
    if translation is None or name not in BUILT_IN_REASONS:
        return None
    if name == WRONG_PERSON:
        return translation.translate("This is not me")
    return translation.translate("The person has died")


def list_reasons(disputes: DisputeSettings) -> list[OfferedReason]:
    """Return all reasons, hidden ones included.

    The types of the API contract are in their order, each built-in reason is before its type, and
    the merchant's own reasons are before OTHER.
    """
    settings: dict[str, DisputeReason] = {each.type: each for each in disputes.reasons}
    reasons = [
        _build_standard_reason(name, type_, settings.pop(name, None))
        for name, type_ in _list_standard_reasons()
    ]
    own = [
        OfferedReason(each.type, DisputeType.OTHER, each.labels, each.is_hidden)
        for each in settings.values()
    ]
    return [*reasons[:-1], *own, reasons[-1]]


def list_offered_reasons(disputes: DisputeSettings) -> list[OfferedReason]:
    """Return the reasons that debtors can choose from."""
    return [each for each in list_reasons(disputes) if not each.is_hidden]


def _list_standard_reasons() -> Iterator[tuple[str, DisputeType]]:
    for each in DisputeType:
        yield from ((name, type_) for name, type_ in BUILT_IN_REASONS.items() if type_ is each)
        yield each, each


def _build_standard_reason(
    name: str, dispute_type: DisputeType, setting: DisputeReason | None
) -> OfferedReason:
    """Build a reason of the API contract or a built-in one. `setting` is the merchant's setting for
    the reason, if there is one."""
    if setting is None:
        return OfferedReason(name, dispute_type, {}, is_hidden=False)
    is_hidden = setting.is_hidden and name not in ALWAYS_OFFERED
    return OfferedReason(name, dispute_type, setting.labels, is_hidden)


MAX_LINE_LENGTH = 255
# The field name of the message, which each reason has.
MESSAGE_FIELD = "message"
_MAX_MESSAGE_LENGTH = 2_000
_MAX_CENTS = 10**12 - 1
_EARLIEST = date(1950, 1, 1)


class QuestionKind(StrEnum):
    DAY = "DAY"
    AMOUNT = "AMOUNT"
    CHOICE = "CHOICE"
    LINE = "LINE"


@dataclass(frozen=True, slots=True)
class DisputeQuestion:
    name: str
    kind: QuestionKind
    # Set only for CHOICE.
    choices: tuple[str, ...] = ()


_DAY = DisputeQuestion("day", QuestionKind.DAY)
_AMOUNT = DisputeQuestion("amount", QuestionKind.AMOUNT)
_NUMBER = DisputeQuestion("number", QuestionKind.LINE)
_PAID_BY = DisputeQuestion(
    "way", QuestionKind.CHOICE, ("TRANSFER", "DEBIT", "CARD", "CASH", "OTHER")
)
_CANCELLED_BY = DisputeQuestion(
    "way", QuestionKind.CHOICE, ("ONLINE", "EMAIL", "LETTER", "PHONE", "OTHER")
)
_QUESTIONS: Mapping[str, tuple[DisputeQuestion, ...]] = {
    DisputeType.DEBTOR_ALREADY_PAID: (_DAY, _AMOUNT, _PAID_BY, _NUMBER),
    DisputeType.AMOUNT_WRONG: (_AMOUNT,),
    DisputeType.GOODS_RETURNED: (_DAY, _NUMBER),
    DisputeType.DEFECTIVE: (_DAY,),
    DisputeType.CONTRACT_CANCELLED: (_DAY, _CANCELLED_BY),
    WRONG_PERSON: (DisputeQuestion("person", QuestionKind.LINE),),
    DisputeType.NOT_MY_DEBT: (DisputeQuestion("person", QuestionKind.LINE),),
    DisputeType.IDENTITY_THEFT: (_DAY, _NUMBER),
    DisputeType.ALREADY_IN_PLAN: (_DAY, DisputeQuestion("person", QuestionKind.LINE)),
    DisputeType.INSOLVENCY: (_DAY, DisputeQuestion("court", QuestionKind.LINE), _NUMBER),
}
# Reasons that cannot be examined without a message.
_NEEDS_MESSAGE: frozenset[str] = frozenset(
    {DisputeType.AMOUNT_WRONG, DisputeType.DEFECTIVE, DisputeType.OTHER}
)


def list_questions(reason: OfferedReason) -> tuple[DisputeQuestion, ...]:
    """Return the reason's questions in order. The message follows them. A merchant's own reason has
    only the message."""
    return _QUESTIONS.get(reason.name, ())


def needs_message(reason: OfferedReason) -> bool:
    return reason.name in _NEEDS_MESSAGE


def list_answer_faults(
    reason: OfferedReason, answers: Mapping[str, str], message: str | None, today: date
) -> Iterator[Fault]:
    """Yield the faults of the answers, with the questions' names as paths, in order.

    `answers` contains no empty answer. `today` is the day in the merchant's time zone.
    """
    for question in list_questions(reason):
        if question.name in answers:
            yield from _list_question_faults(question, answers[question.name], today)
    if needs_message(reason) and not (message or "").strip():
        yield Fault(MESSAGE_FIELD, "Describe what is wrong.", "REQUIRED")
    if len(message or "") > _MAX_MESSAGE_LENGTH:
        yield Fault(MESSAGE_FIELD, f"Use at most {_MAX_MESSAGE_LENGTH} characters.", "TOO_LONG")


def _list_question_faults(question: DisputeQuestion, answer: str, today: date) -> Iterator[Fault]:
    match question.kind:
        case QuestionKind.DAY:
            yield from _list_day_faults(question.name, answer, today)
        case QuestionKind.AMOUNT:
            if not answer.isdecimal() or not answer.isascii() or int(answer) > _MAX_CENTS:
                yield Fault(question.name, "Give an amount.", "WRONG_FORMAT")
        case QuestionKind.CHOICE:
            if answer not in question.choices:
                yield Fault(question.name, "Choose one of these.", "NOT_ALLOWED")
        case QuestionKind.LINE:
            if len(answer) > MAX_LINE_LENGTH:
                message = f"Use at most {MAX_LINE_LENGTH} characters."
                yield Fault(question.name, message, "TOO_LONG")


def _list_day_faults(name: str, answer: str, today: date) -> Iterator[Fault]:
    try:
        day = date.fromisoformat(answer)
    except ValueError:
        yield Fault(name, "There is no such date.", "WRONG_FORMAT")
        return
    if day > today:
        yield Fault(name, "The day is in the future.", "TOO_LATE")
    elif day < _EARLIEST:
        yield Fault(name, "The day is too long ago.", "TOO_EARLY")
