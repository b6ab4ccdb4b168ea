"""The conditions of steps and rules, property by property."""

from datetime import date
from typing import Any

import msgspec
import pytest

from dunwell.core.claims.conditions import ConditionFacts, list_unmet
from dunwell.core.workflows.definition import Condition

FACTS = ConditionFacts(
    outstanding_cents=5000,
    total_cents=7500,
    today=date(2026, 3, 2),
    first_primary_on=date(2026, 2, 10),
    item_types=frozenset({"PRIMARY", "DUNNING_FEE"}),
    date_of_birth=date(1990, 3, 3),
    language="de",
    country="DE",
    city="Hamburg",
    postal_code="20459",
    email="erika@example.org",
    mobile_number="+4915112345678",
    has_address=True,
    custom_fields={"segment": "A"},
)
HOLDING: list[dict[str, Any]] = [
    {"outstanding": {"min": "5000", "max": "5000"}},
    {"total": {"min": "7500"}},
    {"age": {"min": 35, "max": 35}},
    {"primaryAgeDays": {"min": 20, "max": 20}},
    {"country": "DE"},
    {"language": ["en", "de"]},
    {"itemType": "DUNNING_FEE"},
    {"has": ["email", "mobileNumber", "address"]},
    {"email": {"endsWith": "@example.org"}},
    {"mobileNumber": {"startsWith": "+49"}},
    {"city": {"equals": "Hamburg"}},
    {"postalCode": {"startsWith": "20", "endsWith": "59"}},
    {"customFields": {"segment": "A"}},
]
FAILING: list[dict[str, Any]] = [
    {"outstanding": {"min": "5001"}},
    {"total": {"max": "7499"}},
    {"age": {"min": 36}},
    {"primaryAgeDays": {"max": 19}},
    {"country": ["AT", "CH"]},
    {"language": "en"},
    {"itemType": ["COLLECTION_FEE"]},
    {"email": {"equals": "other@example.org"}},
    {"mobileNumber": {"endsWith": "9"}},
    {"city": {"startsWith": "hamburg"}},
    {"postalCode": {"equals": "20458"}},
    {"customFields": {"segment": "A", "other": "B"}},
]


@pytest.mark.parametrize("test", HOLDING)
def test_a_property_that_is_met_is_not_listed_as_unmet(test: dict[str, Any]) -> None:
    assert list_unmet(msgspec.convert(test, Condition), FACTS) == []


@pytest.mark.parametrize("test", FAILING)
def test_an_unmet_property_is_named(test: dict[str, Any]) -> None:
    assert list_unmet(msgspec.convert(test, Condition), FACTS) == list(test)


def test_an_unknown_fact_meets_no_condition() -> None:
    nothing = ConditionFacts(outstanding_cents=1, total_cents=1, today=date(2026, 3, 2))
    condition = msgspec.convert(
        {"age": {"min": 0}, "email": {"startsWith": ""}, "has": ["email"], "country": "DE"},
        Condition,
    )
    assert list_unmet(condition, nothing) == ["age", "country", "has", "email"]


def test_every_property_of_the_grammar_is_tested_here() -> None:
    named = {name for test in HOLDING for name in test}
    assert named == {field.encode_name for field in msgspec.structs.fields(Condition)}
