"""When a debtor's dispute or request must be answered, and which answers are late. Pure.

Business days are Monday to Friday. Public holidays belong to workflows, which a claim need not
have, so they count as business days here.
"""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

_SATURDAY = 5
_ONE_DAY = timedelta(days=1)


def compute_answer_day(asked_at: datetime, business_days: int, timezone: str) -> date:
    """Return the day that is this number of business days after the merchant's day
    of `asked_at`.
    """
    day = asked_at.astimezone(ZoneInfo(timezone)).date()
    return add_business_days(day, business_days)


def compute_overdue_before(now: datetime, business_days: int, timezone: str) -> datetime:
    """Return the instant before which a request must have been made to be overdue now.

    On the date that debtors are shown (`compute_answer_day`), the answer is not late yet.
    """
    zone = ZoneInfo(timezone)
    today = now.astimezone(zone).date()
    day = today
    while add_business_days(day, business_days) >= today:
        day -= _ONE_DAY
    return datetime.combine(day + _ONE_DAY, time.min, zone)


def add_business_days(day: date, business_days: int) -> date:
    for _ in range(business_days):
        day += _ONE_DAY
        while day.weekday() >= _SATURDAY:
            day += _ONE_DAY
    return day
