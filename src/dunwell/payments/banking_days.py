"""How long a bank transfer may take until the merchant knows of it.

Banks have a banking day for a transfer in euros, two for one on paper (Directive (EU) 2015/2366,
article 83), and the merchant one more to record it. Banking days are those of TARGET, the system
that transfers in euros are settled in. Pure.
"""

from collections.abc import Container
from datetime import date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import holidays as public_holidays

from dunwell.escalation.calendars import Calendar

# The provider's name in requests and events of a transfer that the debtor makes at a bank.
BANK_TRANSFER = "BANK_TRANSFER"
_BANKING_DAYS = 3
_WEEKDAYS = frozenset(range(5))
_ONE_DAY = timedelta(days=1)


def find_known_on(sent_on: date) -> date:
    """The banking day by whose end a transfer sent on this day has been recorded."""
    day = sent_on
    for _ in range(_BANKING_DAYS):
        day += _ONE_DAY
        while day.weekday() not in _WEEKDAYS or day in _load_closed():
            day += _ONE_DAY
    return day


def find_end_of_waiting(sent_on: date, timezone: str) -> datetime:
    """The end of that day where the merchant is: until then nobody is dunned."""
    calendar = Calendar(
        zone=ZoneInfo(timezone), weekdays=_WEEKDAYS, opens=None, closes=None, holidays=frozenset()
    )
    return calendar.start_of(find_known_on(sent_on) + _ONE_DAY)


@lru_cache(maxsize=1)
def _load_closed() -> Container[date]:
    """TARGET's closing days; years are worked out as they are asked for."""
    return public_holidays.financial_holidays("XECB")
