"""How often a person is contacted at most, over all claims of a merchant (CONTRACT 13).

A person is known by several identities: an e-mail address, a number, a customer number. Each has
the days it was contacted on, in the merchant's zone. A contact passes when every one of its
identities has room on that day and in each seven days around it; then the day counts for them all.
What is held back is told the first day on which there is room again. Pure.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.accounts.merchants.configuration import Guards

_ONE_DAY = timedelta(days=1)
_WEEK = timedelta(days=7)
# One day more than the week: a clock set back over midnight still finds the days it needs.
_KEPT = timedelta(days=8)

Days = Sequence[date]


class HeldBy(StrEnum):
    """What keeps a planned contact back."""

    GUARD_DAY = "GUARD_DAY"
    GUARD_WEEK = "GUARD_WEEK"
    QUIET_HOURS = "QUIET_HOURS"
    CONTACT_HOURS = "CONTACT_HOURS"
    # Somebody has said that the person has died (`contact.messages.suppression`).
    PERSON_DIED = "PERSON_DIED"


@dataclass(frozen=True, slots=True)
class KeptBack:
    """A contact that is not sent before an instant; held by nothing when a fault is the reason."""

    not_before: datetime
    held_by: HeldBy | None = None


@dataclass(frozen=True, slots=True)
class Candidate:
    contact_id: UUID
    identities: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class GuardHold:
    held_by: HeldBy
    # The first day on which there is room.
    until: date


@dataclass(frozen=True, slots=True)
class RaisedGuard:
    """An identity's days with the new contacts', and the limits they keep."""

    identity: bytes
    days: tuple[date, ...]
    per_day: int
    per_week: int
    # Nobody has known it before.
    is_new: bool


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    passed: tuple[Candidate, ...]
    held: Mapping[UUID, GuardHold]
    # In the order of the identities.
    raised: tuple[RaisedGuard, ...]


def decide_contacts(
    candidates: Iterable[Candidate], contacted_on: Mapping[bytes, Days], guards: Guards, today: date
) -> GuardVerdict:
    """Who may be contacted today, the first candidates first.

    `contacted_on` has the days of every identity that is known; others were never contacted.
    """
    days: dict[bytes, list[date]] = {}
    passed, waiting = [], []
    for each in candidates:
        known = [days.get(i) or contacted_on.get(i, ()) for i in each.identities]
        # Most were not contacted of late.
        if any(known) and not all(has_room(one, guards, today) for one in known):
            waiting.append(each)
            continue
        passed.append(each)
        for identity, before in zip(each.identities, known, strict=True):
            days[identity] = [*before, today]
    held = {
        each.contact_id: _decide_hold(
            [days.get(i) or contacted_on.get(i, ()) for i in each.identities], guards, today
        )
        for each in waiting
    }
    raised = [_raise(i, contacted_on.get(i), days[i], guards) for i in sorted(days)]
    return GuardVerdict(tuple(passed), held, tuple(raised))


def has_room(days: Days, guards: Guards, day: date) -> bool:
    """Whether one more contact on that day keeps both limits."""
    if not days:
        return True
    return _has_room_on(days, guards, day) and _has_room_around(days, guards, day)


def find_first_day(identities: Sequence[Days], guards: Guards, after: date) -> date:
    """The first day after the given one on which all identities have room."""
    day = after + _ONE_DAY
    while not all(has_room(days, guards, day) for days in identities):
        day += _ONE_DAY
    return day


def remove_contact_day(days: Days, day: date) -> list[date]:
    """The days without one contact of that day; all of them if it is not there (any more)."""
    left = list(days)
    if day in left:
        left.remove(day)
    return left


def _has_room_on(days: Days, guards: Guards, day: date) -> bool:
    return sum(other == day for other in days) < guards.max_contacts_per_day


def _has_room_around(days: Days, guards: Guards, day: date) -> bool:
    """In each seven days with that day in them. Later days there are when a clock was set back,
    or another dispatcher is past midnight already."""
    ends = {day, *(other for other in days if day < other < day + _WEEK)}
    return all(
        sum(end - _WEEK < other <= end for other in days) < guards.max_contacts_per_week
        for end in ends
    )


def _decide_hold(identities: Sequence[Days], guards: Guards, today: date) -> GuardHold:
    """The week's guard is named when it would hold alone: it holds longer."""
    has_week = all(_has_room_around(days, guards, today) for days in identities)
    held_by = HeldBy.GUARD_DAY if has_week else HeldBy.GUARD_WEEK
    return GuardHold(held_by, find_first_day(identities, guards, today))


def _raise(identity: bytes, before: Days | None, days: Days, guards: Guards) -> RaisedGuard:
    """Days too old to matter are dropped. Limits that were lowered meanwhile rule what is added,
    not what was done before."""
    per_day, per_week = guards.max_contacts_per_day, guards.max_contacts_per_week
    if not before:
        return RaisedGuard(
            identity=identity,
            days=tuple(days),
            per_day=per_day,
            per_week=per_week,
            is_new=before is None,
        )
    oldest = max(days) - _KEPT
    old = [day for day in before if day > oldest]
    per_day = max([per_day, *Counter(old).values()])
    weeks = (sum(end - _WEEK < day <= end for day in old) for end in set(old))
    per_week = max([per_week, *weeks])
    kept = tuple(sorted(day for day in days if day > oldest))
    return RaisedGuard(identity, kept, per_day, per_week, is_new=False)
