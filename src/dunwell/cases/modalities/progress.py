"""How a modality stands on a day: does it go on, and when is it to be looked at again.

A rate is missed when it is not paid in full at the end of the seventh day after its date; a
deferment is over at the end of its date. A request nobody has answered by then has no object any
more and ends as well, so that no claim stands still for ever. Days are the merchant's. Pure.
"""

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

from dunwell.accounts.merchants.answer_days import find_answer_day
from dunwell.cases.modalities.modality import EndReason, Modality, ModalityState, ModalityType
from dunwell.cases.modalities.plans import Instalment
from dunwell.contact.escalation.calendars import Calendar
from dunwell.core.claims.states import ACTIVE, Status

GRACE = timedelta(days=7)
_ONE_DAY = timedelta(days=1)


def decide_course(modality: Modality, status: Status, today: date) -> EndReason | date:
    """Why the modality has ended, or the day to look at it again, which is after `today`.

    `status` is the claim's.
    """
    if status not in ACTIVE:
        return EndReason.FULFILLED if status is Status.COLLECTED else EndReason.CLAIM_ENDED
    owing = next((each for each in modality.schedule if not each.is_paid), None)
    if owing is None:
        return EndReason.FULFILLED
    look_on = _day_after(modality.type, owing)
    if today < look_on:
        return look_on
    if modality.type is ModalityType.PAYMENT_PLAN and modality.state is ModalityState.APPROVED:
        return EndReason.BROKEN
    return EndReason.PASSED


def find_end(modality_type: ModalityType, schedule: Sequence[Instalment]) -> date:
    """The first day on which nothing of the schedule is awaited any more."""
    return _day_after(modality_type, schedule[-1])


def find_request_answer_day(modality: Modality, business_days: int, timezone: str) -> date:
    """Return the day by which a request is answered.

    It is never after the last day on which the request stands: later there is nothing to answer.
    """
    awaited = next((each for each in modality.schedule if not each.is_paid), modality.schedule[-1])
    last_day = _day_after(modality.type, awaited) - _ONE_DAY
    return min(find_answer_day(modality.requested_at, business_days, timezone), last_day)


def start_of_day(day: date, timezone: str) -> datetime:
    """Its first instant in a zone."""
    calendar = Calendar(
        zone=ZoneInfo(timezone), weekdays=frozenset(), opens=None, closes=None, holidays=frozenset()
    )
    return calendar.start_of(day)


def local_date(instant: datetime, timezone: str) -> date:
    return instant.astimezone(ZoneInfo(timezone)).date()


def _day_after(modality_type: ModalityType, awaited: Instalment) -> date:
    """The first day on which it is too late to pay this."""
    grace = GRACE if modality_type is ModalityType.PAYMENT_PLAN else timedelta(0)
    return awaited.due_on + grace + _ONE_DAY
