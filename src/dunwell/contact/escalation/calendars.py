"""The local time of a workflow: contact hours, business days, public holidays and the end of waits.

Every function takes and returns aware UTC instants; the time zone of the workflow converts them to
local time. A local time that a clock change skips becomes the next minute that exists; a local time
that occurs twice becomes the first of the two. Pure.
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
    """The hours and days on which a workflow contacts debtors, and how it counts days."""

    zone: ZoneInfo
    # Monday is 0.
    weekdays: frozenset[int]
    opens: time | None
    # Exclusive; None without contact hours.
    closes: time | None
    holidays: Container[date]

    def local_date(self, instant: datetime) -> date:
        return instant.astimezone(self.zone).date()

    def is_business_day(self, day: date) -> bool:
        return day.weekday() in self.weekdays and day not in self.holidays

    def next_opening(self, instant: datetime) -> datetime:
        """Return `instant`, or the next opening of the contact hours if they are closed then."""
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
        """Return the end of a wait: the same local time, a number of calendar or business days
        later."""
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
        """Convert a naive local time to a UTC instant."""
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


def build_calendar(settings: ProcessSettings, merchant_timezone: str) -> Calendar:
    hours = settings.contact_hours
    return Calendar(
        zone=ZoneInfo(settings.timezone or merchant_timezone),
        weekdays=parse_weekdays(hours),
        opens=time.fromisoformat(hours.since) if hours else None,
        closes=_parse_closing(hours) if hours else None,
        holidays=_load_holidays(settings.holidays),
    )


def compute_arrival_day(handed_over_on: date, postal_days: int, holidays: Container[date]) -> date:
    """Return the day on which a letter can have arrived, `postal_days` after its hand-over.

    Letters are delivered from Monday to Saturday except on public holidays, whatever the contact
    days of the workflow are.
    """
    day = handed_over_on
    for _ in range(postal_days):
        day += _ONE_DAY
        while day.weekday() == _SUNDAY or day in holidays:
            day += _ONE_DAY
    return day


def load_post_holidays(region: WorkflowHolidays | None, country: str | None) -> Container[date]:
    """Return the days without mail delivery: the holidays of the workflow's region, or those of the
    creditor's country if the workflow names no region.

    The result is empty for a country that the holidays library does not know.
    """
    if region is not None:
        return _load_holidays(region)
    if country is None:
        return frozenset()
    try:
        return _load_region_holidays(country, None)
    except NotImplementedError:
        return frozenset()


def parse_weekdays(hours: WorkflowContactHours | None) -> frozenset[int]:
    """Return the contact days (Monday is 0). Without contact hours these are Monday to Friday."""
    if hours is None:
        return _BUSINESS_WEEK
    return frozenset(_WEEKDAYS.index(name) for name in hours.weekdays)


def _parse_closing(hours: WorkflowContactHours) -> time:
    """Return the closing time; "24:00" becomes the last instant of the day."""
    return time.max if hours.until == "24:00" else time.fromisoformat(hours.until)


def _load_holidays(region: WorkflowHolidays | None) -> Container[date]:
    if region is None:
        return frozenset()
    return _load_region_holidays(region.country, region.subdivision)


def find_holiday_name(region: WorkflowHolidays, day: date, language: str) -> str | None:
    """Return the name of the holiday on that day, or None on any other day.

    The name is in `language` if the library has it, otherwise in the main language of the region.
    """
    return _load_holiday_names(region.country, region.subdivision, language).get(day)


@lru_cache(maxsize=256)
def _load_region_holidays(country: str, subdivision: str | None) -> Container[date]:
    """Return the public holidays of a region. The library computes a year when it is first
    needed."""
    return public_holidays.country_holidays(country, subdiv=subdivision)


@lru_cache(maxsize=256)
def _load_holiday_names(country: str, subdivision: str | None, language: str) -> Mapping[date, str]:
    holidays = public_holidays.country_holidays(country, subdiv=subdivision)
    matching = [each for each in holidays.supported_languages if each.partition("_")[0] == language]
    name_language = matching[0] if matching else holidays.default_language
    return public_holidays.country_holidays(country, subdiv=subdivision, language=name_language)
