"""What a channel's answer, or a failure that is reported later, means for the contact and the claim
(CONTRACT 13). Pure.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.process import Process
from dunwell.contact.escalation.schedule import (
    ContactPlanned,
    SkipReason,
    Tried,
    WorkflowPosition,
    find_channel,
)
from dunwell.contact.sending.channel import Accepted, Temporary, Unanswered, Uncalled
from dunwell.contact.sending.channel import Answer as ChannelAnswer
from dunwell.core.workflows.definition import ContactStep, WaitStep

# With the pauses below, a channel that is away is waited for about 17 hours: a night and a morning.
MAX_TRIES = 15
ATTACHMENT_MISSING = "ATTACHMENT_MISSING"
# Most outages of a server last for seconds; a restart of it takes no longer.
_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(hours=6)
_MOST_SPREAD = 0.25


@dataclass(frozen=True, slots=True)
class Settled:
    """The contact was made; with the channel's own words of it."""

    answer: str | None = None


@dataclass(frozen=True, slots=True)
class TryAgain:
    at: datetime
    # What the channel said of this try; "": nothing.
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TakeBack:
    """The channel was not called: the contact is as it was before it was handed over."""

    at: None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FallBack:
    """This channel refused for good; the next one is planned."""

    following: ContactPlanned
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUpContact:
    """No channel of the step is left."""

    reason: str


@dataclass(frozen=True, slots=True)
class CallAgain:
    """No answer, and the channel takes one message for one id however often it is called."""

    after: timedelta


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer, and the message may have left; never sent again by itself."""


Settlement = Settled | TryAgain | TakeBack | FallBack | GiveUpContact | CallAgain | Unknown


@dataclass(frozen=True, slots=True)
class WithoutAttachment:
    """The attachment the step requires did not come in time; no channel was asked."""


@dataclass(frozen=True, slots=True)
class MissedInStandstill:
    """It is later than the process's late policy allows; no channel was asked."""


Answer = ChannelAnswer | WithoutAttachment | MissedInStandstill


@dataclass(frozen=True, slots=True)
class ContactAttempt:
    """A contact whose channel answered; tries count this one."""

    # None: taken out of its scenario meanwhile.
    step: ContactStep | None
    tries: int
    usable_channels: Collection[Channel]
    # What the step has tried, this contact included.
    tried: Tried
    # From 0 to 1, another one for each contact: what failed together does not come back together.
    spread: float = 0.0


def decide_settlement(attempt: ContactAttempt, answer: Answer, now: datetime) -> Settlement:
    if isinstance(answer, Accepted | Uncalled):
        return Settled(answer.answer) if isinstance(answer, Accepted) else TakeBack()
    if isinstance(answer, WithoutAttachment | MissedInStandstill):
        is_late = isinstance(answer, MissedInStandstill)
        return GiveUpContact(SkipReason.TOO_LATE if is_late else ATTACHMENT_MISSING)
    if isinstance(answer, Unanswered):
        if not answer.is_repeatable or attempt.tries >= MAX_TRIES:
            return Unknown()
        return CallAgain(_compute_pause(attempt, 0))
    if isinstance(answer, Temporary):
        if attempt.tries < MAX_TRIES:
            at = now + _compute_pause(attempt, answer.retry_after_seconds)
            return TryAgain(at, answer.reason)
        reason = f"not taken in {MAX_TRIES} tries"
        reason += f": {answer.reason}" if answer.reason else ""
    else:
        reason = answer.reason
    following = None
    if attempt.step is not None:
        following = find_channel(attempt.step, attempt.usable_channels, attempt.tried)
    return FallBack(following, reason) if following else GiveUpContact(reason)


def _compute_pause(attempt: ContactAttempt, asked_seconds: float) -> timedelta:
    """Doubling from 5 seconds to six hours, and up to a quarter more; longer if the channel asks
    for it."""
    pause = min(_FIRST_PAUSE * float(2 ** (attempt.tries - 1)), _LONGEST_PAUSE)
    return max(pause * (1 + attempt.spread * _MOST_SPREAD), timedelta(seconds=asked_seconds))


@dataclass(frozen=True, slots=True)
class FallBackNow:
    following: ContactPlanned
    # Where the claim stands until the contact is settled: not due.
    position: WorkflowPosition


def decide_late_failure(
    process: Process,
    position: WorkflowPosition,
    failed: ContactStep,
    usable_channels: Collection[Channel],
    tried: Tried,
) -> FallBackNow | None:
    """None: the failure is recorded and the process goes on as it is."""
    if position.due_at is None:
        return None
    following = find_channel(failed, usable_channels, tried)
    if following is None:
        return None
    return FallBackNow(following, WorkflowPosition(_find_place(process, position, failed), None))


def _find_place(process: Process, position: WorkflowPosition, failed: ContactStep) -> int | None:
    """The WAIT the claim is in, which begins anew; else where it stands."""
    index = process.index_of(position.next_step_id)
    before = process.steps[index - 1] if index > process.index_of(failed.id) + 1 else None
    return before.id if isinstance(before, WaitStep) else position.next_step_id
