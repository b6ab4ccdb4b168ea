"""What becomes of a notice: before its channel is called, and by what the channel answers.

answer       notice
Accepted     ACCEPTED
Temporary    PLANNED again after a growing pause, as long as it is worth sending; then FAILED
Permanent    FAILED
Unanswered   HANDED_OVER as before, and called again, by a repeatable channel; else UNKNOWN: it may
             have left, so it is not sent a second time. Its reader asks for another one. Pure.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from dunwell.contact.sending.channel import Accepted, Outcome, Permanent, Temporary, Unanswered

State = Literal["PLANNED", "HANDED_OVER", "ACCEPTED", "FAILED", "UNKNOWN"]
TOO_LATE = "not taken in time"
_FIRST_PAUSE = timedelta(seconds=5)
_LONGEST_PAUSE = timedelta(minutes=10)


@dataclass(frozen=True, slots=True)
class Settlement:
    state: State
    # When it is due again; none: it is settled.
    due_at: datetime | None = None
    failure: str | None = None


@dataclass(frozen=True, slots=True)
class Standing:
    """A notice that has fallen due."""

    # It was given to the channel before, and nobody knows what became of that.
    was_handed_over: bool
    is_suppressed: bool
    # Of the channel's adapter; none: the merchant has none for it.
    is_repeatable: bool | None
    expires_at: datetime


def decide_no_call(standing: Standing, now: datetime) -> Settlement | None:
    """Why the channel is not called; none: it is."""
    reason = _find_obstacle(standing, now)
    if standing.was_handed_over:
        return Settlement("UNKNOWN") if reason or not standing.is_repeatable else None
    return Settlement("FAILED", failure=reason) if reason else None


def decide_settlement(
    answer: Outcome | Unanswered, *, tries: int, expires_at: datetime, now: datetime
) -> Settlement:
    """tries: with the one that was answered."""
    if isinstance(answer, Accepted):
        return Settlement("ACCEPTED")
    if isinstance(answer, Permanent):
        return Settlement("FAILED", failure=answer.reason)
    asked = answer.retry_after_seconds if isinstance(answer, Temporary) else 0
    due_at = now + max(_pause(tries), timedelta(seconds=asked))
    if isinstance(answer, Temporary):
        if due_at < expires_at:
            return Settlement("PLANNED", due_at)
        return Settlement("FAILED", failure=TOO_LATE)
    if answer.is_repeatable and due_at < expires_at:
        return Settlement("HANDED_OVER", due_at)
    return Settlement("UNKNOWN")


def _find_obstacle(standing: Standing, now: datetime) -> str | None:
    if standing.is_repeatable is None:
        return "the merchant has no such channel"
    if standing.is_suppressed:
        return "suppressed"
    return TOO_LATE if standing.expires_at <= now else None


def _pause(tries: int) -> timedelta:
    """Doubling from five seconds to ten minutes."""
    doublings = min(tries - 1, 10)
    return min(_FIRST_PAUSE * (1 << doublings), _LONGEST_PAUSE)
