"""How often a person may be contacted, over all claims of a merchant.

A person is known by several identities: an e-mail address, a phone number, a customer number. Each
identity stores the days on which it was contacted, in the merchant's time zone. A contact is
allowed if each of the person's identities has room on that day and in every period of seven days
around it; the day is then added to all of them. A contact that is held back gets the first day with
room. Pure.
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
# One day more than a week, so that the days are complete even if the clock is set back past
# midnight.
_KEEP_DAYS_FOR = timedelta(days=8)

# The days on which an identity was contacted; a day occurs once for each contact.
ContactDays = Sequence[date]


class HoldReason(StrEnum):
    """The reason why a planned contact is held back."""

    GUARD_DAY = "GUARD_DAY"
    GUARD_WEEK = "GUARD_WEEK"
    QUIET_HOURS = "QUIET_HOURS"
    CONTACT_HOURS = "CONTACT_HOURS"
    # The person is reported dead (see `contact.messages.suppression`).
    PERSON_DIED = "PERSON_DIED"


@dataclass(frozen=True, slots=True)
class ContactHold:
    """A contact that is not sent before an instant. `held_by` is None if none of the reasons
    applies: after a fault, after a change of the claim, or while a bank statement is missing."""

    not_before: datetime
    held_by: HoldReason | None = None


@dataclass(frozen=True, slots=True)
class GuardCandidate:
    contact_id: UUID
    identities: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class GuardHold:
    held_by: HoldReason
    # The first day with room.
    until: date


@dataclass(frozen=True, slots=True)
class UpdatedGuard:
    """The new contact days of an identity, and the limits that they respect."""

    identity: bytes
    days: tuple[date, ...]
    per_day: int
    per_week: int
    # True if the identity has no guard row yet.
    is_new: bool


@dataclass(frozen=True, slots=True)
class GuardVerdict:
    passed: tuple[GuardCandidate, ...]
    held: Mapping[UUID, GuardHold]
    # The guards that count the passed contacts, ordered by identity.
    updated_guards: tuple[UpdatedGuard, ...]


def decide_contacts(
    candidates: Iterable[GuardCandidate],
    contacted_on: Mapping[bytes, ContactDays],
    guards: Guards,
    today: date,
) -> GuardVerdict:
    """Decide who may be contacted today; earlier candidates have priority.

    `contacted_on` has the contact days of every identity that has a guard row.
    """
    days: dict[bytes, list[date]] = {}
    passed, held_back = [], []
    for each in candidates:
        days_before = [days.get(i) or contacted_on.get(i, ()) for i in each.identities]
        # Most identities were not contacted recently.
        if any(days_before) and not all(
            has_room(each_days, guards, today) for each_days in days_before
        ):
            held_back.append(each)
            continue
        passed.append(each)
        for identity, before in zip(each.identities, days_before, strict=True):
            days[identity] = [*before, today]
    held = {
        each.contact_id: _decide_hold(
            [days.get(i) or contacted_on.get(i, ()) for i in each.identities], guards, today
        )
        for each in held_back
    }
    updated_guards = [_update_guard(i, contacted_on.get(i), days[i], guards) for i in sorted(days)]
    return GuardVerdict(tuple(passed), held, tuple(updated_guards))


def has_room(days: ContactDays, guards: Guards, day: date) -> bool:
    """Return whether one more contact on that day respects both limits."""
    if not days:
        return True
    return _has_room_on(days, guards, day) and _has_room_around(days, guards, day)


def compute_first_free_day(identities: Sequence[ContactDays], guards: Guards, after: date) -> date:
    """Return the first day after the given one on which all identities have room."""
    day = after + _ONE_DAY
    while not all(has_room(days, guards, day) for days in identities):
        day += _ONE_DAY
    return day


def remove_contact_day(days: ContactDays, day: date) -> list[date]:
    """Return the days without one contact on `day`, or unchanged if there is none."""
    left = list(days)
    if day in left:
        left.remove(day)
    return left


def _has_room_on(days: ContactDays, guards: Guards, day: date) -> bool:
    return sum(other == day for other in days) < guards.max_contacts_per_day


def _has_room_around(days: ContactDays, guards: Guards, day: date) -> bool:
    """Return whether every period of seven days that includes `day` has room. Later days occur if a
    clock was set back or another worker is already past midnight."""
    ends = {day, *(other for other in days if day < other < day + _WEEK)}
    return all(
        sum(end - _WEEK < other <= end for other in days) < guards.max_contacts_per_week
        for end in ends
    )


def _decide_hold(identities: Sequence[ContactDays], guards: Guards, today: date) -> GuardHold:
    """Return the hold of a contact. If both limits are reached, the reason is the weekly one,
    because it holds the contact longer."""
    has_week = all(_has_room_around(days, guards, today) for days in identities)
    held_by = HoldReason.GUARD_DAY if has_week else HoldReason.GUARD_WEEK
    return GuardHold(held_by, compute_first_free_day(identities, guards, today))


def _update_guard(
    identity: bytes, before: ContactDays | None, days: ContactDays, guards: Guards
) -> UpdatedGuard:
    """Return the new guard row without days that no longer matter. If a limit was lowered in the
    meantime, the row keeps the limits that earlier contacts respected."""
    per_day, per_week = guards.max_contacts_per_day, guards.max_contacts_per_week
    if not before:
        return UpdatedGuard(
            identity=identity,
            days=tuple(days),
            per_day=per_day,
            per_week=per_week,
            is_new=before is None,
        )
    oldest = max(days) - _KEEP_DAYS_FOR
    old = [day for day in before if day > oldest]
    per_day = max([per_day, *Counter(old).values()])
    weeks = (sum(end - _WEEK < day <= end for day in old) for end in set(old))
    per_week = max([per_week, *weeks])
    kept = tuple(sorted(day for day in days if day > oldest))
    return UpdatedGuard(identity, kept, per_day, per_week, is_new=False)
