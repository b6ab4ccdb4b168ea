"""What the pages about disputes show: the reasons, the form of a reason, and a submitted
dispute."""

from collections.abc import Sequence
from datetime import date
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.cases.disputes.dispute import (
    MAX_FILES_AT_ONCE,
    ClaimDispute,
    DisputeState,
    render_case_number,
)
from dunwell.cases.disputes.reasons import (
    BUILT_IN_REASONS,
    DisputeQuestion,
    DisputeType,
    OfferedReason,
    list_questions,
    needs_message,
)
from dunwell.cases.modalities.progress import local_date
from dunwell.core.claims.states import ACTIVE
from dunwell.interfaces.landing.disputes.receive_form import FileRefusal
from dunwell.interfaces.landing.disputes.store import DisputeWithFiles
from dunwell.interfaces.landing.disputes.submit_dispute import can_dispute
from dunwell.interfaces.landing.session.drafts import DraftFile, Fields, FormDraft
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import Fault


class ShownReason(msgspec.Struct, frozen=True, gc=False):
    """`label` is the merchant's text, or None for a built-in reason, which the page names
    itself."""

    name: str
    type: DisputeType
    label: str | None


class QuestionsState(msgspec.Struct, frozen=True, gc=False):
    """One rendering of the form, with the faults of the last request. `conflicting_text` is the
    text of this form if another version was saved meanwhile."""

    form_id: UUID
    faults: Sequence[Fault] = ()
    refusals: Sequence[FileRefusal] = ()
    conflicting_text: Fields | None = None
    # True if the form belonged to a session that was replaced.
    is_stale: bool = False

    @property
    def has_conflicting_state(self) -> bool:
        """Return whether the form has no fault but could not be accepted because of a conflict or a
        replaced session."""
        return self.conflicting_text is not None or self.is_stale


class ReasonsPage(Page, frozen=True):
    template: ClassVar[str] = "dispute.html"

    reasons: Sequence[ShownReason]
    # True if more reasons are available after verification.
    has_more: bool
    # True if the limit of disputes is reached.
    is_full: bool


class QuestionsPage(Page, frozen=True):
    template: ClassVar[str] = "dispute_questions.html"

    reason: ShownReason
    questions: Sequence[DisputeQuestion]
    needs_message: bool
    max_files: int
    # The id of this rendering of the form.
    form_id: UUID
    # What was entered so far, by field name, and the files of the draft.
    typed: Fields
    files: Sequence[DraftFile]
    # The revision of the draft that the form shows.
    revision: int
    # Conflicting versions of the text.
    others: Sequence[Fields]
    has_conflict: bool
    is_stale: bool
    # The faults of the last submission.
    faults: Sequence[Fault]
    refusals: Sequence[FileRefusal]


class SentDisputePage(Page, frozen=True):
    template: ClassVar[str] = "dispute_sent.html"

    dispute_id: UUID
    case_number: str
    state: DisputeState
    ended_claim: bool | None
    # True if the claim has ended or is paid.
    is_closed: bool
    # True if the claim is on hold for the dispute.
    is_on_hold: bool
    # True if the claim stays on hold after the answer, and the end of the hold if it is known.
    stays_on_hold: bool
    held_until: date | None
    opened_on: date
    answer_on: date
    # The reason, the debtor's message and the merchant's answer, if the session may see them.
    reason: ShownReason | None
    message: str | None
    resolution: str | None
    file_names: Sequence[str]
    # Text of the draft that was not sent, if the session may see it.
    unsent: Sequence[str]
    # Files of the draft that were not sent, if the session may change the dispute.
    draft_files: Sequence[str]
    is_stale: bool
    currency: str
    # The undisputed part, if it can be paid while the dispute is open.
    undisputed_cents: int | None
    # True if the session may change the dispute.
    may_change: bool
    can_withdraw: bool
    max_files: int
    refusals: Sequence[FileRefusal]


class DisputeWithdrawPage(Page, frozen=True):
    template: ClassVar[str] = "dispute_withdraw.html"

    dispute_id: UUID
    case_number: str
    # The name of the reason, or None if only the type of the dispute is known.
    reason: str | None


def describe_reason(reason: OfferedReason, language: str, opened: OpenedClaim) -> ShownReason:
    languages = (language, opened.merchant.configuration.language)
    label = reason.label_in(*languages) if reason.labels else None
    return ShownReason(reason.name, reason.type, label)


