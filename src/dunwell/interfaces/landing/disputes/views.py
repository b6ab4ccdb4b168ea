"""What the pages of objecting show: the reasons, the questions of one, a dispute that was sent."""

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
from dunwell.interfaces.landing.disputes.receive_form import FileRefusal
from dunwell.interfaces.landing.disputes.store import DisputeWithFiles
from dunwell.interfaces.landing.disputes.submit_dispute import can_dispute
from dunwell.interfaces.landing.session.drafts import DraftFile, Fields, FormDraft
from dunwell.interfaces.landing.session.session import Level, Session
from dunwell.interfaces.landing.session.states import get_local_day
from dunwell.interfaces.landing.session.store import OpenedClaim
from dunwell.interfaces.web.templates import Page
from dunwell.platform.errors import Fault


class ShownReason(msgspec.Struct, frozen=True, gc=False):
    """label: the merchant's words for it; none: the page has its own for the type."""

    name: str
    type: DisputeType
    label: str | None


class QuestionsState(msgspec.Struct, frozen=True, gc=False):
    """One state of the form, and what was wrong with the last one. `overtaking`: what was typed
    into a form that somebody else's words have overtaken."""

    form_id: UUID
    faults: Sequence[Fault] = ()
    refusals: Sequence[FileRefusal] = ()
    overtaking: Fields | None = None
    # The form was of a session that has ended.
    is_stale: bool = False

    @property
    def is_news(self) -> bool:
        """Whether nothing is wrong with the form, but it could not be taken as it came."""
        return self.overtaking is not None or self.is_stale


class ReasonsPage(Page, frozen=True):
    template: ClassVar[str] = "dispute.html"

    reasons: Sequence[ShownReason]
    # Whether there are more for who says more of who it is.
    has_more: bool
    # Whether there were too many disputes.
    is_full: bool


class QuestionsPage(Page, frozen=True):
    template: ClassVar[str] = "dispute_questions.html"

    reason: ShownReason
    questions: Sequence[DisputeQuestion]
    needs_message: bool
    most_files: int
    # What marks one state of the form.
    form_id: UUID
    # What was typed so far, by the field's name, and the files that go with it.
    typed: Fields
    files: Sequence[DraftFile]
    # What a form says it was made of.
    revision: int
    # Other versions of what was typed.
    others: Sequence[Fields]
    has_conflict: bool
    is_stale: bool
    # What was wrong with the form that was sent last.
    faults: Sequence[Fault]
    refusals: Sequence[FileRefusal]


class SentDisputePage(Page, frozen=True):
    template: ClassVar[str] = "dispute_sent.html"

    dispute_id: UUID
    case_number: str
    state: DisputeState
    ended_claim: bool | None
    # Whether the claim stands still for it.
    is_stopped: bool
    # Whether nothing is done after the answer, and until when, if that is known.
    is_resting: bool
    rests_until: date | None
    opened_on: date
    answer_on: date
    # What was said and answered, where the session may see it.
    reason: ShownReason | None
    message: str | None
    resolution: str | None
    file_names: Sequence[str]
    # What was written of it and not sent, where the session may see it.
    unsent: Sequence[str]
    # Files that were chosen for it and not sent, for who may change it.
    kept_files: Sequence[str]
    is_stale: bool
    currency: str
    # The part that can be paid while the rest is looked into.
    undisputed_cents: int | None
    # Whether the session may change it.
    is_theirs: bool
    can_withdraw: bool
    most_files: int
    refusals: Sequence[FileRefusal]


class DisputeWithdrawPage(Page, frozen=True):
    template: ClassVar[str] = "dispute_withdraw.html"

    dispute_id: UUID
    case_number: str
    # The name of a reason that is not the contract's.
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
        most_files=MAX_FILES_AT_ONCE,
        form_id=state.form_id,
        typed=draft.fields,
        files=draft.files,
        revision=draft.revision,
        others=draft.others,
        has_conflict=state.overtaking is not None,
        is_stale=state.is_stale,
        faults=state.faults,
        refusals=state.refusals,
    )


def describe_dispute(
    opened: OpenedClaim, found: DisputeWithFiles, undisputed_cents: int | None,
    refusals: Sequence[FileRefusal] = (), *, is_stale: bool = False,
) -> SentDisputePage:  # fmt: skip
    """undisputed_cents: that can be paid now, if the session may see it. is_stale: files came in a
    form of another session, and are kept."""
    dispute, configuration = found.dispute, opened.merchant.configuration
    shows_content = opened.session.level.reaches(Level.FACT)
    days, timezone = configuration.disputes.answer_within_days, configuration.timezone
    # A reason that is built in has words on the page, in the debtor's language.
    label = None if dispute.reason in BUILT_IN_REASONS else dispute.label
    reason = ShownReason(dispute.reason or dispute.type, dispute.type, label)
    return SentDisputePage(
        dispute_id=dispute.dispute_id,
        case_number=render_case_number(dispute.dispute_id),
        state=dispute.state,
        ended_claim=dispute.ended_claim,
        is_stopped=dispute.state is DisputeState.OPEN and can_dispute(opened.facts),
        is_resting=_is_resting(dispute, opened),
        rests_until=_find_rest(dispute, opened),
        opened_on=get_local_day(dispute.opened_at, timezone),
        answer_on=compute_answer_day(dispute.opened_at, days, timezone),
        reason=reason if shows_content else None,
        message=dispute.message if shows_content else None,
        resolution=dispute.resolution if shows_content else None,
        file_names=[each.name for each in found.files] if shows_content else (),
        unsent=[*(found.unsent or {}).values()] if shows_content else (),
        kept_files=found.kept_files if _takes_files(dispute, opened.session) else (),
        is_stale=is_stale,
        currency=opened.facts.currency,
        undisputed_cents=undisputed_cents if shows_content else None,
        is_theirs=is_theirs(dispute, opened.session),
        can_withdraw=can_withdraw(dispute),
        most_files=MAX_FILES_AT_ONCE,
        refusals=refusals,
    )


def _is_resting(dispute: ClaimDispute, opened: OpenedClaim) -> bool:
    is_held = any(hold.hold_id == dispute.hold_id for hold in opened.facts.holds)
    return is_held and dispute.state in (DisputeState.ACCEPTED, DisputeState.REJECTED)


def _find_rest(dispute: ClaimDispute, opened: OpenedClaim) -> date | None:
    """The last day of its hold."""
    ends = [
        hold.until for hold in opened.facts.holds if hold.hold_id == dispute.hold_id and hold.until
    ]
    return get_local_day(ends[0], opened.merchant.configuration.timezone) if ends else None


def can_withdraw(dispute: ClaimDispute) -> bool:
    """What the merchant recorded is the merchant's to answer."""
    return dispute.state is DisputeState.OPEN and dispute.actor_kind is ActorKind.DEBTOR


def _takes_files(dispute: ClaimDispute, session: Session) -> bool:
    return dispute.state is DisputeState.OPEN and is_theirs(dispute, session)


def is_theirs(dispute: ClaimDispute, session: Session) -> bool:
    """Whether a session may change it: a link alone changes only what it has opened itself."""
    if session.level.reaches(Level.FACT):
        return True
    is_debtors = dispute.actor_kind is ActorKind.DEBTOR
    return is_debtors and dispute.actor_id == str(session.session_id)
