"""The facts of each notice for its templates (`landing.notifications`).

Facts are cents, dates and instants; the templates format them. Each class names its kind and its
template. Those in OCCASIONS are stored until they are sent (`notify_debtor`). Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import ClassVar, get_args

from dunwell.contact.notices.notice import NoticeChannel, NoticeKind


@dataclass(frozen=True, slots=True)
class OccasionOutcome:
    """The notification of a debtor about an occasion. `at` is the merchant's time when a channel
    accepted the message. It is None if no channel reached the debtor, if that is unknown,
    or if the message is still being sent (`is_under_way`)."""

    at: datetime | None
    is_under_way: bool = False


BEING_SENT = OccasionOutcome(None, is_under_way=True)


@dataclass(frozen=True, slots=True)
class CodeFacts:
    """Six digits that give a session more access. The message contains them."""

    kind: ClassVar = NoticeKind.CODE
    template: ClassVar = "code"
    # How long the page accepts the code.
    minutes: int = 10


@dataclass(frozen=True, slots=True)
class LinkFacts:
    """A new link. The message contains the link and no other data of the claim."""

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
    # The payment's number (stored under this name) and the payment method; None if not shown.
    number: str | None
    method: str | None
    # The remaining amount. None if the claim is closed; the message then does not mention it.
    outstanding_cents: int | None


@dataclass(frozen=True, slots=True)
class ReturnFacts:
    """Money of a payment that went back to the debtor, or that came back to the creditor."""

    kind: ClassVar = NoticeKind.RECEIPT
    template: ClassVar = "payment_return"
    reference_number: str
    currency: str
    # REFUNDED, REFUND_FAILED, CHARGED_BACK, CHARGEBACK_REVERSED, or REVERSED by the creditor.
    cause: str
    amount_cents: int
    # When the debtor paid, and the payment's number (stored under this name).
    paid_at: datetime
    number: str
    # The remaining amount. None if the claim is closed; the message then does not mention it.
    outstanding_cents: int | None


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """A payment plan that was agreed or requested."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "plan"
    reference_number: str
    currency: str
    # The due date and the cents of each instalment.
    rows: tuple[tuple[date, int], ...]
    # The costs of the plan, which the instalments include.
    costs_cents: int
    is_approved: bool
    # For a request: the date by which it is answered; None in facts that were stored before this
    # was promised.
    answer_on: date | None = None

    @property
    def total_cents(self) -> int:
        return sum(cents for _, cents in self.rows)


@dataclass(frozen=True, slots=True)
class DeferralFacts:
    """A deferral that was granted or requested."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "deferment"
    reference_number: str
    currency: str
    amount_cents: int
    until: date
    is_approved: bool
    # For a request: the date by which it is answered.
    answer_on: date | None = None


@dataclass(frozen=True, slots=True)
class RejectionFacts:
    """A payment plan or deferral that was requested and refused. The message contains a link."""

    kind: ClassVar = NoticeKind.ANSWER
    template: ClassVar = "rejection"
    reference_number: str
    is_plan: bool
    # The creditor's explanation; None if it gave none.
    reason: str | None


@dataclass(frozen=True, slots=True)
class InstalmentDueFacts:
    """An instalment that is due in a few days. The message contains a link."""

    kind: ClassVar = NoticeKind.REMINDER
    # The stored name of the occasion ("rate" is an instalment).
    template: ClassVar = "rate_due"
    reference_number: str
    currency: str
    # The amount of the instalment that is left to pay.
    left_cents: int
    due_on: date


@dataclass(frozen=True, slots=True)
class InstalmentMissedFacts:
    """An instalment that was not paid in time and can still be paid."""

    kind: ClassVar = NoticeKind.REMINDER
    # The stored name of the occasion ("rate" is an instalment).
    template: ClassVar = "rate_missed"
    reference_number: str
    currency: str
    left_cents: int
    due_on: date
    # The last day on which paying the instalment keeps the plan.
    payable_until: date


@dataclass(frozen=True, slots=True)
class MandateFacts:
    """A direct debit mandate that the debtor has given or revoked."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "mandate"
    reference_number: str
    mandate_reference: str
    creditor_id: str
    # The debtor's account, masked.
    account: str
    # The text of the mandate, as the debtor accepted it.
    text: str
    signed_on: date
    # How many days before a debit the debtor is notified of it.
    notice_days: int
    is_active: bool


@dataclass(frozen=True, slots=True)
class DebitFacts:
    """A direct debit that will be made: the pre-notification."""

    kind: ClassVar = NoticeKind.ANSWER
    template: ClassVar = "debit"
    reference_number: str
    currency: str
    amount_cents: int
    collected_on: date
    mandate_reference: str
    creditor_id: str
    # The debtor's account, masked.
    account: str


