"""What a channel's answer means for the contact and the claim (CONTRACT 13).

answer     contact    the claim
Accepted   ACCEPTED   goes on at the next step, now
Temporary  PLANNED    waits; tried again after a growing pause, at most MAX_TRIES times
Permanent  FAILED     tries the next usable channel of the step, or goes on: nobody reachable

A contact whose step requires an attachment that did not come in time has failed without a channel
being asked, and without fallback: the process goes on. So it does behind a contact that a
standstill of the service has made too late. Pure.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.escalation.schedule import ContactPlanned, SkipReason, Tried, find_channel
from dunwell.merchants.configuration import Channel
from dunwell.sending.channel import Accepted, Outcome, Temporary, Unanswered
from dunwell.workflows.definition import CommunicationStep

MAX_TRIES = 12
ATTACHMENT_MISSING = "ATTACHMENT_MISSING"
_FIRST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=6)


@dataclass(frozen=True, slots=True)
class Settled:
    """The contact was made; with the channel's own words of it."""

    answer: str | None = None


@dataclass(frozen=True, slots=True)
class TryAgain:
    at: datetime


@dataclass(frozen=True, slots=True)
class FallBack:
    """This channel refused for good; the next one is planned."""

    following: ContactPlanned
    reason: str


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No channel of the step is left."""

    reason: str


@dataclass(frozen=True, slots=True)
class CallAgain:
    """No answer, and the channel takes one message for one id however often it is called."""

    after: timedelta


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer, and the message may have left; never sent again by itself."""


Settlement = Settled | TryAgain | FallBack | GiveUp | CallAgain | Unknown


@dataclass(frozen=True, slots=True)
class WithoutAttachment:
    """The attachment the step requires did not come in time; no channel was asked."""


@dataclass(frozen=True, slots=True)
class MissedInStandstill:
    """It is later than the process's late policy allows; no channel was asked."""


Answer = Outcome | Unanswered | WithoutAttachment | MissedInStandstill


@dataclass(frozen=True, slots=True)
class Attempt:
    """A contact whose channel answered; tries count this one."""

    # None: taken out of its scenario meanwhile.
    step: CommunicationStep | None
    tries: int
    usable_channels: Collection[Channel]
    # What the step has tried, this contact included.
    tried: Tried


def decide_settlement(attempt: Attempt, answer: Answer, now: datetime) -> Settlement:
    if isinstance(answer, Accepted):
        return Settled(answer.answer)
    if isinstance(answer, WithoutAttachment | MissedInStandstill):
        is_late = isinstance(answer, MissedInStandstill)
        return GiveUp(SkipReason.TOO_LATE if is_late else ATTACHMENT_MISSING)
    if isinstance(answer, Unanswered):
        if not answer.is_repeatable or attempt.tries >= MAX_TRIES:
            return Unknown()
        return CallAgain(_pause(attempt.tries, None))
    if isinstance(answer, Temporary):
        if attempt.tries < MAX_TRIES:
            return TryAgain(now + _pause(attempt.tries, answer.retry_after_seconds))
        reason = f"not taken in {MAX_TRIES} tries"
    else:
        reason = answer.reason
    following = None
    if attempt.step is not None:
        following = find_channel(attempt.step, attempt.usable_channels, attempt.tried)
    return FallBack(following, reason) if following else GiveUp(reason)


def _pause(tries: int, asked_seconds: float | None) -> timedelta:
    """Doubling from 30 seconds to six hours; longer if the channel asks for it."""
    pause = min(_FIRST_PAUSE * float(2 ** (tries - 1)), _LONGEST_PAUSE)
    return max(pause, timedelta(seconds=asked_seconds or 0))
