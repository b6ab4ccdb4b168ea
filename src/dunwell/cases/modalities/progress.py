"""The course of a payment modality: whether it has ended, which instalments its debtor is notified
of, and when it is checked next. Pure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.answer_days import compute_answer_day
from dunwell.cases.modalities.instalments import Instalment
from dunwell.cases.modalities.modality import (
    Modality,
    ModalityEndReason,
    ModalityState,
    ModalityType,
)
from dunwell.contact.escalation.calendars import Calendar
from dunwell.core.claims.states import ACTIVE, Status

# How long after it was missed an instalment can still be paid without breaking the plan.
GRACE = timedelta(days=7)
_ONE_DAY = timedelta(days=1)


def decide_progress(modality: Modality, status: Status, today: date) -> ModalityEndReason | date:
    """Return why the modality has ended or, if it has not, the later day on which it is checked
    next. `status` is the claim's."""
    if status not in ACTIVE:
        return (
            ModalityEndReason.FULFILLED
            if status is Status.COLLECTED
            else ModalityEndReason.CLAIM_ENDED
        )
    unpaid = next((each for each in modality.schedule if not each.is_paid), None)
    if unpaid is None:
        return ModalityEndReason.FULFILLED
    first_late_day = _compute_first_late_day(modality.type, unpaid)
    if today < first_late_day:
        return first_late_day
    if modality.type is ModalityType.PAYMENT_PLAN and modality.state is ModalityState.APPROVED:
        return ModalityEndReason.BROKEN
    return ModalityEndReason.PASSED


def compute_end_day(modality_type: ModalityType, schedule: Sequence[Instalment]) -> date:
    """Return the first day on which no payment of the schedule is awaited."""
    return _compute_first_late_day(modality_type, schedule[-1])


def compute_response_day(modality: Modality, business_days: int, timezone: str) -> date:
    """Return the day by which a request is answered: after the given number of business days, but
    at the latest on the last day on which the request can still be answered."""
    awaited = next((each for each in modality.schedule if not each.is_paid), modality.schedule[-1])
    last_day = _compute_first_late_day(modality.type, awaited) - _ONE_DAY
    return min(compute_answer_day(modality.requested_at, business_days, timezone), last_day)


def start_of_day(day: date, timezone: str) -> datetime:
    """Return the first instant of the day in the time zone."""
    return _build_calendar(timezone).start_of(day)


def local_date(instant: datetime, timezone: str) -> date:
    return instant.astimezone(ZoneInfo(timezone)).date()


def _compute_first_late_day(modality_type: ModalityType, awaited: Instalment) -> date:
    """Return the first day on which a payment of this instalment is too late: after its day and,
    for a plan, the days of grace."""
    grace = GRACE if modality_type is ModalityType.PAYMENT_PLAN else timedelta(0)
    return awaited.missed_after + grace + _ONE_DAY


_REMINDER_LEAD = timedelta(days=3)
_MORNING = time(9)


class InstalmentNoticeKind(StrEnum):
    DUE = "DUE"
    MISSED = "MISSED"


@dataclass(frozen=True, slots=True)
class InstalmentNotice:
    kind: InstalmentNoticeKind
    instalment: Instalment


@dataclass(frozen=True, slots=True)
class _NoticeWindow:
    """The period in which a notice may be sent. `until` is exclusive."""

    notice: InstalmentNotice
    since: datetime
    until: datetime


def list_due_notices(modality: Modality, now: datetime, timezone: str) -> list[InstalmentNotice]:
    """Return the notices that are due at `now`, the merchant's time, in the order of the
    instalments."""
    windows = _list_windows(modality, timezone)
    return [each.notice for each in windows if each.since <= now < each.until]


def find_next_notice(modality: Modality, now: datetime, timezone: str) -> datetime | None:
    """Return the first instant after `now` at which another notice becomes due, or None."""
    coming = (each.since for each in _list_windows(modality, timezone) if each.since > now)
    return min(coming, default=None)


def compute_morning(day: date, timezone: str) -> datetime:
    """Return nine o'clock of the day in the time zone."""
    return _build_calendar(timezone).to_instant(datetime.combine(day, _MORNING))


def compute_last_pay_day(instalment: Instalment) -> date:
    """Return the last day on which the instalment can be paid without breaking the plan."""
    return instalment.missed_after + GRACE


def _list_windows(modality: Modality, timezone: str) -> Iterator[_NoticeWindow]:
    """Yield the notice periods of an active plan. Other modalities have none."""
    is_agreed = modality.state is ModalityState.APPROVED and modality.ended_at is None
    if modality.type is not ModalityType.PAYMENT_PLAN or not is_agreed:
        return
    agreed_at = modality.answered_at or modality.requested_at
    calendar = _build_calendar(timezone)
    for instalment in modality.schedule:
        if instalment.is_paid:
            continue
        reminded_at = compute_morning(instalment.due_on - _REMINDER_LEAD, timezone)
        missed_on = instalment.missed_after + _ONE_DAY
        # An instalment that is collected by direct debit needs no reminder: the debtor gets a
        # pre-notification of the debit.
        if reminded_at > agreed_at and instalment.awaited_on is None:
            due = InstalmentNotice(InstalmentNoticeKind.DUE, instalment)
            yield _NoticeWindow(due, reminded_at, calendar.start_of(missed_on))
        missed = InstalmentNotice(InstalmentNoticeKind.MISSED, instalment)
        ended_at = calendar.start_of(compute_last_pay_day(instalment) + _ONE_DAY)
        yield _NoticeWindow(missed, compute_morning(missed_on, timezone), ended_at)


def _build_calendar(timezone: str) -> Calendar:
    return Calendar(
        zone=ZoneInfo(timezone), weekdays=frozenset(), opens=None, closes=None, holidays=frozenset()
    )