@dataclass(frozen=True, slots=True)
class PlanBrokenFacts:
    """A plan that has ended because an instalment was not paid within its grace period."""

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
    # True if the claim is fully paid.
    is_closed: bool


@dataclass(frozen=True, slots=True)
class TransferFacts:
    """A bank transfer that the debtor has reported."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "transfer"
    reference_number: str
    currency: str
    amount_cents: int
    sent_on: date
    # The last day on which Dunwell waits for the transfer (stored under this name).
    known_on: date


@dataclass(frozen=True, slots=True)
class PauseFacts:
    """A pause that the debtor has taken."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "pause"
    reference_number: str
    until: date


@dataclass(frozen=True, slots=True)
class DisputeReceivedFacts:
    """A dispute that was received."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "objection"
    reference_number: str
    case_number: str
    answer_on: date


@dataclass(frozen=True, slots=True)
class DisputeAnswerFacts:
    """The response to a dispute. The message contains a link."""

    kind: ClassVar = NoticeKind.ANSWER
    template: ClassVar = "dispute_answer"
    reference_number: str
    case_number: str
    is_accepted: bool
    # True if nothing is left to pay.
    is_closed: bool
    # The creditor's explanation; None if it gave none.
    reason: str | None
    # The number of days without contacts after the response.
    quiet_days: int


@dataclass(frozen=True, slots=True)
class ChangeCodeFacts:
    """Six digits to an address that is to replace the one on file."""

    kind: ClassVar = NoticeKind.CHANGE_CODE
    template: ClassVar = "change_code"
    minutes: int = 10


@dataclass(frozen=True, slots=True)
class ChangeNoticeFacts:
    """The message to the previous address, which is no longer the one on file."""

    kind: ClassVar = NoticeKind.CHANGE_NOTICE
    template: ClassVar = "change_notice"
    # The channel whose address was changed.
    changed: NoticeChannel
    changed_at: datetime
    # The new address, masked; None if the address was removed.
    new_address: str | None


@dataclass(frozen=True, slots=True)
class ContactChangeFacts:
    """The confirmation to the person who changed an address."""

    kind: ClassVar = NoticeKind.CONFIRMATION
    template: ClassVar = "contact_change"
    changed: NoticeChannel
    changed_at: datetime
    # The new address, masked.
    new_address: str


@dataclass(frozen=True, slots=True)
class OverdueFacts:
    """The message to the merchant about a dispute whose response is overdue."""

    kind: ClassVar = NoticeKind.OVERDUE
    template: ClassVar = "overdue"
    reference_number: str
    claim_id: str
    dispute_id: str
    case_number: str
    opened_on: date
    answer_by: date


# Occasions are sent once, by the first channel that works. All other facts belong to a form and are
# sent when it is submitted, except OverdueFacts, which a worker sends to the merchant.
OccasionFacts = (
    ReceiptFacts
    | ReturnFacts
    | PlanFacts
    | DeferralFacts
    | RejectionFacts
    | InstalmentDueFacts
    | InstalmentMissedFacts
    | MandateFacts
    | DebitFacts
    | PlanBrokenFacts
    | PlanFulfilledFacts
    | TransferFacts
    | PauseFacts
    | DisputeReceivedFacts
    | DisputeAnswerFacts
    | ContactChangeFacts
)
Facts = OccasionFacts | CodeFacts | LinkFacts | ChangeCodeFacts | ChangeNoticeFacts | OverdueFacts

# Facts that can be sent as a letter (see `is_worth_letter`).
LetterFacts = (
    DisputeAnswerFacts
    | RejectionFacts
    | PlanFacts
    | DeferralFacts
    | InstalmentMissedFacts
    | DebitFacts
    | PlanBrokenFacts
)
# Keyed by the name of the template, which is also the name of the occasion.
OCCASIONS: Mapping[str, type[OccasionFacts]] = {
    each.template: each for each in get_args(OccasionFacts)
}


def is_worth_letter(facts: OccasionFacts) -> bool:
    """Return whether a debtor who cannot be reached by e-mail or SMS gets a letter.

    This holds for decisions, direct debits, broken plans, and what has to be done to keep a plan.
    The receipt of a request is confirmed by e-mail or SMS only.
    """
    if isinstance(facts, PlanFacts | DeferralFacts):
        return facts.is_approved
    return isinstance(facts, LetterFacts)


def compute_amount_due(facts: LetterFacts, outstanding_cents: int) -> int:
    """Return what the debtor is to pay next, in minor units; 0 for nothing."""
    if isinstance(facts, PlanFacts):
        return min(facts.rows[0][1], outstanding_cents)
    if isinstance(facts, InstalmentMissedFacts):
        return min(facts.left_cents, outstanding_cents)
    if isinstance(facts, DebitFacts) or (isinstance(facts, DisputeAnswerFacts) and facts.is_closed):
        return 0
    return max(0, outstanding_cents)
