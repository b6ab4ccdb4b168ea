"""Warnings about contacts after which the workflow continues too soon for the debtor.

Warnings do not prevent publication. Without a wait after the last contact, the workflow ends at
once: the claim is archived while the debtor still reads the message. A short wait leaves no time
for a bank transfer, so the message has no pay-by date. Pure.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from dunwell.contact.escalation.calendars import Calendar, parse_weekdays
from dunwell.contact.escalation.forecast.forecast import MIN_NOTICE
from dunwell.contact.escalation.schedule import list_channels
from dunwell.core.workflows.definition import (
    CheckpointStep,
    ContactStep,
    Definition,
    ProcessSettings,
    Step,
    WaitStep,
)
from dunwell.platform.banking_days import compute_last_transfer_day
from dunwell.platform.errors import Fault
from dunwell.platform.text.translation import LazyText

LAST_CONTACT_WITHOUT_WAIT = "LAST_CONTACT_WITHOUT_WAIT"
WAIT_TOO_SHORT = "WAIT_TOO_SHORT"
# A Monday that is followed by half a year without a bank holiday.
_REFERENCE_MONDAY = date(2026, 6, 1)
# A wait of this length is always long enough, so longer ones are not tried.
_LONG_ENOUGH_DAYS = 60
_WEEK = frozenset(range(7))


def list_contact_warnings(definition: Definition) -> list[Fault]:
    """Return a warning for each contact without a sufficient wait, with a pointer to its step."""
    return list(_list_warnings(definition))


def describe_contact_warnings(kind: str, name: str, definition: Definition) -> list[str]:
    """Return the warnings as lines that begin with the name. `kind` is "workflow" or "scenario"."""
    return [f'{kind} "{name}": {each.message}' for each in list_contact_warnings(definition)]


@lru_cache(maxsize=1)
def compute_least_wait_days() -> int:
    """Return the shortest wait in days that leaves time for a pay-by date on each weekday, if no
    bank holiday falls into it."""
    calendar = _build_calendar(ProcessSettings(languages=["en"]))
    days = 1
    while not _is_long_enough(calendar, _WEEK, [WaitStep(id=1, name="Wait", days=days)]):
        days += 1
    return days


def _list_warnings(definition: Definition) -> Iterator[Fault]:
    calendar = _build_calendar(definition.settings)
    for index, step in enumerate(definition.steps):
        if not isinstance(step, ContactStep):
            continue
        waits, following = _list_waits(step, definition.steps[index + 1 :])
        if following is None and not waits:
            yield Fault(f"/steps/{index}", _describe_missing_wait(step), LAST_CONTACT_WITHOUT_WAIT)
        elif not _is_long_enough(calendar, _list_weekdays(step, definition), waits):
            yield Fault(f"/steps/{index}", _describe_short_wait(step), WAIT_TOO_SHORT)


def _list_waits(contact: ContactStep, later: Sequence[Step]) -> tuple[list[WaitStep], Step | None]:
    """Return the waits between a contact and the next fee or contact, and that next step, which is
    None if none follows. A wait with its own condition may be skipped and does not count."""
    waits: list[WaitStep] = []
    for step in later:
        if isinstance(step, WaitStep):
            waits += [step] if step.when in (None, contact.when) else []
        elif not isinstance(step, CheckpointStep):
            return waits, step
    return waits, None


def _list_weekdays(contact: ContactStep, definition: Definition) -> frozenset[int]:
    """Return the weekdays on which the wait after a contact can start. A letter may arrive on any
    weekday."""
    hours = definition.settings.contact_hours
    may_be_letter = "LETTER" in list_channels(contact)
    if hours is None or contact.send == "IMMEDIATE" or may_be_letter:
        return _WEEK
    return parse_weekdays(hours)


def _is_long_enough(
    calendar: Calendar, weekdays: frozenset[int], waits: Sequence[WaitStep]
) -> bool:
    """Return whether the waits leave time for a pay-by date on each weekday on which they can
    start."""
    if sum(each.days or each.business_days or 0 for each in waits) >= _LONG_ENOUGH_DAYS:
        return True
    for weekday in weekdays:
        sent_on = _REFERENCE_MONDAY + timedelta(days=weekday)
        at = datetime.combine(sent_on, time(12), tzinfo=UTC)
        for wait in waits:
            at = calendar.end_of_wait(wait, since=at)
        if compute_last_transfer_day(before=at.date()) < sent_on + MIN_NOTICE:
            return False
    return True


def _build_calendar(settings: ProcessSettings) -> Calendar:
    """Build a calendar without public holidays. They only lengthen a wait of business days, so the
    shortest wait is without them."""
    return Calendar(
        zone=ZoneInfo("UTC"),
        weekdays=parse_weekdays(settings.contact_hours),
        opens=None,
        closes=None,
        holidays=frozenset(),
    )


def _describe_missing_wait(step: ContactStep) -> LazyText:
    return LazyText(
        'No wait follows the last contact "%(name)s": the claim is archived as soon as the '
        "message is sent, and the debtor can no longer pay. Add a wait of at least %(days)s days "
        "after it, longer if bank holidays fall into it.",
        days=compute_least_wait_days(),
        name=step.name,
    )


def _describe_short_wait(step: ContactStep) -> LazyText:
    return LazyText(
        'The wait after "%(name)s" is too short for a pay-by date: sentences with '
        "{{ payBy }} are left out of messages sent on some days. Wait at least %(days)s days, "
        "longer if bank holidays fall into it.",
        days=compute_least_wait_days(),
        name=step.name,
    )
