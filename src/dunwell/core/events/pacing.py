"""How many deliveries an endpoint is given at once, from how it has been answering.

An endpoint begins with few slots, gains one with each success and loses half with each failure, so
that those which hang never hold the places of those which answer. A leased set is sized to what the
endpoint takes in about two seconds, so that no lease runs out while its delivery waits its turn.
Pure.
"""

from dataclasses import dataclass, replace

_SET_SECONDS = 2.0
_FIRST_SLOTS = 2


@dataclass(frozen=True, slots=True)
class Pace:
    """`slots` deliveries in flight at most, `set_size` leased at once."""

    most_slots: int
    largest_set: int
    slots: int
    set_size: int


def start_pace(most_slots: int, largest_set: int, *, is_failing: bool) -> Pace:
    """The pace of an endpoint not delivered to just before."""
    slots = 1 if is_failing else min(_FIRST_SLOTS, most_slots)
    return Pace(most_slots, largest_set, slots, min(most_slots, largest_set))


def after_success(pace: Pace) -> Pace:
    if pace.slots >= pace.most_slots:
        return pace
    return replace(pace, slots=pace.slots + 1)


def after_failure(pace: Pace) -> Pace:
    return replace(pace, slots=max(1, pace.slots // 2))


def after_set(pace: Pace, finished: int, seconds: float) -> Pace:
    """Size the next set by the `finished` deliveries of the last `seconds`."""
    expected = int(finished / max(seconds, 0.001) * _SET_SECONDS)
    return replace(pace, set_size=max(pace.slots, min(expected, pace.largest_set)))
