"""The rules of a definition beyond its shape (CONTRACT 6): settings, conditions and steps. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache

import holidays as public_holidays

from dunwell.core.workflows.definition import (
    Condition,
    ContactStep,
    IntegerBounds,
    ProcessSettings,
    Step,
    Template,
    TextTest,
    WaitStep,
    WorkflowContactHours,
    WorkflowHolidays,
)
from dunwell.core.workflows.texts import list_channels
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_country, is_currency, is_language, is_timezone
from dunwell.platform.text.shape import suggest_known

_ROOT = "/settings"


def find_settings_faults(settings: ProcessSettings) -> Iterator[Fault]:
    """Yield faults with pointers from the definition's root."""
    yield from find_language_faults(settings.languages, f"{_ROOT}/languages")
    if settings.currency is not None and not is_currency(settings.currency):
        yield build_currency_fault(settings.currency, f"{_ROOT}/currency")
    if settings.timezone is not None and not is_timezone(settings.timezone):
        yield build_timezone_fault(settings.timezone, f"{_ROOT}/timezone")
    if settings.contact_hours is not None:
        yield from _find_hours_faults(settings.contact_hours)
    if settings.holidays is not None:
        yield from _find_region_faults(settings.holidays)


def find_language_faults(codes: list[str], path: str) -> Iterator[Fault]:
    for index, code in enumerate(codes):
        if not is_language(code):
            yield build_language_fault(code, f"{path}/{index}")
    yield from find_repeat_faults(codes, path)


def find_repeat_faults(values: Iterable[object], path: str, *, skip: int = 0) -> Iterator[Fault]:
    """Yield a fault for each repeated value. The first `skip` values are not part of the list."""
    seen = set()
    for index, value in enumerate(values, start=-skip):
        if value in seen:
            yield Fault(f"{path}/{index}", f'Remove the repeated "{value}".', "REPEATED")
        seen.add(value)


def build_language_fault(code: str, path: str) -> Fault:
    message = f'"{code}" is not a language; use a code such as "de" or "en".'
    return Fault(path, message, "UNKNOWN_LANGUAGE")


def build_currency_fault(code: str, path: str) -> Fault:
    message = f'"{code}" is not a currency; use an ISO 4217 code such as "EUR".'
    return Fault(path, message, "UNKNOWN_CURRENCY")


def build_timezone_fault(name: str, path: str) -> Fault:
    message = f'"{name}" is not a time zone; use a name such as "Europe/Berlin".'
    return Fault(path, message, "UNKNOWN_TIMEZONE")


def _find_hours_faults(hours: WorkflowContactHours) -> Iterator[Fault]:
    path = f"{_ROOT}/contactHours"
    yield from find_repeat_faults(hours.weekdays, f"{path}/weekdays")
    # Texts in the form HH:MM sort like times.
    if hours.since >= hours.until:
        message = f'The hours end before they begin; make "to" later than {hours.since}.'
        yield Fault(f"{path}/to", message, "EMPTY_HOURS")


def _find_region_faults(region: WorkflowHolidays) -> Iterator[Fault]:
    path = f"{_ROOT}/holidays"
    countries = _list_countries()
    if region.country not in countries:
        message = f'No holidays are known for "{region.country}"; use a code such as "DE".'
        yield Fault(f"{path}/country", message, "UNKNOWN_COUNTRY")
        return
    known = countries[region.country]
    if region.subdivision is not None and region.subdivision not in known:
        nearest = suggest_known(region.subdivision, known)
        message = f'"{region.subdivision}" is not part of {region.country}. {nearest}'
        yield Fault(f"{path}/subdivision", message, "UNKNOWN_SUBDIVISION")


@cache
def _list_countries() -> Mapping[str, Sequence[str]]:
    """Return the subdivisions by country. Cached, because collecting them takes longer than all
    other checks."""
    return public_holidays.list_supported_countries()


