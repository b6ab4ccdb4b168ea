"""By when a dispute is to be answered. Pure."""

from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

_SATURDAY = 5


def find_answer_day(opened_at: datetime, business_days: int, timezone: str) -> date:
    """So many business days after the day it was opened on where the merchant is: Monday to Friday,
    as public holidays belong to workflows, which a claim need not have."""
    day = opened_at.astimezone(ZoneInfo(timezone)).date()
    for _ in range(business_days):
        day += timedelta(days=1)
        while day.weekday() >= _SATURDAY:
            day += timedelta(days=1)
    return day
