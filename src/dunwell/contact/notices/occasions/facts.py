"""What a message of its own tells a debtor: facts for its templates (`interfaces.landing.telling`).

Cents, days and instants only: how they read is the templates' business. Each class names its kind
and its template. Those of OCCASIONS are kept until they are told (`notify_debtor`). Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar, get_args

from dunwell.contact.notices.notice import NoticeChannel, NoticeKind


@dataclass(frozen=True, slots=True)
class ToldOccasion:
    """at: the merchant's time when a channel had taken the message; none: nobody could be reached,
    or perhaps was not, or it is on its way still."""

    at: datetime | None
    is_under_way: bool = False


UNDER_WAY = ToldOccasion(None, is_under_way=True)


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Six digits that raise what a session may see. The message bears them by itself."""

    kind: ClassVar = NoticeKind.CODE
    template: ClassVar = "code"
    # So long its page takes it.
    minutes: int = 10


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """A new link. The message bears it by itself, and nothing of the claim."""

    kind: ClassVar = NoticeKind.LINK
    template: ClassVar = "link"


@dataclass(frozen=True, slots=True)
class ReceiptFacts:
    kind: ClassVar = NoticeKind.RECEIPT
    template: ClassVar = "receipt"
    reference_number: str
    currency: str
    amount_cents: int
    paid_at: datetime
    # The payment's number, and by what it was paid; none: not shown.
    number: str | None
    method: str | None
    # Still to pay; none: the claim is closed, and nothing is said of it.
    outstanding_cents: int | None


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """A payment plan that was agreed, or asked for."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "plan"
    reference_number: str
    currency: str
    # Each instalment: its day, its cents.
    rows: tuple[tuple[date, int], ...]
    # What the plan itself costs, within the instalments.
    costs_cents: int
    is_approved: bool
    # Of a request: by when it is answered; none: facts noted before this was promised.
    answer_on: date | None = None

    @property
    def total_cents(self) -> int:
        return sum(cents for _, cents in self.rows)


@dataclass(frozen=True, slots=True)
class DefermentFacts:
    """More time that was given, or asked for."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "deferment"
    reference_number: str
    currency: str
    amount_cents: int
    until: date
    is_approved: bool
    # As a plan's.
    answer_on: date | None = None


@dataclass(frozen=True, slots=True)
class RejectionFacts:
    """A plan or more time that was asked for and not given. The message bears a link."""

    kind: ClassVar = NoticeKind.ANSWER
    template: ClassVar = "rejection"
    reference_number: str
    is_plan: bool
    # The creditor's words; none: it gave no reason.
    reason: str | None


@dataclass(frozen=True, slots=True)
class RateDueFacts:
    """An instalment of a plan that is to be paid in some days. The message bears a link, as those
    of the three classes below."""

    kind: ClassVar = NoticeKind.REMINDER
    template: ClassVar = "rate_due"
    reference_number: str
    currency: str
    # Of the instalment.
    left_cents: int
    due_on: date


@dataclass(frozen=True, slots=True)
class RateMissedFacts:
    """One whose day is over, and that can still be paid."""

    kind: ClassVar = NoticeKind.REMINDER
    template: ClassVar = "rate_missed"
    reference_number: str
    currency: str
    left_cents: int
    due_on: date
    # The last day on which paying it keeps the plan.
    mend_by: date


@dataclass(frozen=True, slots=True)
class PlanBrokenFacts:
    """A plan that has ended, because an instalment was not paid in its grace."""

    kind: ClassVar = NoticeKind.ANSWER
    template: ClassVar = "plan_broken"
    reference_number: str
    currency: str
    left_cents: int
    due_on: date


@dataclass(frozen=True, slots=True)
class PlanFulfilledFacts:
    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "plan_fulfilled"
    reference_number: str
    # Whether nothing of the claim is left to pay.
    is_closed: bool


