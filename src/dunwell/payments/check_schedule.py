"""When a provider is asked again about a request that is not settled, in real time.

A notice usually comes long before; these are for notices that do not. Pure.
"""

from datetime import datetime, timedelta

from dunwell.payments.request_states import EXPIRES_AFTER

# After the hand-off, then after each look; the last one for ever.
GAPS = (
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=15),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(days=1),
)


def decide_next_check(created_at: datetime, checks: int, now: datetime) -> datetime:
    """The next look after so many, at the latest when the request expires."""
    following = now + GAPS[min(checks, len(GAPS) - 1)]
    expires_at = created_at + EXPIRES_AFTER
    return min(following, expires_at) if now < expires_at else following
