"""Which rates of a plan its debtor is written to about at an instant, and when to look again.

    a rate that is not paid in full    is told
    three days before its date         that it is due, until its date is over
    the day after its date             that it is missed, until the seven days of grace are over

Both at nine in the morning where the merchant is. A plan agreed after that instant has no reminder
of the rate: it would come late, beside the confirmation. What a clock has jumped over is not made
up for: only what is true at the instant is told. That each is told once is the occasion's key
(`notices.tell_debtor`). Pure.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from dunwell.cases.modalities.modality import Modality, ModalityState, ModalityType
from dunwell.cases.modalities.plans import Instalment
from dunwell.cases.modalities.progress import GRACE
from dunwell.contact.escalation.calendars import Calendar

_BEFORE = timedelta(days=3)
_ONE_DAY = timedelta(days=1)
_MORNING = time(9)


class RateNotice(StrEnum):
    DUE = "DUE"
    MISSED = "MISSED"


@dataclass(frozen=True, slots=True)
class DueNotice:
    kind: RateNotice
    rate: Instalment


@dataclass(frozen=True, slots=True)
class _Window:
    """So long something may be told of a rate; `until` is exclusive."""

    notice: DueNotice
    since: datetime
    until: datetime


def list_due_notices(modality: Modality, now: datetime, timezone: str) -> list[DueNotice]:
    """In the order of their dates. now: the merchant's."""
    windows = _list_windows(modality, timezone)
    return [each.notice for each in windows if each.since <= now < each.until]


def find_next_notice(modality: Modality, now: datetime, timezone: str) -> datetime | None:
    """The first instant after `now` at which there is something new to tell."""
    coming = (each.since for each in _list_windows(modality, timezone) if each.since > now)
    return min(coming, default=None)


def morning_of(day: date, timezone: str) -> datetime:
    """Nine o'clock of a day in a zone."""
    return _open_calendar(timezone).to_instant(datetime.combine(day, _MORNING))


def mend_by(rate: Instalment) -> date:
    """The last day on which it can still be paid and keep its plan."""
    return rate.due_on + GRACE


def _list_windows(modality: Modality, timezone: str) -> Iterator[_Window]:
    """Of a plan in force; the others have none."""
    is_agreed = modality.state is ModalityState.APPROVED and modality.ended_at is None
    if modality.type is not ModalityType.PAYMENT_PLAN or not is_agreed:
        return
    agreed_at = modality.answered_at or modality.requested_at
    calendar = _open_calendar(timezone)
    for rate in modality.schedule:
        if rate.is_paid:
            continue
        reminded_at = morning_of(rate.due_on - _BEFORE, timezone)
        missed_on = rate.due_on + _ONE_DAY
        if reminded_at > agreed_at:
            due = DueNotice(RateNotice.DUE, rate)
            yield _Window(due, reminded_at, calendar.start_of(missed_on))
        missed = DueNotice(RateNotice.MISSED, rate)
        over_at = calendar.start_of(mend_by(rate) + _ONE_DAY)
        yield _Window(missed, morning_of(missed_on, timezone), over_at)


def _open_calendar(timezone: str) -> Calendar:
    return Calendar(
        zone=ZoneInfo(timezone), weekdays=frozenset(), opens=None, closes=None, holidays=frozenset()
    )
