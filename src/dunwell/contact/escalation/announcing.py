"""What of a claim's forecast its debtor is told: the next contacts, each fee, the end, and the
pay-by date. Days are the process's own.

The forecast is `forecast`'s; nothing is scheduled here. The pay-by date is the last day on which a
bank transfer can be sent and still be recorded before the day of the next fee or contact or, after
the last contact, of the archiving. So nobody who pays by then is contacted or charged once more.
Pure.
"""

from collections.abc import Iterable
from datetime import date, timedelta
from enum import StrEnum

import msgspec

from dunwell.contact.escalation.calendars import Calendar
from dunwell.contact.escalation.forecast import Foreseen
from dunwell.contact.escalation.schedule import Archived, ContactPlanned, FeeAdded
from dunwell.platform.banking_days import find_last_transfer_day

_MOST_CONTACTS = 3
# Fewer days between a message and its pay-by date are too few to act on: no date is named then.
LEAST_NOTICE = timedelta(days=5)


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


def find_pay_by(foreseen: Iterable[Foreseen], calendar: Calendar, arrives_on: date) -> date | None:
    """Return the pay-by date of a message, or None if nothing is foreseen or it comes too soon.

    foreseen: what follows the message. arrives_on: the day of the message; of a letter, the day on
    which it can have arrived.
    """
    for each in foreseen:
        if _is_contact(each) or isinstance(each.outcome, FeeAdded | Archived):
            pay_by = find_last_transfer_day(before=calendar.local_date(each.at))
            return pay_by if pay_by >= arrives_on + LEAST_NOTICE else None
    return None


def _is_contact(each: Foreseen) -> bool:
    return isinstance(each.outcome, ContactPlanned)
