"""Drafts of responses to disputes, one for each dispute and shared by all users. A change is
compared with the revision that its writer saw, so that neither of two writers loses text."""

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
from dunwell.operations.claim_status.store import list_user_names
from dunwell.platform.errors import EditConflict, Fault, InvalidState, ValidationError
from dunwell.platform.text.texts import find_unprintable

MAX_ANSWER_LENGTH = 2_000
_CHANGED = "Another user has changed this response."


@dataclass(frozen=True, slots=True)
class DraftedResponse:
    """outcome: "" while it is not decided."""

    outcome: Literal["", "ACCEPTED", "REJECTED"]
    ends_claim: bool
    message: str


@dataclass(frozen=True, slots=True)
class ResponseDraft:
    """revision: 0 if there is no draft."""

    answer: DraftedResponse
    revision: int
    saved_at: datetime | None
    writer: str


NOTHING = ResponseDraft(DraftedResponse("", ends_claim=True, message=""), 0, None, "")


class DisputeAlreadyAnswered(InvalidState):
    """The dispute has been answered, so there is nothing left to respond to."""

    def __init__(self, dispute: ClaimDispute) -> None:
        super().__init__("The dispute was answered already.", state=str(dispute.state))
        self.dispute = dispute


async def load_draft(work: Work, dispute_id: UUID) -> ResponseDraft:
    work.require(Right.READ_CLAIMS)
    row = await load_draft_row(work.tx, work.merchant_id, dispute_id)
    if row is None:
        return NOTHING
    names = await list_user_names(work.tx, {row.actor_id} if row.actor_id else ())
    writer = names.get(row.actor_id or "", row.actor_id or "")
    return ResponseDraft(
        DraftedResponse(row.outcome, row.ends_claim, row.message),
        row.revision,
        row.saved_at,
        writer,
    )


async def save_draft(
    work: Work, claim_id: int, dispute_id: UUID, answer: DraftedResponse, *, expected_revision: int
) -> int:
    """Save a draft and return its new revision. expected_revision: the revision that the writer
    saw. Raises NotFound, ValidationError, DisputeAlreadyAnswered and EditConflict."""
    work.require(Right.ANSWER)
    _check_message(answer.message)
    await _lock_open(work, claim_id, dispute_id)
    stored = await load_draft(work, dispute_id)
    if stored.answer == answer and stored.revision:
        return stored.revision
    if stored.revision != expected_revision:
        raise EditConflict(_CHANGED, current=stored)
    values = (answer.outcome, answer.ends_claim, answer.message)
    writer = (work.actor.kind, work.actor.actor_id)
    revision = await save_draft_row(
        work.tx, work.merchant_id, dispute_id, values, saved_at=work.real_now, writer=writer
    )
    await save_audit(
        work, "answer.save_draft", f"claim:{claim_id}",
        before=_list_values(stored), after=_list_values(ResponseDraft(answer, revision, None,
        "")),
        disputeId=str(dispute_id),
    )  # fmt: skip
    return revision


async def send_answer(
    work: Work, claim_id: int, dispute_id: UUID, *, expected_revision: int
) -> ClaimDispute:
    """Send the draft as the response. expected_revision: the revision that was previewed. Raises
    NotFound, ValidationError (no decision yet), DisputeAlreadyAnswered and EditConflict."""
    work.require(Right.ANSWER)
    await _lock_open(work, claim_id, dispute_id)
    stored = await load_draft(work, dispute_id)
    if stored.revision != expected_revision:
        raise EditConflict(_CHANGED, current=stored)
    resolution = decide_resolution(stored.answer)
    dispute = await resolve_dispute(work, claim_id, dispute_id, resolution)
    await save_audit(
        work, "answer.send", f"claim:{claim_id}",
        before=_list_values(stored), after=_list_values(NOTHING), disputeId=str(dispute_id),
    )  # fmt: skip
    return dispute


def _list_values(draft: ResponseDraft) -> dict[str, Any]:
    """Return the draft's values for the audit log. The message is the writer's own text."""
    answer = draft.answer
    return {
        "draft": draft.revision, "outcome": answer.outcome or None,
        "endsClaim": answer.ends_claim, "message": MASKED if answer.message else None,
    }  # fmt: skip


def decide_resolution(answer: DraftedResponse) -> DisputeResolution:
    """Return the resolution. Raises ValidationError if there is no decision yet."""
    outcomes: dict[str, ResolutionOutcome] = {
        "ACCEPTED": DisputeState.ACCEPTED,
        "REJECTED": DisputeState.REJECTED,
    }
    if answer.outcome not in outcomes:
        raise ValidationError([Fault("/outcome", "Accept or reject it.", "REQUIRED")])
    outcome = outcomes[answer.outcome]
    ends_claim = answer.ends_claim if outcome is DisputeState.ACCEPTED else None
    return DisputeResolution(outcome, ends_claim, answer.message or None)


async def _lock_open(work: Work, claim_id: int, dispute_id: UUID) -> None:
    _, dispute = await lock_dispute(work, claim_id, dispute_id)
    if dispute.state is not DisputeState.OPEN:
        raise DisputeAlreadyAnswered(dispute)


def _check_message(message: str) -> None:
    faults = list(find_unprintable(message, ("message",)))
    if len(message) > MAX_ANSWER_LENGTH:
        text = f"Use at most {MAX_ANSWER_LENGTH} characters."
        faults.append(Fault("/message", text, "TOO_LONG"))
    if faults:
        raise ValidationError(faults)
