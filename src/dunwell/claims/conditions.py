"""Whether a claim meets a condition: one grammar for step guards and assignment rules. Pure.

The answer names every property that fails, so that "why was this step skipped?" has an answer.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date

from dunwell.workflows.definition import Bounds, Condition, TextTest


@dataclass(frozen=True, slots=True)
class ConditionFacts:
    """What conditions may ask about a claim on a day in the merchant's zone."""

    outstanding_cents: int
    total_cents: int
    today: date
    first_primary_on: date | None = None
    item_types: frozenset[str] = frozenset()
    date_of_birth: date | None = None
    language: str | None = None
    country: str | None = None
    city: str | None = None
    postal_code: str | None = None
    email: str | None = None
    mobile_number: str | None = None
    has_address: bool = False
    custom_fields: Mapping[str, str] = field(default_factory=dict)

    @property
    def age(self) -> int | None:
        """The debtor's full years."""
        born = self.date_of_birth
        if born is None:
            return None
        had_birthday = (self.today.month, self.today.day) >= (born.month, born.day)
        return self.today.year - born.year - (0 if had_birthday else 1)

    @property
    def primary_age_days(self) -> int | None:
        """Days since the first PRIMARY item's due date, or its item date."""
        first = self.first_primary_on
        return None if first is None else (self.today - first).days


def find_unmet(condition: Condition | None, facts: ConditionFacts) -> list[str]:
    """The properties whose tests fail, by their names on the wire; none: it holds."""
    if condition is None:
        return []
    return [name for name, test in _TESTS.items() if not test(condition, facts)]


def _within(bounds: Bounds | None, value: int | None) -> bool:
    if bounds is None:
        return True
    if value is None:
        return False
    low = int(bounds.min) if bounds.min is not None else None
    high = int(bounds.max) if bounds.max is not None else None
    return (low is None or low <= value) and (high is None or value <= high)


def _is_one_of(wanted: str | list[str] | None, value: str | None) -> bool:
    if wanted is None:
        return True
    return value in ([wanted] if isinstance(wanted, str) else wanted)


def _reads(test: TextTest | None, value: str | None) -> bool:
    if test is None:
        return True
    if value is None:
        return False
    return (
        (test.equals is None or value == test.equals)
        and (test.starts_with is None or value.startswith(test.starts_with))
        and (test.ends_with is None or value.endswith(test.ends_with))
    )


def _has_all(condition: Condition, facts: ConditionFacts) -> bool:
    present = {
        "email": facts.email is not None,
        "mobileNumber": facts.mobile_number is not None,
        "address": facts.has_address,
    }
    return all(present[name] for name in condition.has or [])


def _has_item_type(condition: Condition, facts: ConditionFacts) -> bool:
    wanted = condition.item_type
    if wanted is None:
        return True
    return any(_is_one_of(wanted, item_type) for item_type in facts.item_types)


def _has_custom_fields(condition: Condition, facts: ConditionFacts) -> bool:
    wanted = condition.custom_fields or {}
    return all(facts.custom_fields.get(name) == value for name, value in wanted.items())


_TESTS: dict[str, Callable[[Condition, ConditionFacts], bool]] = {
    "outstanding": lambda c, f: _within(c.outstanding, f.outstanding_cents),
    "total": lambda c, f: _within(c.total, f.total_cents),
    "age": lambda c, f: _within(c.age, f.age),
    "primaryAgeDays": lambda c, f: _within(c.primary_age_days, f.primary_age_days),
    "country": lambda c, f: _is_one_of(c.country, f.country),
    "language": lambda c, f: _is_one_of(c.language, f.language),
    "itemType": _has_item_type,
    "has": _has_all,
    "email": lambda c, f: _reads(c.email, f.email),
    "mobileNumber": lambda c, f: _reads(c.mobile_number, f.mobile_number),
    "city": lambda c, f: _reads(c.city, f.city),
    "postalCode": lambda c, f: _reads(c.postal_code, f.postal_code),
    "customFields": _has_custom_fields,
}