_MONEY = re.compile(r"0|[1-9][0-9]{0,11}")
_ITEM_TYPES = ("PRIMARY", "COLLECTION_FEE", "DUNNING_FEE")
_MAX_DAYS = 100_000


def find_condition_faults(condition: Condition, path: str) -> Iterator[Fault]:
    """Yield faults with pointers that begin with `path`, the pointer of the condition."""
    if condition == Condition():
        yield Fault(path, "Name at least one property, or remove the condition.", "EMPTY_CONDITION")
    for name, money in (("outstanding", condition.outstanding), ("total", condition.total)):
        yield from _find_bounds_faults(money, f"{path}/{name}", _parse_money)
    for name, days in (("age", condition.age), ("primaryAgeDays", condition.primary_age_days)):
        yield from _find_bounds_faults(days, f"{path}/{name}", _parse_number)
    yield from _find_list_faults(condition, path)
    yield from _find_test_faults(condition, path)


def _parse_money(value: int | str) -> int | str:
    """Return the amount, or the message of a fault."""
    if isinstance(value, str) and _MONEY.fullmatch(value):
        return int(value)
    return 'Write the amount in minor units as a string of digits, such as "5000".'


def _parse_number(value: int | str) -> int | str:
    if isinstance(value, int) and 0 <= value <= _MAX_DAYS:
        return value
    return f"Use a whole number from 0 to {_MAX_DAYS}."


def _find_bounds_faults(
    bounds: IntegerBounds | None, path: str, parse: Callable[[int | str], int | str]
) -> Iterator[Fault]:
    if bounds is None:
        return
    if bounds == IntegerBounds():
        yield Fault(path, "Give min, max or both.", "EMPTY_CONDITION")
    limits: list[int] = []
    for name, value in (("min", bounds.min), ("max", bounds.max)):
        limit = None if value is None else parse(value)
        if isinstance(limit, str):
            yield Fault(f"{path}/{name}", limit, "WRONG_FORMAT")
        elif limit is not None:
            limits.append(limit)
    if len(limits) == 2 and limits[0] > limits[1]:
        yield Fault(f"{path}/max", "No value fits: make max at least min.", "NEVER_TRUE")


def _find_list_faults(condition: Condition, path: str) -> Iterator[Fault]:
    lists: list[tuple[str, str | list[str] | None, Callable[[str], bool]]] = [
        ("country", condition.country, is_country),
        ("language", condition.language, is_language),
        ("itemType", condition.item_type, _ITEM_TYPES.__contains__),
    ]
    for name, value, is_known in lists:
        yield from _find_code_faults(value, f"{path}/{name}", is_known)
    if condition.has is not None:
        yield from _find_empty_list_faults(condition.has, f"{path}/has")
        yield from find_repeat_faults(condition.has, f"{path}/has")
    if condition.custom_fields == {}:
        yield Fault(f"{path}/customFields", "Name at least one field.", "EMPTY_CONDITION")


def _find_code_faults(
    value: str | list[str] | None, path: str, is_known: Callable[[str], bool]
) -> Iterator[Fault]:
    if value is None:
        return
    codes = {path: value} if isinstance(value, str) else _list_code_paths(value, path)
    if not isinstance(value, str):
        yield from _find_empty_list_faults(value, path)
        yield from find_repeat_faults(value, path)
    for code_path, code in codes.items():
        if is_known(code):
            continue
        yield _build_unknown_code_fault(code, code_path, path.rpartition("/")[2])


def _build_unknown_code_fault(code: str, path: str, name: str) -> Fault:
    if name == "language":
        return build_language_fault(code, path)
    if name == "country":
        message = f'"{code}" is not a country; use an ISO 3166-1 code such as "DE".'
        return Fault(path, message, "UNKNOWN_COUNTRY")
    message = f'"{code}" is not an item type. Known: {", ".join(_ITEM_TYPES)}.'
    return Fault(path, message, "NOT_ALLOWED")


