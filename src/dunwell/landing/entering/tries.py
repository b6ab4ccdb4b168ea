"""How often a known fact may be typed wrong: five times, then not for half an hour.

Counted for a claim over all its links, so that whoever holds several has no more tries. Pure.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta

MOST_WRONG = 5
# Wrong ones count together when they are no further apart.
WINDOW = timedelta(minutes=15)
LOCKED_FOR = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Wrong:
    """It did not fit."""


@dataclass(frozen=True, slots=True)
class Locked:
    """Too many were wrong; what was typed was not looked at."""

    retry_after_seconds: int


@dataclass(frozen=True, slots=True)
class Tries:
    """Wrong facts of a claim. Real time."""

    failures: int
    first_at: datetime
    locked_until: datetime | None = None


def decide_lock(tries: Tries, now: datetime) -> Locked | None:
    if tries.locked_until is None or tries.locked_until <= now:
        return None
    return Locked(lock_for(tries.locked_until - now))


def count_wrong(tries: Tries, now: datetime) -> Tries:
    """The tries with one more, which may be the last; those from before a lock or from long ago
    count no more."""
    if tries.failures == 0 or tries.locked_until is not None or tries.first_at + WINDOW <= now:
        return Tries(1, now)
    failures = tries.failures + 1
    return Tries(failures, tries.first_at, now + LOCKED_FOR if failures >= MOST_WRONG else None)


def lock_for(left: timedelta) -> int:
    """Seconds to wait, at least one."""
    return max(1, math.ceil(left.total_seconds()))
