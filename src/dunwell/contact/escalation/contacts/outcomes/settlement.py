"""Decide what the answer of a channel, or a failure reported later, means for the contact and its
claim. Pure."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.prepared_workflow import PreparedWorkflow
from dunwell.contact.escalation.schedule import (
    ContactPlanned,
    SkipReason,
    TriedChannels,
    WorkflowPosition,
    find_next_contact,
)
from dunwell.contact.sending.channel import Accepted, ChannelAnswer, Temporary, Unanswered, Uncalled
from dunwell.core.workflows.definition import ContactStep, WaitStep

# With the delays below, an unavailable channel is retried for about 17 hours, so that it may
# recover overnight.
MAX_ATTEMPTS = 15
ATTACHMENT_MISSING = "ATTACHMENT_MISSING"
# Most outages last seconds; a server restart takes no longer.
_FIRST_DELAY = timedelta(seconds=5)
_MAX_DELAY = timedelta(hours=6)
_MAX_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class ContactAccepted:
    """The channel accepted the message, with the provider's answer if it gave one."""

    answer: str | None = None


@dataclass(frozen=True, slots=True)
class RetryContact:
    at: datetime
    # The provider's reason for this failure; empty if it gave none.
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UndoHandOver:
    """The channel was not called. The contact returns to its state before the hand-over.

    The attributes are those of RetryContact, so that one pattern matches both.
    """

    at: None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class UseFallback:
    """The channel refused the message permanently. The contact of the next channel is planned."""

    following: ContactPlanned
    reason: str


@dataclass(frozen=True, slots=True)
class FailContact:
    """The step has no channel left."""

    reason: str


@dataclass(frozen=True, slots=True)
class RepeatCall:
    """The channel did not answer and can be called again: it sends one message per id, however
    often it is called."""

    after: timedelta


@dataclass(frozen=True, slots=True)
class OutcomeUnknown:
    """The channel did not answer and the message may have been sent. It is never sent again
    automatically."""


ContactSettlement = (
    ContactAccepted
    | RetryContact
    | UndoHandOver
    | UseFallback
    | FailContact
    | RepeatCall
    | OutcomeUnknown
)


@dataclass(frozen=True, slots=True)
class AttachmentMissing:
    """The attachment that the step requires was not added in time. No channel was called."""


@dataclass(frozen=True, slots=True)
class ContactTooLate:
    """The contact is older than the workflow's late policy allows. No channel was called."""


ContactAnswer = ChannelAnswer | AttachmentMissing | ContactTooLate


@dataclass(frozen=True, slots=True)
class ContactAttempt:
    """The facts about an attempt that decide what its answer means. `attempts` includes this
    attempt."""

    # None if the step was removed from its scenario in the meantime.
    step: ContactStep | None
    attempts: int
    usable_channels: Collection[Channel]
    # The channels that the step has tried, this contact included.
    tried: TriedChannels
    # From 0 to 1 and different for each contact, so that contacts that failed together are not all
    # retried together.
    spread: float = 0.0


def decide_settlement(
    attempt: ContactAttempt, answer: ContactAnswer, now: datetime
) -> ContactSettlement:
    """Decide what an answer means for the contact. After a permanent refusal, or after
    MAX_ATTEMPTS temporary ones, the next usable channel of the step is used."""
    if isinstance(answer, Accepted | Uncalled):
        return ContactAccepted(answer.answer) if isinstance(answer, Accepted) else UndoHandOver()
    if isinstance(answer, AttachmentMissing | ContactTooLate):
        is_late = isinstance(answer, ContactTooLate)
        return FailContact(SkipReason.TOO_LATE if is_late else ATTACHMENT_MISSING)
    if isinstance(answer, Unanswered):
        if not answer.is_repeatable or attempt.attempts >= MAX_ATTEMPTS:
            return OutcomeUnknown()
        return RepeatCall(_compute_delay(attempt, 0))
    if isinstance(answer, Temporary):
        if attempt.attempts < MAX_ATTEMPTS:
            at = now + _compute_delay(attempt, answer.retry_after_seconds)
            return RetryContact(at, answer.reason)
        reason = f"not accepted in {MAX_ATTEMPTS} attempts"
        reason += f": {answer.reason}" if answer.reason else ""
    else:
        reason = answer.reason
    following = None
    if attempt.step is not None:
        following = find_next_contact(attempt.step, attempt.usable_channels, attempt.tried)
    return UseFallback(following, reason) if following else FailContact(reason)


def _compute_delay(attempt: ContactAttempt, requested_seconds: float) -> timedelta:
    """Return the delay: doubling from 5 seconds to 6 hours, plus up to a quarter of it, or longer
    if the channel asks for it."""
    delay = min(_FIRST_DELAY * float(2 ** (attempt.attempts - 1)), _MAX_DELAY)
    return max(delay * (1 + attempt.spread * _MAX_SPREAD), timedelta(seconds=requested_seconds))


@dataclass(frozen=True, slots=True)
class LateFallback:
    """The fallback contact that follows a failure reported after the message was accepted."""

    following: ContactPlanned
    # The claim's position until the fallback has an outcome; it is not due.
    position: WorkflowPosition


def decide_late_failure(
    workflow: PreparedWorkflow,
    position: WorkflowPosition,
    failed: ContactStep,
    usable_channels: Collection[Channel],
    tried: TriedChannels,
) -> LateFallback | None:
    """Return the fallback contact for a failure reported later. Return None if the workflow
    continues unchanged."""
    if position.due_at is None:
        return None
    following = find_next_contact(failed, usable_channels, tried)
    if following is None:
        return None
    return LateFallback(
        following, WorkflowPosition(_find_resume_step(workflow, position, failed), None)
    )


def _find_resume_step(
    workflow: PreparedWorkflow, position: WorkflowPosition, failed: ContactStep
) -> int | None:
    """Return the id of the step with which the claim continues after the fallback: the WAIT step
    that it is in, which starts again, or the next step if it is in none."""
    index = workflow.index_of(position.next_step_id)
    before = workflow.steps[index - 1] if index > workflow.index_of(failed.id) + 1 else None
    return before.id if isinstance(before, WaitStep) else position.next_step_id
