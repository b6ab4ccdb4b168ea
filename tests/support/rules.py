"""Assignment rules for tests, and Hypothesis strategies with so few values that rules often
collide."""

from datetime import date, timedelta
from typing import Any
from uuid import UUID

import msgspec
from hypothesis import strategies as st

from dunwell.cases.assignment.matching import RuleOutcome, RuleTarget
from dunwell.cases.assignment.rules import Rule, RuleSet, Share
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.workflows.definition import Condition

TODAY = date(2026, 3, 2)
A, B, C = (UUID(int=number) for number in (1, 2, 3))


def a_condition(**tests: Any) -> Condition:
    """The arguments are the property names of the API."""
    return msgspec.convert(tests, Condition)


def a_rule(name: str, target: UUID | tuple[Share, ...] = A, **when: Any) -> Rule:
    active = when.pop("active", True)
    return Rule(name, target, a_condition(**when) if when else None, active)


def some_facts(**given: Any) -> ConditionFacts:
    facts: dict[str, Any] = {
        "outstanding_cents": 5000,
        "total_cents": 5000,
        "item_types": frozenset(["PRIMARY"]),
    }
    return ConditionFacts(**{**facts, "today": TODAY, **given})


def _bounds(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    sides = {"min": values, "max": values}
    return st.fixed_dictionaries({}, optional=sides).filter(bool)


_CENTS = st.integers(0, 6).map(str)
_YEARS = st.integers(17, 21)
_WORDS = st.sampled_from(["a", "ab", "aba", "b", "ba"])
_TEXT = st.fixed_dictionaries(
    {}, optional={"equals": _WORDS, "startsWith": _WORDS, "endsWith": _WORDS}
).filter(bool)


def _one_or_some(values: list[str]) -> st.SearchStrategy[Any]:
    one = st.sampled_from(values)
    return one | st.lists(one, min_size=1, max_size=2, unique=True)


# Property -> its tests as JSON data.
_TESTS: dict[str, st.SearchStrategy[Any]] = {
    "outstanding": _bounds(_CENTS),
    "total": _bounds(_CENTS),
    "age": _bounds(_YEARS),
    "primaryAgeDays": _bounds(st.integers(0, 3)),
    "country": _one_or_some(["DE", "AT"]),
    "language": _one_or_some(["de", "en"]),
    "itemType": _one_or_some(["PRIMARY", "DUNNING_FEE", "COLLECTION_FEE"]),
    "has": st.lists(st.sampled_from(["email", "mobileNumber", "address"]), min_size=1, unique=True),
    "email": _TEXT,
    "mobileNumber": _TEXT,
    "city": _TEXT,
    "postalCode": _TEXT,
    "customFields": st.dictionaries(st.sampled_from(["x", "y"]), st.sampled_from("12"), min_size=1),
}


def _conditions_on(*names: str) -> st.SearchStrategy[Condition]:
    """Conditions with a test of each of these properties."""
    return st.fixed_dictionaries({name: _TESTS[name] for name in names}).map(
        lambda tests: msgspec.convert(tests, Condition)
    )


CONDITIONS: st.SearchStrategy[Condition | None] = st.none() | st.lists(
    st.sampled_from(list(_TESTS)), min_size=1, max_size=3, unique=True
).flatmap(lambda names: _conditions_on(*names))
_TEXTS = st.none() | _WORDS | st.just("abab")
FACTS = st.builds(
    lambda outstanding, paid, age, days, fees, **texts: ConditionFacts(
        outstanding_cents=outstanding,
        total_cents=outstanding + paid,
        today=TODAY,
        date_of_birth=None if age is None else TODAY.replace(year=TODAY.year - age),
        first_primary_on=None if days is None else TODAY - timedelta(days=days),
        item_types=frozenset(["PRIMARY", *fees]),
        **texts,
    ),
    st.integers(1, 6),
    st.integers(0, 2),
    st.none() | _YEARS,
    st.none() | st.integers(0, 3),
    st.sets(st.sampled_from(["DUNNING_FEE", "COLLECTION_FEE"])),
    country=st.none() | st.sampled_from(["DE", "AT", "CH"]),
    language=st.none() | st.sampled_from(["de", "en", "fr"]),
    city=_TEXTS,
    postal_code=_TEXTS,
    email=_TEXTS,
    mobile_number=_TEXTS,
    has_address=st.booleans(),
    custom_fields=st.dictionaries(st.sampled_from("xyz"), st.sampled_from("12")),
)
_TARGETS = st.sampled_from([A, B, C])


def _split(first: int) -> tuple[Share, ...]:
    return (Share(A, first), Share(B, 100 - first))


RULES = st.lists(
    st.tuples(_TARGETS | st.integers(1, 99).map(_split), CONDITIONS, st.booleans()), max_size=5
).map(
    lambda given: tuple(
        Rule(f"rule {n}", target, when, active) for n, (target, when, active) in enumerate(given)
    )
)
RULE_SETS = st.builds(RuleSet, st.none() | _TARGETS, RULES)
TARGET_STATES = st.fixed_dictionaries(
    {},
    optional=dict.fromkeys(
        (A, B, C),
        st.builds(RuleTarget, st.sampled_from(["EUR", "CHF"]))
        | st.just(RuleTarget("EUR", RuleOutcome.SKIPPED_DEACTIVATED))
        | st.just(RuleTarget(None, RuleOutcome.SKIPPED_UNPUBLISHED)),
    ),
)
