"""Banking days, and how long a bank transfer takes until the merchant has recorded it.

A transfer in euros takes one banking day, or two if it was ordered on paper (Directive (EU)
2015/2366, article 83), and the merchant needs one more day to record it. Banking days are those of
TARGET, the system that settles transfers in euros. Pure.
"""

from collections.abc import Container
from datetime import date, timedelta
from functools import lru_cache

import holidays as public_holidays

# Two for a transfer on paper, and one for recording it.
_BANKING_DAYS = 3
_WEEKDAYS = frozenset(range(5))
_ONE_DAY = timedelta(days=1)


def compute_recorded_on(sent_on: date) -> date:
    """Return the banking day by the end of which a transfer sent on this day has been recorded."""
    day = sent_on
    for _ in range(_BANKING_DAYS):
        day = get_first_banking_day_from(day + _ONE_DAY)
    return day


def get_first_banking_day_from(day: date) -> date:
    """Return the day if it is a banking day, or the next one."""
    while not _is_banking_day(day):
        day += _ONE_DAY
    return day


def subtract_banking_days(day: date, count: int) -> date:
    """Return the banking day that is `count` banking days before a day."""
    for _ in range(count):
        day -= _ONE_DAY
        while not _is_banking_day(day):
            day -= _ONE_DAY
    return day


def compute_last_transfer_day(before: date) -> date:
    """Return the last day on which a transfer can be sent and still be recorded before a day."""
    day = before - _ONE_DAY
    while compute_recorded_on(day) >= before:
        day -= _ONE_DAY
    return day


def _is_banking_day(day: date) -> bool:
    return day.weekday() in _WEEKDAYS and day not in _list_closing_days()


@lru_cache(maxsize=1)
def _list_closing_days() -> Container[date]:
    """Return TARGET's closing days. The library computes each year when it is first needed."""
    return public_holidays.financial_holidays("XECB")
