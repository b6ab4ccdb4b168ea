"""Evaluate conditions about a claim, for step guards and assignment rules.

The result names every property that fails, to explain why a step was skipped. Pure.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from enum import Enum, auto
from operator import attrgetter
from typing import Any, Protocol

from dunwell.core.workflows.definition import Condition, IntegerBounds, TextTest


class ConditionInput(Protocol):
    """The facts about a claim that conditions can test, on one day in the merchant's time zone."""

    @property
    def outstanding_cents(self) -> int: ...
    @property
    def total_cents(self) -> int: ...
    @property
    def age(self) -> int | None:
        """The debtor's age in full years."""

    @property
    def primary_age_days(self) -> int | None:
        """Days since the due date of the first PRIMARY item, or since its item date if it has no
        due date."""

    @property
    def item_types(self) -> Collection[str]: ...
    @property
    def language(self) -> str | None: ...
    @property
    def country(self) -> str | None: ...
    @property
    def city(self) -> str | None: ...
    @property
    def postal_code(self) -> str | None: ...
    @property
    def email(self) -> str | None: ...
    @property
    def mobile_number(self) -> str | None: ...
    @property
    def has_address(self) -> bool: ...
    @property
    def custom_fields(self) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class ConditionFacts:
    """A ConditionInput that is built from dates and amounts."""

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
        return count_years(self.date_of_birth, self.today)

    @property
    def primary_age_days(self) -> int | None:
        first = self.first_primary_on
        return None if first is None else (self.today - first).days


def count_years(born: date | None, today: date) -> int | None:
    """Return the age in full years, or None if the date of birth is unknown."""
    if born is None:
        return None
    had_birthday = (today.month, today.day) >= (born.month, born.day)
    return today.year - born.year - (0 if had_birthday else 1)


class ConditionPropertyKind(Enum):
    """The format of a property's test."""

    # AMOUNT and NUMBER have a lower and an upper limit.
    AMOUNT = auto()
    NUMBER = auto()
    # CODES: a code or a list of codes.
    CODES = auto()
    # ONE_OF: one of the property's options, or a list of them of which one must match.
    ONE_OF = auto()
    # ALL_OF: a list of the property's options, all of which must hold.
    ALL_OF = auto()
    TEXT = auto()
    # FIELDS: names of custom fields, and the value that each must have.
    FIELDS = auto()


@dataclass(frozen=True, slots=True)
class ConditionProperty:
    """A property of the grammar: the format of its test, and how it is evaluated."""

    # The name in JSON.
    name: str
    # The attribute of `Condition`.
    attribute: str
    kind: ConditionPropertyKind
    is_met: Callable[[Any, ConditionInput], bool]
    # The accepted values and the meaning of the test, as the table in the operator's guide shows
    # them.
    accepted_values: str
    meaning: str
    options: tuple[str, ...] = ()


def list_tests(condition: Condition | None) -> tuple[tuple[ConditionProperty, Any], ...]:
    """Return the properties that the condition tests, each with its test. A condition without tests
    always holds."""
    if condition is None:
        return ()
    pairs = zip(PROPERTIES, _get_tests(condition), strict=True)
    return tuple((each, test) for each, test in pairs if test is not None)


def list_unmet(condition: Condition | None, facts: ConditionInput) -> list[str]:
    """Return the JSON names of the properties whose tests fail. If empty, the condition holds."""
    return [each.name for each, test in list_tests(condition) if not each.is_met(test, facts)]


def is_within(bounds: IntegerBounds, value: int | None) -> bool:
    """Return whether the value is within the bounds. An unknown value never is."""
    if value is None:
        return False
    low, high = parse_bounds(bounds)
    return (low is None or low <= value) and (high is None or value <= high)


def parse_bounds(bounds: IntegerBounds) -> tuple[int | None, int | None]:
    """Return both bounds, inclusive. None: no limit."""
    return (
        None if bounds.min is None else int(bounds.min),
        None if bounds.max is None else int(bounds.max),
    )


def list_values(wanted: str | list[str]) -> list[str]:
    return [wanted] if isinstance(wanted, str) else wanted


def matches_text(test: TextTest, value: str | None) -> bool:
    """Return whether the text passes the test. A missing text never does."""
    if value is None:
        return False
    return (
        (test.equals is None or value == test.equals)
        and (test.starts_with is None or value.startswith(test.starts_with))
        and (test.ends_with is None or value.endswith(test.ends_with))
    )


def _has_contact_data(wanted: list[str], facts: ConditionInput) -> bool:
    has_data = {
        "email": facts.email is not None,
        "mobileNumber": facts.mobile_number is not None,
        "address": facts.has_address,
    }
    return all(has_data[name] for name in wanted)


