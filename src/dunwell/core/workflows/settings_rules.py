"""What a process's settings must keep beyond their shape (CONTRACT 6). Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache

import holidays as public_holidays

from dunwell.core.workflows.definition import ContactHours, Holidays, ProcessSettings
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_currency, is_language, is_timezone
from dunwell.platform.text.shape import render_nearest

_ROOT = "/settings"


def find_settings_faults(settings: ProcessSettings) -> Iterator[Fault]:
    """Faults with pointers from the definition's root."""
    yield from find_language_faults(settings.languages, f"{_ROOT}/languages")
    if settings.currency is not None and not is_currency(settings.currency):
        yield currency_fault(settings.currency, f"{_ROOT}/currency")
    if settings.timezone is not None and not is_timezone(settings.timezone):
        yield timezone_fault(settings.timezone, f"{_ROOT}/timezone")
    if settings.contact_hours is not None:
        yield from _find_hours_faults(settings.contact_hours)
    if settings.holidays is not None:
        yield from _find_region_faults(settings.holidays)


def find_language_faults(codes: list[str], path: str) -> Iterator[Fault]:
    for index, code in enumerate(codes):
        if not is_language(code):
            yield language_fault(code, f"{path}/{index}")
    yield from find_repeats(codes, path)


def find_repeats(values: Iterable[object], path: str, *, skip: int = 0) -> Iterator[Fault]:
    """A fault for each value that was there before; the first `skip` stand outside the list."""
    seen = set()
    for index, value in enumerate(values, start=-skip):
        if value in seen:
            yield Fault(f"{path}/{index}", f'Remove the repeated "{value}".', "REPEATED")
        seen.add(value)


def language_fault(code: str, path: str) -> Fault:
    message = f'"{code}" is no language; use a code such as "de" or "en".'
    return Fault(path, message, "UNKNOWN_LANGUAGE")


def currency_fault(code: str, path: str) -> Fault:
    message = f'"{code}" is no currency; use an ISO 4217 code such as "EUR".'
    return Fault(path, message, "UNKNOWN_CURRENCY")


def timezone_fault(name: str, path: str) -> Fault:
    message = f'"{name}" is no time zone; use a name such as "Europe/Berlin".'
    return Fault(path, message, "UNKNOWN_TIMEZONE")


def _find_hours_faults(hours: ContactHours) -> Iterator[Fault]:
    path = f"{_ROOT}/contactHours"
    yield from find_repeats(hours.weekdays, f"{path}/weekdays")
    # HH:MM: text order is time order.
    if hours.since >= hours.until:
        message = f'The hours end before they begin; make "to" later than {hours.since}.'
        yield Fault(f"{path}/to", message, "EMPTY_HOURS")


def _find_region_faults(region: Holidays) -> Iterator[Fault]:
    path = f"{_ROOT}/holidays"
    countries = _list_countries()
    if region.country not in countries:
        message = f'No holidays are known for "{region.country}"; use a code such as "DE".'
        yield Fault(f"{path}/country", message, "UNKNOWN_COUNTRY")
        return
    known = countries[region.country]
    if region.subdivision is not None and region.subdivision not in known:
        nearest = render_nearest(region.subdivision, known)
        message = f'"{region.subdivision}" is no part of {region.country}. {nearest}'
        yield Fault(f"{path}/subdivision", message, "UNKNOWN_SUBDIVISION")


@cache
def _list_countries() -> Mapping[str, Sequence[str]]:
    """Each with its subdivisions; to put them together takes longer than all else here."""
    return public_holidays.list_supported_countries()
