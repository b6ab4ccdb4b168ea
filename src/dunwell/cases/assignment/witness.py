"""A claim that meets two conditions at once, made up: the proof that both can match.

Each property gets a value that suits both, if there is one; the whole is then put to both
conditions, so that no claim is named that does not meet them. Pure.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from dunwell.core.claims.conditions import ConditionFacts, find_unmet, list_values, read_bounds
from dunwell.core.workflows.definition import Bounds, Condition, TextTest

# Any day will do; an age and a number of days are counted back from it.
_TODAY = date(2026, 1, 1)
_OLDEST = 150


def find_witness(first: Condition | None, second: Condition | None) -> ConditionFacts | None:
    """Facts that meet both; none: no claim does, or none was found."""
    conditions = [condition for condition in (first, second) if condition is not None]
    outstanding = _within([c.outstanding for c in conditions], at_least=1)
    age = _within([c.age for c in conditions])
    days = _within([c.primary_age_days for c in conditions])
    facts = ConditionFacts(
        outstanding_cents=outstanding,
        total_cents=_within([c.total for c in conditions], at_least=outstanding),
        today=_TODAY,
        first_primary_on=_TODAY - timedelta(days=days),
        item_types=frozenset(
            {"PRIMARY", *(list_values(c.item_type)[0] for c in conditions if c.item_type)}
        ),
        date_of_birth=None if age > _OLDEST else _TODAY.replace(year=_TODAY.year - age),
        language=_among([c.language for c in conditions]),
        country=_among([c.country for c in conditions]),
        city=_reading([c.city for c in conditions]),
        postal_code=_reading([c.postal_code for c in conditions]),
        email=_reading([c.email for c in conditions]),
        mobile_number=_reading([c.mobile_number for c in conditions]),
        has_address=True,
        custom_fields=_with_fields([c.custom_fields for c in conditions]),
    )
    return None if any(find_unmet(each, facts) for each in conditions) else facts


def _within(tests: list[Bounds | None], at_least: int = 0) -> int:
    """The least value that is above all lower bounds."""
    lows = [read_bounds(test)[0] for test in tests if test is not None]
    return max([at_least, *(low for low in lows if low is not None)])


def _among(tests: list[str | list[str] | None]) -> str | None:
    """A value of all lists."""
    lists = [list_values(test) for test in tests if test is not None]
    return next((v for v in lists[0] if all(v in each for each in lists)), None) if lists else None


def _reading(tests: list[TextTest | None]) -> str:
    """A text with the longest beginning and the longest end that are asked for."""
    given = [test for test in tests if test is not None]
    for test in given:
        if test.equals is not None:
            return test.equals
    starts = max((test.starts_with or "" for test in given), key=len, default="")
    ends = max((test.ends_with or "" for test in given), key=len, default="")
    return starts + ends


def _with_fields(tests: list[dict[str, str] | None]) -> Mapping[str, str]:
    fields: dict[str, Any] = {}
    for test in tests:
        fields |= test or {}
    return fields