def describe_questions(
    opened: OpenedClaim, language: str, reason: OfferedReason, draft: FormDraft,
    state: QuestionsState,
) -> QuestionsPage:  # fmt: skip
    return QuestionsPage(
        reason=describe_reason(reason, language, opened),
        questions=list_questions(reason),
        needs_message=needs_message(reason),
        max_files=MAX_FILES_AT_ONCE,
        form_id=state.form_id,
        typed=draft.fields,
        files=draft.files,
        revision=draft.revision,
        others=draft.others,
        has_conflict=state.conflicting_text is not None,
        is_stale=state.is_stale,
        faults=state.faults,
        refusals=state.refusals,
    )


def describe_dispute(
    opened: OpenedClaim, found: DisputeWithFiles, undisputed_cents: int | None,
    refusals: Sequence[FileRefusal] = (), *, is_stale: bool = False,
) -> SentDisputePage:  # fmt: skip
    """Describe the dispute. `undisputed_cents` is the part that can be paid now. `is_stale` says
    that the files of a form of another session were saved."""
    dispute, configuration = found.dispute, opened.merchant.configuration
    shows_content = opened.session.level.reaches(Level.FACT)
    days, timezone = configuration.disputes.answer_within_days, configuration.timezone
    # A built-in reason is named by the page in the debtor's language.
    label = None if dispute.reason in BUILT_IN_REASONS else dispute.label
    reason = ShownReason(dispute.reason or dispute.type, dispute.type, label)
    return SentDisputePage(
        dispute_id=dispute.dispute_id,
        case_number=render_case_number(dispute.dispute_id),
        state=dispute.state,
        ended_claim=dispute.ended_claim,
        is_closed=opened.facts.status not in ACTIVE,
        is_on_hold=dispute.state is DisputeState.OPEN and can_dispute(opened.facts),
        stays_on_hold=_stays_on_hold(dispute, opened),
        held_until=_find_hold_end(dispute, opened),
        opened_on=local_date(dispute.opened_at, timezone),
        answer_on=compute_answer_day(dispute.opened_at, days, timezone),
        reason=reason if shows_content else None,
        message=dispute.message if shows_content else None,
        resolution=dispute.resolution if shows_content else None,
        file_names=[each.name for each in found.files] if shows_content else (),
        unsent=[*(found.unsent or {}).values()] if shows_content else (),
        draft_files=found.draft_files if _accepts_files(dispute, opened.session) else (),
        is_stale=is_stale,
        currency=opened.facts.currency,
        undisputed_cents=undisputed_cents if shows_content else None,
        may_change=may_change(dispute, opened.session),
        can_withdraw=can_withdraw(dispute),
        max_files=MAX_FILES_AT_ONCE,
        refusals=refusals,
    )


def _stays_on_hold(dispute: ClaimDispute, opened: OpenedClaim) -> bool:
    is_held = any(hold.hold_id == dispute.hold_id for hold in opened.facts.holds)
    return is_held and dispute.state in (DisputeState.ACCEPTED, DisputeState.REJECTED)


def _find_hold_end(dispute: ClaimDispute, opened: OpenedClaim) -> date | None:
    """Return the day on which the dispute's hold ends, or None if it has no known end."""
    ends = [
        hold.until for hold in opened.facts.holds if hold.hold_id == dispute.hold_id and hold.until
    ]
    return local_date(ends[0], opened.merchant.configuration.timezone) if ends else None


def can_withdraw(dispute: ClaimDispute) -> bool:
    """Return whether the debtor can withdraw the dispute. A debtor cannot withdraw a dispute that
    the merchant recorded."""
    return dispute.state is DisputeState.OPEN and dispute.actor_kind is ActorKind.DEBTOR


def _accepts_files(dispute: ClaimDispute, session: Session) -> bool:
    return dispute.state is DisputeState.OPEN and may_change(dispute, session)


def may_change(dispute: ClaimDispute, session: Session) -> bool:
    """Return whether the session may change the dispute. A session opened by a link alone may
    change only a dispute that it has opened itself."""
    if session.level.reaches(Level.FACT):
        return True
    is_by_debtor = dispute.actor_kind is ActorKind.DEBTOR
    return is_by_debtor and dispute.actor_id == str(session.session_id)
