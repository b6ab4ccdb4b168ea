"""Drafts of responses to disputes, one for each dispute and shared by all users. A change names
the revision that its writer saw, so that no writer overwrites the text of another."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import MASKED, save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.disputes.answer_dispute import (
    DisputeResolution,
    ResolutionOutcome,
    lock_dispute,
    resolve_dispute,
)
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState
from dunwell.interfaces.portal.disputes.store import load_draft_row, save_draft_row
from dunwell.operations.claim_status.store import load_user_names
from dunwell.platform.errors import EditConflict, Fault, InvalidState, ValidationError
from dunwell.platform.text.texts import find_unprintable

MAX_MESSAGE_LENGTH = 2_000
_CHANGED = "Another user has changed this response."


@dataclass(frozen=True, slots=True)
class ResponseContent:
    """The decision and the message of a response. `outcome` is "" until a decision is made."""

    outcome: Literal["", "ACCEPTED", "REJECTED"]
    ends_claim: bool
    message: str


@dataclass(frozen=True, slots=True)
class ResponseDraft:
    """`revision` is 0 if there is no draft."""

    content: ResponseContent
    revision: int
    saved_at: datetime | None
    writer: str


NO_DRAFT = ResponseDraft(ResponseContent("", ends_claim=True, message=""), 0, None, "")


class DisputeAlreadyAnswered(InvalidState):
    """The dispute has been answered, so there is nothing left to respond to."""

    def __init__(self, dispute: ClaimDispute) -> None:
        super().__init__("The dispute was answered already.", state=str(dispute.state))
        self.dispute = dispute


async def load_draft(work: Work, dispute_id: UUID) -> ResponseDraft:
    work.require(Right.READ_CLAIMS)
    row = await load_draft_row(work.tx, work.merchant_id, dispute_id)
    if row is None:
        return NO_DRAFT
    names = await load_user_names(work.tx, {row.actor_id} if row.actor_id else ())
    writer = names.get(row.actor_id or "", row.actor_id or "")
    return ResponseDraft(
        ResponseContent(row.outcome, row.ends_claim, row.message),
        row.revision,
        row.saved_at,
        writer,
    )


async def save_draft(
    work: Work, claim_id: int, dispute_id: UUID, content: ResponseContent, *, expected_revision: int
) -> int:
    """Save a draft and return its new revision. `expected_revision` is the revision that the
    writer saw. Raises NotFound, ValidationError, DisputeAlreadyAnswered and EditConflict."""
    work.require(Right.ANSWER)
    _check_message(content.message)
    await _lock_open_dispute(work, claim_id, dispute_id)
    draft = await load_draft(work, dispute_id)
    if draft.content == content and draft.revision:
        return draft.revision
    if draft.revision != expected_revision:
        raise EditConflict(_CHANGED, current=draft)
    values = (content.outcome, content.ends_claim, content.message)
    writer = (work.actor.kind, work.actor.actor_id)
    revision = await save_draft_row(
        work.tx, work.merchant_id, dispute_id, values, saved_at=work.real_now, writer=writer
    )
    await save_audit(
        work, "answer.save_draft", f"claim:{claim_id}",
        before=_list_values(draft), after=_list_values(ResponseDraft(content, revision, None, "")),
        disputeId=str(dispute_id),
    )  # fmt: skip
    return revision


async def send_response(
    work: Work, claim_id: int, dispute_id: UUID, *, expected_revision: int
) -> ClaimDispute:
    """Send the draft as the response. `expected_revision` is the revision that was previewed.
    Raises NotFound, ValidationError (no decision yet), DisputeAlreadyAnswered and EditConflict."""
    work.require(Right.ANSWER)
    await _lock_open_dispute(work, claim_id, dispute_id)
    draft = await load_draft(work, dispute_id)
    if draft.revision != expected_revision:
        raise EditConflict(_CHANGED, current=draft)
    resolution = decide_resolution(draft.content)
    dispute = await resolve_dispute(work, claim_id, dispute_id, resolution)
    await save_audit(
        work, "answer.send", f"claim:{claim_id}",
        before=_list_values(draft), after=_list_values(NO_DRAFT), disputeId=str(dispute_id),
    )  # fmt: skip
    return dispute


def _list_values(draft: ResponseDraft) -> dict[str, Any]:
    """Return the draft's values for the audit log. The message is masked, because it is the
    writer's own text."""
    content = draft.content
    return {
        "draft": draft.revision, "outcome": content.outcome or None,
        "endsClaim": content.ends_claim, "message": MASKED if content.message else None,
    }  # fmt: skip


def decide_resolution(content: ResponseContent) -> DisputeResolution:
    """Return the resolution. Raises ValidationError if there is no decision yet."""
    outcomes: dict[str, ResolutionOutcome] = {
        "ACCEPTED": DisputeState.ACCEPTED,
        "REJECTED": DisputeState.REJECTED,
    }
    if content.outcome not in outcomes:
        raise ValidationError([Fault("/outcome", "Accept or reject it.", "REQUIRED")])
    outcome = outcomes[content.outcome]
    ends_claim = content.ends_claim if outcome is DisputeState.ACCEPTED else None
    return DisputeResolution(outcome, ends_claim, content.message or None)


async def _lock_open_dispute(work: Work, claim_id: int, dispute_id: UUID) -> None:
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.state is not DisputeState.OPEN:
        raise DisputeAlreadyAnswered(dispute)


def _check_message(message: str) -> None:
    faults = list(find_unprintable(message, ("message",)))
    if len(message) > MAX_MESSAGE_LENGTH:
        text = f"Use at most {MAX_MESSAGE_LENGTH} characters."
        faults.append(Fault("/message", text, "TOO_LONG"))
    if faults:
        raise ValidationError(faults)
