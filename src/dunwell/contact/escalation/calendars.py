"""A process's local time: contact hours, business days, public holidays, waits.

Every function takes and gives aware UTC instants; the process's zone decides what they mean. Local
times that a clock change skips become the next minute that exists, doubled ones the first. Pure.
"""

from collections.abc import Container, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import holidays as public_holidays

from dunwell.core.workflows.definition import (
    ProcessSettings,
    WaitStep,
    WorkflowContactHours,
    WorkflowHolidays,
)

_WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_BUSINESS_WEEK = frozenset(range(5))
_SUNDAY = 6
_ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Calendar:
    """When a process may contact people, and how it counts days."""

    zone: ZoneInfo
    # 0 is Monday.
    weekdays: frozenset[int]
    opens: time | None
    # Exclusive.
    closes: time | None
    holidays: Container[date]

    def local_date(self, instant: datetime) -> date:
        return instant.astimezone(self.zone).date()

    def is_business_day(self, day: date) -> bool:
        return day.weekday() in self.weekdays and day not in self.holidays

    def next_opening(self, instant: datetime) -> datetime:
        """The first instant from `instant` on at which people may be contacted."""
        if self.opens is None or self.closes is None:
            return instant
        local = instant.astimezone(self.zone)
        if self.is_business_day(local.date()):
            if self.opens <= local.time() < self.closes:
                return instant
            if local.time() < self.opens:
                return self.to_instant(datetime.combine(local.date(), self.opens))
        return self.to_instant(datetime.combine(self._business_day_after(local.date()), self.opens))

    def end_of_wait(self, step: WaitStep, since: datetime) -> datetime:
        """The same local time, so many dates or business days later."""
        local = since.astimezone(self.zone)
        day = local.date()
        if step.days is not None:
            day += timedelta(days=step.days)
        for _ in range(step.business_days or 0):
            day = self._business_day_after(day)
        return self.to_instant(datetime.combine(day, local.time()))

    def start_of(self, day: date) -> datetime:
        return self.to_instant(datetime.combine(day, time.min))

    def to_instant(self, local: datetime) -> datetime:
        """The instant of a naive local time."""
        instant = local.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
        while instant.astimezone(self.zone).replace(tzinfo=None) != local:
            local = local.replace(second=0, microsecond=0) + timedelta(minutes=1)
            instant = local.replace(tzinfo=self.zone, fold=0).astimezone(UTC)
        return instant

    def _business_day_after(self, day: date) -> date:
        day += _ONE_DAY
        while not self.is_business_day(day):
            day += _ONE_DAY
        return day


def make_calendar(settings: ProcessSettings, merchant_timezone: str) -> Calendar:
    hours = settings.contact_hours
    return Calendar(
        zone=ZoneInfo(settings.timezone or merchant_timezone),
        weekdays=read_weekdays(hours),
        opens=time.fromisoformat(hours.since) if hours else None,
        closes=_read_closing(hours) if hours else None,
        holidays=_load_holidays(settings.holidays),
    )


def find_arrival_day(handed_over_on: date, postal_days: int, holidays: Container[date]) -> date:
    """Return the day on which a letter can have arrived, so many postal days after its hand-over.

    Postal days are Monday to Saturday without public holidays, whatever days a workflow contacts
    people on.
    """
    day = handed_over_on
    for _ in range(postal_days):
        day += _ONE_DAY
        while day.weekday() == _SUNDAY or day in holidays:
            day += _ONE_DAY
    return day


def load_post_holidays(region: WorkflowHolidays | None, country: str | None) -> Container[date]:
    """Return the holidays without post: the workflow's region's, else the creditor's country's.

    A country that the library does not know has none.
    """
    if region is not None:
        return _load_holidays(region)
    if country is None:
        return frozenset()
    try:
        return _load_region(country, None)
    except NotImplementedError:
        return frozenset()


def read_weekdays(hours: WorkflowContactHours | None) -> frozenset[int]:
    """Return the days of contact, 0 for Monday; without contact hours the business week."""
    if hours is None:
        return _BUSINESS_WEEK
    return frozenset(_WEEKDAYS.index(name) for name in hours.weekdays)


def _read_closing(hours: WorkflowContactHours) -> time:
    """24:00 is the end of the day."""
    return time.max if hours.until == "24:00" else time.fromisoformat(hours.until)


def _load_holidays(region: WorkflowHolidays | None) -> Container[date]:
    if region is None:
        return frozenset()
    return _load_region(region.country, region.subdivision)


def name_holiday(region: WorkflowHolidays, day: date, language: str) -> str | None:
    """In the language, else as the region's own people call it; None: it is none."""
    return _load_named(region.country, region.subdivision, language).get(day)


@lru_cache(maxsize=256)
def _load_region(country: str, subdivision: str | None) -> Container[date]:
    """The region's public holidays; years are worked out as they are asked for."""
    return public_holidays.country_holidays(country, subdiv=subdivision)


@lru_cache(maxsize=256)
def _load_named(country: str, subdivision: str | None, language: str) -> Mapping[date, str]:
    plain = public_holidays.country_holidays(country, subdiv=subdivision)
    offered = [each for each in plain.supported_languages if each.partition("_")[0] == language]
    chosen = offered[0] if offered else plain.default_language
    return public_holidays.country_holidays(country, subdiv=subdivision, language=chosen)
