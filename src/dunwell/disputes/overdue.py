"""Which objections should have been answered by now. Pure."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from dunwell.disputes.dispute import add_business_days

_ONE_DAY = timedelta(days=1)


def find_overdue_before(now: datetime, business_days: int, timezone: str) -> datetime:
    """The instant before which an objection must have been opened for the day of its answer to be
    over now. By the same days that debtors are told (`find_answer_day`)."""
    zone = ZoneInfo(timezone)
    today = now.astimezone(zone).date()
    day = today
    while add_business_days(day, business_days) >= today:
        day -= _ONE_DAY
    return _start_of(day + _ONE_DAY, zone)


def _start_of(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time.min, zone)
