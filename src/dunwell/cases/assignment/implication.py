"""Whether every claim that meets one condition meets another.

Property by property: certain when it says yes; what follows only from several properties together
is not seen. Pure.
"""

from collections.abc import Callable
from typing import Any

from dunwell.core.claims.conditions import list_values, read_bounds, reads
from dunwell.core.workflows.definition import Bounds, Condition, TextTest


def implies(strict: Condition | None, lax: Condition | None) -> bool:
    """Whether whatever meets `strict` meets `lax`; no condition is met by everything."""
    if lax is None:
        return True
    given = strict or Condition()
    return all(
        _is_implied(name, getattr(given, name), wanted, given)
        for name in Condition.__struct_fields__
        if (wanted := getattr(lax, name)) is not None
    )


def _is_implied(name: str, given: Any, wanted: Any, strict: Condition) -> bool:
    if name == "has":
        return set(wanted) <= _list_present(strict)
    if name == "item_type" and "PRIMARY" in list_values(wanted):
        return True  # every claim has one
    if given is None:
        return False
    return _COMPARISONS[name](given, wanted)


def _list_present(condition: Condition) -> set[str]:
    """What a claim that meets it is sure to have: a test of a text needs the text."""
    present: set[str] = set(condition.has or [])
    if condition.email is not None:
        present.add("email")
    if condition.mobile_number is not None:
        present.add("mobileNumber")
    return present


def _is_narrower(given: Bounds, wanted: Bounds) -> bool:
    low, high = read_bounds(given)
    wanted_low, wanted_high = read_bounds(wanted)
    return (wanted_low is None or (low is not None and low >= wanted_low)) and (
        wanted_high is None or (high is not None and high <= wanted_high)
    )


def _is_among(given: str | list[str], wanted: str | list[str]) -> bool:
    return set(list_values(given)) <= set(list_values(wanted))


def _reads_more(given: TextTest, wanted: TextTest) -> bool:
    if given.equals is not None:
        return reads(wanted, given.equals)
    starts, ends = given.starts_with or "", given.ends_with or ""
    return (
        wanted.equals is None
        and starts.startswith(wanted.starts_with or "")
        and ends.endswith(wanted.ends_with or "")
    )


def _has_more(given: dict[str, str], wanted: dict[str, str]) -> bool:
    return wanted.items() <= given.items()


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "outstanding": _is_narrower,
    "total": _is_narrower,
    "age": _is_narrower,
    "primary_age_days": _is_narrower,
    "country": _is_among,
    "language": _is_among,
    "item_type": _is_among,
    "email": _reads_more,
    "mobile_number": _reads_more,
    "city": _reads_more,
    "postal_code": _reads_more,
    "custom_fields": _has_more,
}
