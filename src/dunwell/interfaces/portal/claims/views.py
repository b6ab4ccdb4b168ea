"""What the pages about one claim show."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.cases.direct_debit.listing.store import ListedMandate
from dunwell.cases.payments.statement_of_account import StatementOfAccount
from dunwell.contact.messages.communications.communication import Communication
from dunwell.contact.messages.templates.formatting import render_name
from dunwell.core.claims.access import ClaimView
from dunwell.core.claims.balance import Balance, OwedItem
from dunwell.core.claims.fields import DebtorFields
from dunwell.core.claims.states import Hold
from dunwell.core.files.upload import AttachedFile
from dunwell.interfaces.web.templates import Page
from dunwell.operations.claim_status.timeline import TimelineEvent
from dunwell.operations.claim_status.views import ClaimExplanation

# For each filter chip above the activity, the kinds of entries that it keeps.
CHIPS: Mapping[str, frozenset[str]] = {
    "messages": frozenset({"CONTACT", "NOTICE"}),
    "money": frozenset(
        {"PAYMENT", "REVERSAL", "REQUEST", "MANDATE", "MANDATE_END", "DEBIT", "DEBIT_END"}
    ),
    "debtor": frozenset(
        {"DISPUTE", "DISPUTE_END", "PLAN", "PLAN_ANSWER", "PLAN_END", "LOOK", "REPLY"}
    ),
    "process": frozenset({"STEP", "PAUSE", "RESUME", "CREATED"}),
    "people": frozenset({"NOTE", "CHANGE"}),
}
# The kinds of steps that are not shown when they are done: the message of a communication step has
# its own entry.
_HIDDEN_STEP_KINDS = frozenset({"COMMUNICATION"})


class ClaimHead(msgspec.Struct, frozen=True, gc=False):
    """The claim as the top of each of its pages shows it."""

    claim_id: int
    reference_number: str
    name: str
    company_name: str
    currency: str
    status: str
    holds: Sequence[Hold]
    balance: Balance

    @property
    def is_active(self) -> bool:
        return self.status in ("CREATED", "IN_PROCESS")

    @property
    def is_paused(self) -> bool:
        return any(each.kind == "PAUSE" for each in self.holds)


class ActivityEntry(msgspec.Struct, frozen=True, gc=False):
    """One entry of the claim's activity."""

    event: TimelineEvent
    is_prominent: bool


class ClaimDetailsPage(Page, frozen=True):
    template: ClassVar[str] = "claim.html"
    area: ClassVar[str] = "claims"

    head: ClaimHead
    debtor: DebtorFields
    items: Sequence[OwedItem]
    explanation: ClaimExplanation
    workflow: str
    version: str
    next_at: datetime | None
    created_at: datetime
    activity: Sequence[ActivityEntry]
    chips: Sequence[str]
    chip: str
    has_more: bool
    documents: Sequence[AttachedFile]
    # The direct debit mandates of its payment plans, newest first.
    mandates: Sequence[ListedMandate]
    # The newest open dispute.
    open_dispute_id: UUID | None
    # True if a reply of the debtor is not marked as read.
    has_unread_reply: bool


class ExplanationPage(Page, frozen=True):
    template: ClassVar[str] = "claim_why.html"
    area: ClassVar[str] = "claims"

    head: ClaimHead
    explanation: ClaimExplanation


class MessagePage(Page, frozen=True):
    """A communication as it was sent."""

    template: ClassVar[str] = "claim_message.html"
    area: ClassVar[str] = "claims"

    head: ClaimHead
    message: Communication
    planned_at: datetime
    handed_over_at: datetime | None
    settled_at: datetime | None
    # The number of the seal that covers the message's ledger entry, and when it was sealed.
    seal: int | None
    sealed_at: datetime | None


class StatementPage(Page, frozen=True):
    template: ClassVar[str] = "claim_account.html"
    area: ClassVar[str] = "claims"

    head: ClaimHead
    on: date
    account: StatementOfAccount


class ClaimActionPage(Page, frozen=True):
    """The form of an action on a claim. `action` is its name in the URL."""

    template: ClassVar[str] = "claim_act.html"
    area: ClassVar[str] = "claims"

    action: str
    head: ClaimHead
    # The revision of the claim that the form sends back.
    revision: str
    values: Mapping[str, str]
    # Pairs of a field name and the code or the text of its fault.
    faults: Sequence[tuple[str, str]]
    # After an edit conflict, the changes since the form was opened.
    changed: Sequence[TimelineEvent]
    is_conflict: bool
    # After an edit conflict, the stored values by field.
    stored: Mapping[str, str]
    reasons: Sequence[str]


def describe_head(view: ClaimView) -> ClaimHead:
    return ClaimHead(
        claim_id=view.claim_id,
        reference_number=view.reference_number,
        name=render_name(view.debtor),
        company_name=view.debtor.company_name or "",
        currency=view.currency,
        status=str(view.status),
        holds=view.holds,
        balance=view.balance,
    )


def list_activity(timeline: Sequence[TimelineEvent], chip: str) -> list[ActivityEntry]:
    """Return the entries that the filter chip keeps, or all entries for ""."""
    wanted = CHIPS.get(chip)
    return [
        ActivityEntry(
            each, each.kind in ("PAYMENT", "DISPUTE", "DISPUTE_END", "PLAN", "PLAN_ANSWER")
        )
        for each in timeline
        if (wanted is None or each.kind in wanted) and not _is_hidden(each)
    ]


def find_open_dispute(timeline: Sequence[TimelineEvent]) -> UUID | None:
    """Return the id of the newest open dispute, or None."""
    ended = {each.subject_id for each in timeline if each.kind == "DISPUTE_END"}
    open_ids = (
        each.subject_id
        for each in timeline
        if each.kind == "DISPUTE" and each.subject_id not in ended
    )
    return next(open_ids, None)


def list_chips(timeline: Sequence[TimelineEvent]) -> list[str]:
    """Return the filter chips that keep at least one entry."""
    kinds = {each.kind for each in timeline}
    return [chip for chip, wanted in CHIPS.items() if wanted & kinds]


def _is_hidden(event: TimelineEvent) -> bool:
    return event.kind == "STEP" and event.word == "DONE" and event.actor_kind in _HIDDEN_STEP_KINDS
