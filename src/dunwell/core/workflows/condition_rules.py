"""What a condition must keep beyond its shape: bounds that can be met, codes that exist.

One grammar serves the guards of steps and the assignment rules (CONTRACT 6). Pure.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from dunwell.core.workflows.definition import Bounds, Condition, TextTest
from dunwell.core.workflows.settings_rules import find_repeats, language_fault
from dunwell.platform.errors import Fault
from dunwell.platform.text.codes import is_country, is_language

_MONEY = re.compile(r"0|[1-9][0-9]{0,11}")
_ITEM_TYPES = ("PRIMARY", "COLLECTION_FEE", "DUNNING_FEE")
_MOST_DAYS = 100_000


def find_condition_faults(condition: Condition, path: str) -> Iterator[Fault]:
    """Faults with pointers that begin with `path`, the condition's own."""
    if condition == Condition():
        yield Fault(path, "Name at least one property, or remove the condition.", "EMPTY_CONDITION")
    for name, money in (("outstanding", condition.outstanding), ("total", condition.total)):
        yield from _find_bounds_faults(money, f"{path}/{name}", _read_money)
    for name, days in (("age", condition.age), ("primaryAgeDays", condition.primary_age_days)):
        yield from _find_bounds_faults(days, f"{path}/{name}", _read_number)
    yield from _find_list_faults(condition, path)
    yield from _find_test_faults(condition, path)


def _read_money(value: int | str) -> int | str:
    """The amount, or what to do about it."""
    if isinstance(value, str) and _MONEY.fullmatch(value):
        return int(value)
    return 'Write the amount in minor units as a string of digits, such as "5000".'


def _read_number(value: int | str) -> int | str:
    if isinstance(value, int) and 0 <= value <= _MOST_DAYS:
        return value
    return f"Use a whole number from 0 to {_MOST_DAYS}."


def _find_bounds_faults(
    bounds: Bounds | None, path: str, read: Callable[[int | str], int | str]
) -> Iterator[Fault]:
    if bounds is None:
        return
    if bounds == Bounds():
        yield Fault(path, "Give min, max or both.", "EMPTY_CONDITION")
    limits: list[int] = []
    for name, value in (("min", bounds.min), ("max", bounds.max)):
        limit = None if value is None else read(value)
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
        yield from _find_unknown(value, f"{path}/{name}", is_known)
    if condition.has is not None:
        yield from _find_empty(condition.has, f"{path}/has")
        yield from find_repeats(condition.has, f"{path}/has")
    if condition.custom_fields == {}:
        yield Fault(f"{path}/customFields", "Name at least one field.", "EMPTY_CONDITION")


def _find_unknown(
    value: str | list[str] | None, path: str, is_known: Callable[[str], bool]
) -> Iterator[Fault]:
    if value is None:
        return
    codes = {path: value} if isinstance(value, str) else _places(value, path)
    if not isinstance(value, str):
        yield from _find_empty(value, path)
        yield from find_repeats(value, path)
    for place, code in codes.items():
        if is_known(code):
            continue
        yield _unknown_code(code, place, path.rpartition("/")[2])


def _unknown_code(code: str, place: str, name: str) -> Fault:
    if name == "language":
        return language_fault(code, place)
    if name == "country":
        message = f'"{code}" is no country; use an ISO 3166-1 code such as "DE".'
        return Fault(place, message, "UNKNOWN_COUNTRY")
    message = f'"{code}" is no item type. Known: {", ".join(_ITEM_TYPES)}.'
    return Fault(place, message, "NOT_ALLOWED")


def _places(values: list[str], path: str) -> dict[str, str]:
    return {f"{path}/{index}": value for index, value in enumerate(values)}


def _find_empty(values: Sequence[str], path: str) -> Iterator[Fault]:
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
        elif test is not None and not _can_read(test):
            message = "No text fits: equals does not begin or end so. Keep equals alone."
            yield Fault(f"{path}/{name}", message, "NEVER_TRUE")


def _can_read(test: TextTest) -> bool:
    """A beginning and an end alone always fit some text."""
    if test.equals is None:
        return True
    starts, ends = test.starts_with or "", test.ends_with or ""
    return test.equals.startswith(starts) and test.equals.endswith(ends)
