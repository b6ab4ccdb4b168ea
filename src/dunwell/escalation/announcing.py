"""What of a claim's forecast its debtor is told: the next contacts, each fee, the end, and the day
to pay by. Days are the process's own.

The forecast is `forecast`'s; nothing is scheduled here. Pure.

    the forecast's next fee or contact is on    the day to pay by
    today + 8 days, or later                    the day before it
    today + 7 days, or sooner                   none: nobody is given less than a week
    never                                       none
"""

from collections.abc import Iterable
from datetime import date, timedelta
from enum import StrEnum

import msgspec

from dunwell.escalation.calendars import Calendar
from dunwell.escalation.forecast import Foreseen
from dunwell.escalation.schedule import Archived, ContactPlanned, FeeAdded

_MOST_CONTACTS = 3
_LEAST_NOTICE = timedelta(days=7)
_ONE_DAY = timedelta(days=1)


class Prospect(StrEnum):
    CONTACT = "CONTACT"
    FEE = "FEE"
    # The claim is archived.
    END = "END"


class Announced(msgspec.Struct, frozen=True, gc=False):
    kind: Prospect
    on: date
    # Of a fee.
    cents: int = 0


def list_announced(foreseen: Iterable[Foreseen], calendar: Calendar) -> list[Announced]:
    """In their order: every fee, so that none surprises, the end, and of the contacts the next
    few, one a day."""
    announced: list[Announced] = []
    contacts: set[date] = set()
    for each in foreseen:
        day = calendar.local_date(each.at)
        if isinstance(each.outcome, FeeAdded):
            announced.append(Announced(Prospect.FEE, day, int(each.outcome.step.value)))
        elif isinstance(each.outcome, Archived):
            announced.append(Announced(Prospect.END, day))
        elif _is_contact(each) and day not in contacts and len(contacts) < _MOST_CONTACTS:
            contacts.add(day)
            announced.append(Announced(Prospect.CONTACT, day))
    return announced


def find_pay_by(foreseen: Iterable[Foreseen], calendar: Calendar, today: date) -> date | None:
    """The last day before anything is done; none: nothing is foreseen, or it is too near."""
    for each in foreseen:
        if _is_contact(each) or isinstance(each.outcome, FeeAdded):
            eve = calendar.local_date(each.at) - _ONE_DAY
            return eve if eve >= today + _LEAST_NOTICE else None
    return None


def _is_contact(each: Foreseen) -> bool:
    return isinstance(each.outcome, ContactPlanned)