def _has_item_type(wanted: str | list[str], facts: ConditionInput) -> bool:
    return any(each in facts.item_types for each in list_values(wanted))


def _has_fields(wanted: Mapping[str, str], facts: ConditionInput) -> bool:
    return all(facts.custom_fields.get(name) == value for name, value in wanted.items())


_MONEY = '{min?, max?}, amounts in minor units as strings: {min: "5000"}'
_NUMBER = "{min?, max?}, whole numbers: {min: 18}"
_TEXT = "{equals?, startsWith?, endsWith?}"
_ONE_OR_LIST = "one or a list: DE or [DE, AT]"

PROPERTIES = (
    ConditionProperty(
        "outstanding",
        "outstanding",
        ConditionPropertyKind.AMOUNT,
        is_met=lambda test, facts: is_within(test, facts.outstanding_cents),
        accepted_values=_MONEY,
        meaning="the outstanding amount is at least min and at most max",
    ),
    ConditionProperty(
        "total",
        "total",
        ConditionPropertyKind.AMOUNT,
        is_met=lambda test, facts: is_within(test, facts.total_cents),
        accepted_values=_MONEY,
        meaning="the sum of all items, paid or not, is at least min and at most max",
    ),
    ConditionProperty(
        "age",
        "age",
        ConditionPropertyKind.NUMBER,
        is_met=lambda test, facts: is_within(test, facts.age),
        accepted_values=_NUMBER,
        meaning="the debtor's age in full years is at least min and at most max; a claim without a "
        "date of birth never matches",
    ),
    ConditionProperty(
        "primaryAgeDays",
        "primary_age_days",
        ConditionPropertyKind.NUMBER,
        is_met=lambda test, facts: is_within(test, facts.primary_age_days),
        accepted_values=_NUMBER,
        meaning="the number of days since the first PRIMARY item's due date, or else its item "
        "date, is in the range; without either date the test fails",
    ),
    ConditionProperty(
        "country",
        "country",
        ConditionPropertyKind.CODES,
        is_met=lambda test, facts: facts.country in list_values(test),
        accepted_values=_ONE_OR_LIST,
        meaning="the debtor's address is in one of these countries",
    ),
    ConditionProperty(
        "language",
        "language",
        ConditionPropertyKind.CODES,
        is_met=lambda test, facts: facts.language in list_values(test),
        accepted_values="one or a list: de or [de, en]",
        meaning="the claim's language is one of these",
    ),
    ConditionProperty(
        "itemType",
        "item_type",
        ConditionPropertyKind.ONE_OF,
        is_met=_has_item_type,
        accepted_values="one or a list of PRIMARY, COLLECTION_FEE, DUNNING_FEE",
        meaning="the claim has an item of one of these types",
        options=("PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"),
    ),
    ConditionProperty(
        "has",
        "has",
        ConditionPropertyKind.ALL_OF,
        is_met=_has_contact_data,
        accepted_values="a list of email, mobileNumber, address",
        meaning="the claim has all of these; an address needs street and city",
        options=("email", "mobileNumber", "address"),
    ),
    ConditionProperty(
        "email",
        "email",
        ConditionPropertyKind.TEXT,
        is_met=lambda test, facts: matches_text(test, facts.email),
        accepted_values=_TEXT,
        meaning=(
            "the e-mail address passes the text test, compared character by character; without an "
            "address the test fails"
        ),
    ),
    ConditionProperty(
        "mobileNumber",
        "mobile_number",
        ConditionPropertyKind.TEXT,
        is_met=lambda test, facts: matches_text(test, facts.mobile_number),
        accepted_values=_TEXT,
        meaning="the debtor's mobile number, in the form +4915112345678, matches",
    ),
    ConditionProperty(
        "city",
        "city",
        ConditionPropertyKind.TEXT,
        is_met=lambda test, facts: matches_text(test, facts.city),
        accepted_values=_TEXT,
        meaning="the city of the address matches; upper and lower case are distinguished",
    ),
    ConditionProperty(
        "postalCode",
        "postal_code",
        ConditionPropertyKind.TEXT,
        is_met=lambda test, facts: matches_text(test, facts.postal_code),
        accepted_values=_TEXT,
        meaning="the postal code of the address matches",
    ),
    ConditionProperty(
        "customFields",
        "custom_fields",
        ConditionPropertyKind.FIELDS,
        is_met=_has_fields,
        accepted_values="{name: value, ...}",
        meaning="each of these custom fields has exactly this value",
    ),
)
_get_tests = attrgetter(*(each.attribute for each in PROPERTIES))