@dataclass(frozen=True, slots=True)
class TransferFacts:
    """A transfer that the debtor has announced."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "transfer"
    reference_number: str
    currency: str
    amount_cents: int
    sent_on: date
    # So long it is waited for.
    known_on: date


@dataclass(frozen=True, slots=True)
class PauseFacts:
    """A break that the debtor has taken."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "pause"
    reference_number: str
    until: date


@dataclass(frozen=True, slots=True)
class ObjectionFacts:
    """An objection that was received."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "objection"
    reference_number: str
    case_number: str
    answer_on: date


@dataclass(frozen=True, slots=True)
class DisputeAnswerFacts:
    """How an objection was answered. The message bears a link by itself."""

    kind: ClassVar = NoticeKind.ANSWER
    template: ClassVar = "dispute_answer"
    reference_number: str
    case_number: str
    is_accepted: bool
    # Whether nothing is to be paid any more.
    is_closed: bool
    # The creditor's words; none: it gave none.
    reason: str | None
    # So long nothing is done after the answer.
    quiet_days: int


@dataclass(frozen=True, slots=True)
class ChangeCodeFacts:
    """Six digits to an address that is to become the one on file."""

    kind: ClassVar = NoticeKind.CHANGE_CODE
    template: ClassVar = "change_code"
    minutes: int = 10


@dataclass(frozen=True, slots=True)
class ChangeNoticeFacts:
    """To the old address: it is not the one on file any more."""

    kind: ClassVar = NoticeKind.CHANGE_NOTICE
    template: ClassVar = "change_notice"
    # Which address was changed.
    changed: NoticeChannel
    changed_at: datetime
    # The new one, masked; none: it was taken away.
    new_address: str | None


@dataclass(frozen=True, slots=True)
class ContactChangeFacts:
    """To whom changed an address: that it is the one on file now."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "contact_change"
    changed: NoticeChannel
    changed_at: datetime
    # The new one, masked.
    new_address: str


@dataclass(frozen=True, slots=True)
class OverdueFacts:
    """To the merchant: an objection that should have been answered by now."""

    kind: ClassVar = NoticeKind.OVERDUE
    template: ClassVar = "overdue"
    reference_number: str
    claim_id: str
    dispute_id: str
    case_number: str
    opened_on: date
    answer_by: date


# What is told once, by whichever way works; the others are answers to a form, sent as it is sent.
OccasionFacts = (
    ReceiptFacts
    | PlanFacts
    | DefermentFacts
    | RejectionFacts
    | RateDueFacts
    | RateMissedFacts
    | PlanBrokenFacts
    | PlanFulfilledFacts
    | TransferFacts
    | PauseFacts
    | ObjectionFacts
    | DisputeAnswerFacts
    | ContactChangeFacts
)
Facts = OccasionFacts | CodeFacts | LinkFacts | ChangeCodeFacts | ChangeNoticeFacts | OverdueFacts

# What can be written as a letter (`is_worth_letter`).
LetterFacts = (
    DisputeAnswerFacts
    | RejectionFacts
    | PlanFacts
    | DefermentFacts
    | RateMissedFacts
    | PlanBrokenFacts
)
# By the name of their templates, which is the occasion's name.
OCCASIONS: Mapping[str, type[OccasionFacts]] = {
    each.template: each for each in get_args(OccasionFacts)
}


def is_worth_letter(facts: OccasionFacts) -> bool:
    """Whether a debtor whom no e-mail and no SMS reaches gets a letter.

    Decisions are, and what has to be done to keep a plan. That a request was received is confirmed
    by e-mail or SMS only.
    """
    if isinstance(facts, PlanFacts | DefermentFacts):
        return facts.is_approved
    return isinstance(facts, LetterFacts)


def find_amount_due(facts: LetterFacts, outstanding_cents: int) -> int:
    """What the debtor is to pay next, in minor units; 0: nothing."""
    if isinstance(facts, PlanFacts):
        return min(facts.rows[0][1], outstanding_cents)
    if isinstance(facts, RateMissedFacts):
        return min(facts.left_cents, outstanding_cents)
    if isinstance(facts, DisputeAnswerFacts) and facts.is_closed:
        return 0
    return max(0, outstanding_cents)