def _list_code_paths(values: list[str], path: str) -> dict[str, str]:
    return {f"{path}/{index}": value for index, value in enumerate(values)}


def _find_empty_list_faults(values: Sequence[str], path: str) -> Iterator[Fault]:
    if not values:
        yield Fault(path, "Name at least one, or remove the key.", "EMPTY_CONDITION")


def _find_test_faults(condition: Condition, path: str) -> Iterator[Fault]:
    tests = {
        "email": condition.email,
        "mobileNumber": condition.mobile_number,
        "city": condition.city,
        "postalCode": condition.postal_code,
    }
    for name, test in tests.items():
        if test == TextTest():
            message = "Give equals, startsWith or endsWith."
            yield Fault(f"{path}/{name}", message, "EMPTY_CONDITION")
        elif test is not None and not _can_match(test):
            message = "No text can match: the tests contradict each other. Keep only equals."
            yield Fault(f"{path}/{name}", message, "NEVER_TRUE")


def _can_match(test: TextTest) -> bool:
    """Return whether some text can match. A beginning and an end without `equals` always match some
    text."""
    if test.equals is None:
        return True
    starts, ends = test.starts_with or "", test.ends_with or ""
    return test.equals.startswith(starts) and test.equals.endswith(ends)


def find_step_faults(
    steps: Sequence[Step | None],
    templates: Mapping[str, Template | None],
    settings: ProcessSettings | None,
) -> Iterator[Fault]:
    """Yield faults with pointers from the definition's root. Parts with a wrong shape are None."""
    yield from _find_repeated_ids(steps)
    for index, step in enumerate(steps):
        path = f"/steps/{index}"
        if isinstance(step, WaitStep):
            yield from _find_wait_faults(step, path, settings)
        if isinstance(step, ContactStep):
            yield from _find_contact_faults(step, path, templates)
        if step is not None and step.when is not None:
            yield from find_condition_faults(step.when, f"{path}/when")


def _find_repeated_ids(steps: Sequence[Step | None]) -> Iterator[Fault]:
    first_indexes: dict[int, int] = {}
    for index, step in enumerate(steps):
        if step is None:
            continue
        if step.id in first_indexes:
            message = f"The id {step.id} is that of step {first_indexes[step.id] + 1}; use another."
            yield Fault(f"/steps/{index}/id", message, "REPEATED")
        first_indexes.setdefault(step.id, index)


def _find_wait_faults(
    step: WaitStep, path: str, settings: ProcessSettings | None
) -> Iterator[Fault]:
    if (step.days is None) == (step.business_days is None):
        yield Fault(path, "Give exactly one of days and businessDays.", "DAYS_OR_BUSINESS_DAYS")
    if step.business_days is not None and settings is not None and settings.contact_hours is None:
        message = "Business days are the contact weekdays; set settings.contactHours."
        yield Fault(f"{path}/businessDays", message, "CONTACT_HOURS_MISSING")


def _find_contact_faults(
    step: ContactStep, path: str, templates: Mapping[str, Template | None]
) -> Iterator[Fault]:
    yield from find_repeat_faults([step.channel, *step.fallbacks], f"{path}/fallbacks", skip=1)
    if step.template not in templates:
        nearest = suggest_known(step.template, list(templates))
        message = f'There is no template "{step.template}". {nearest}'
        yield Fault(f"{path}/template", message, "UNKNOWN_TEMPLATE")
        return
    template = templates[step.template]
    if template is None:
        return
    texts = list_channels(template)
    channels_by_path = {f"{path}/channel": step.channel}
    channels_by_path |= {
        f"{path}/fallbacks/{i}": channel for i, channel in enumerate(step.fallbacks)
    }
    for channel_path, channel in channels_by_path.items():
        if channel not in texts:
            message = f'The template "{step.template}" has no {channel} text; add one.'
            yield Fault(channel_path, message, "MISSING_CHANNEL_TEXT")
