"""The limits of wrong attempts. Five wrong answers or six-digit codes lock a claim for half an
hour, and fifteen in a day lock it until a new link is requested.

Wrong answers are counted over all links of a claim, so that several links do not give more
attempts. Wrong letter codes delay the visitor's next attempt. Pure.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

MAX_FAILURES = 5
# Wrong attempts count together for this long after the first.
WINDOW = timedelta(minutes=15)
LOCKED_FOR = timedelta(minutes=30)
MAX_FAILURES_PER_DAY = 15
DAY = timedelta(days=1)
# The delay doubles from one second with each wrong letter code.
MAX_DELAY_SECONDS = 10


@dataclass(frozen=True, slots=True)
class WrongAttempt:
    """The code or the proof was wrong."""


@dataclass(frozen=True, slots=True)
class Locked:
    """There were too many wrong attempts; this one was not checked."""

    # None if a new link has to be requested.
    retry_after_seconds: int | None


@dataclass(frozen=True, slots=True)
class Delayed:
    """A letter code was wrong a moment ago; this one was not checked."""

    retry_after_seconds: int


@dataclass(frozen=True, slots=True)
class ProofAttempts:
    """The wrong proofs and six-digit codes that were entered for a claim. Times are real time."""

    failures: int
    first_at: datetime
    locked_until: datetime | None = None
    # Failures in the day that began with the first one. A correct answer does not reset them.
    day_failures: int = 0
    day_first_at: datetime | None = None


def decide_lock(attempts: ProofAttempts, now: datetime) -> Locked | None:
    """Return the lock that is in force, or None."""
    if attempts.day_failures >= MAX_FAILURES_PER_DAY:
        return Locked(None)
    if attempts.locked_until is None or attempts.locked_until <= now:
        return None
    return Locked(compute_wait_seconds(attempts.locked_until - now))


def add_failure(attempts: ProofAttempts, now: datetime) -> ProofAttempts:
    """Return the attempts with one more failure, which may cause a lock. Failures before a lock or
    outside the window no longer count."""
    day_failures, day_first_at = attempts.day_failures + 1, attempts.day_first_at
    if day_first_at is None or day_first_at + DAY <= now:
        day_failures, day_first_at = 1, now
    if (
        attempts.failures == 0
        or attempts.locked_until is not None
        or attempts.first_at + WINDOW <= now
    ):
        return ProofAttempts(
            1, now, locked_until=None, day_failures=day_failures, day_first_at=day_first_at
        )
    failures = attempts.failures + 1
    until = now + LOCKED_FOR if failures >= MAX_FAILURES else None
    return ProofAttempts(
        failures,
        attempts.first_at,
        locked_until=until,
        day_failures=day_failures,
        day_first_at=day_first_at,
    )


def clear_failures(attempts: ProofAttempts, now: datetime) -> ProofAttempts:
    """Reset the failures, but not those of the day, so that one correct answer does not give more
    attempts at another proof."""
    return ProofAttempts(
        0,
        now,
        locked_until=None,
        day_failures=attempts.day_failures,
        day_first_at=attempts.day_first_at,
    )


def compute_delay(wrong_codes: int, last_at: datetime, now: datetime) -> Delayed | None:
    """Compute the delay after this many wrong letter codes, the last of them at `last_at`."""
    seconds = min(MAX_DELAY_SECONDS, 2 ** min(wrong_codes - 1, 4))
    left = last_at + timedelta(seconds=seconds) - now
    return Delayed(compute_wait_seconds(left)) if left > timedelta(0) else None


def compute_wait_seconds(left: timedelta) -> int:
    """Return the seconds to wait, at least one."""
    return max(1, math.ceil(left.total_seconds()))
