"""How many requests a process draws at once from a credential's minute.

A credential may send so many requests a minute over all processes. A process draws a block with
one statement and spends it alone; blocks shrink as the minute's quota does, so that little is
stranded in processes that fall idle. Pure.
"""

from datetime import datetime, timedelta

# Of a credential whose merchant file says nothing of it.
REQUESTS_PER_MINUTE = 600
# The first block is a twentieth of the minute's quota, later ones an eighth of what is left.
_FIRST_SHARE = 20
_LATER_SHARE = 8


def decide_block(limit: int, drawn: int | None) -> int:
    """Requests to draw next; `drawn`: what all had drawn when this process last looked, if ever."""
    first = max(1, limit // _FIRST_SHARE)
    if drawn is None:
        return first
    return max(1, min(first, (limit - drawn) // _LATER_SHARE))


def decide_granted(limit: int, block: int, drawn_after: int) -> int:
    """How many of the block just drawn lie within the limit."""
    return max(0, min(block, limit - (drawn_after - block)))


def minute_of(now: datetime) -> datetime:
    return now.replace(second=0, microsecond=0)


def seconds_to_next_minute(now: datetime) -> int:
    """Whole seconds, at least 1, after which the next minute has begun."""
    left = minute_of(now) + timedelta(minutes=1) - now
    return max(1, -(-left // timedelta(seconds=1)))
