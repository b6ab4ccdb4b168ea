"""Why a step runs on a day and not on the one it was due on: in codes, for people's words. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from dunwell.contact.escalation.calendars import Calendar
from dunwell.contact.messages.guards.guards import HeldBy
from dunwell.core.workflows.definition import WaitStep

# HOLIDAY, NO_WEEKDAY: a day is passed over. BEFORE_HOURS, AFTER_HOURS: the hours of contact of a
# day have not begun, or are over. LETTER_ON_ITS_WAY: a wait begins on the day on which a letter can
# have arrived. The others: what guards of the person or of the merchant do.
Code = Literal[
    "HOLIDAY", "NO_WEEKDAY", "BEFORE_HOURS", "AFTER_HOURS",
    "QUIET_HOURS", "GUARD_DAY", "GUARD_WEEK", "CONTACT_HOURS", "LETTER_ON_ITS_WAY",
    # No forecast has it: it is known only when a contact is about to be sent.
    "PERSON_DIED",
]  # fmt: skip
_ONE_DAY = timedelta(days=1)
# A guard of a week passes over no more days; of more, what is told would be no reason any more.
_MOST_DAYS = 31


@dataclass(frozen=True, slots=True)
class DayReason:
    """`day`: the one it is about."""

    code: Code
    day: date


def explain_put_off(calendar: Calendar, due_at: datetime, at: datetime) -> Iterator[DayReason]:
    """What the calendar says of a contact that was due at one instant and is made at another. What
    guards say is told by themselves."""
    if calendar.next_opening(due_at) == due_at:
        return
    day, last = calendar.local_date(due_at), calendar.local_date(at)
    if calendar.is_business_day(day):
        yield DayReason("BEFORE_HOURS" if day == last else "AFTER_HOURS", day)
        day += _ONE_DAY
    yield from _list_passed(calendar, day, last)


def explain_wait(calendar: Calendar, step: WaitStep, since: datetime) -> Iterator[DayReason]:
    """The holidays that a wait of business days does not count. (Every week has its days off.)"""
    if step.business_days is None:
        return
    end = calendar.local_date(calendar.end_of_wait(step, since))
    day = calendar.local_date(since) + _ONE_DAY
    for reason in _list_passed(calendar, day, end):
        if reason.code == "HOLIDAY":
            yield reason


def explain_guard(held_by: HeldBy, day: date) -> DayReason:
    return DayReason(held_by.value, day)


def _list_passed(calendar: Calendar, day: date, last: date) -> Iterator[DayReason]:
    """Days before the last one on which nobody is contacted, each with why."""
    for _ in range(_MOST_DAYS):
        if day >= last:
            return
        if day.weekday() not in calendar.weekdays:
            yield DayReason("NO_WEEKDAY", day)
        elif day in calendar.holidays:
            yield DayReason("HOLIDAY", day)
        day += _ONE_DAY
