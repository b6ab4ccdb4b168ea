"""Overlapping rules: every reported overlap exists, and simple overlaps are reported."""

from datetime import date
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.assignment.matching import RuleOutcome, RuleTarget, match_rules
from dunwell.cases.assignment.overlaps import (
    Overlap,
    OverlapExtent,
    find_common_facts,
    implies,
    list_overlaps,
)
from dunwell.cases.assignment.rules import Rule, RuleSet, Share
from dunwell.core.claims.conditions import PROPERTIES, ConditionFacts, list_unmet
from dunwell.core.workflows.definition import Condition
from tests.support.rules import (
    CONDITIONS,
    FACTS,
    RULE_SETS,
    A,
    B,
    C,
    a_condition,
    a_rule,
    some_facts,
)

EUR, CHF = RuleTarget("EUR"), RuleTarget("CHF")
OPEN = {A: EUR, B: EUR, C: EUR}


def overlaps(*rules: Rule, **targets: RuleTarget) -> tuple[Overlap, ...]:
    states = {UUID(int="abc".index(name) + 1): state for name, state in targets.items()}
    return list_overlaps(RuleSet(None, rules), {**OPEN, **states})


def test_a_rule_after_one_without_conditions_never_matches() -> None:
    found = overlaps(a_rule("all", A), a_rule("german", B, country="DE"))
    assert found == (Overlap("all", "german", OverlapExtent.ALL),)


def test_a_rule_after_a_weaker_one_never_matches() -> None:
    weak = a_rule("weak", A, outstanding={"min": "1000"}, country=["DE", "AT"])
    strong = a_rule("strong", B, outstanding={"min": "2000", "max": "3000"}, country="DE")
    assert overlaps(weak, strong) == (Overlap("weak", "strong", OverlapExtent.ALL),)


def test_a_narrower_rule_before_a_wider_one_takes_some_of_its_claims() -> None:
    strong = a_rule("strong", A, outstanding={"min": "2000"})
    assert overlaps(strong, a_rule("all", B)) == (Overlap("strong", "all", OverlapExtent.SOME),)


def test_rules_that_no_claim_can_match_together_do_not_overlap() -> None:
    pairs: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"country": "DE"}, {"country": "AT"}),
        ({"outstanding": {"max": "999"}}, {"outstanding": {"min": "1000"}}),
        ({"outstanding": {"min": "1000"}}, {"total": {"max": "999"}}),
        ({"postalCode": {"startsWith": "20"}}, {"postalCode": {"startsWith": "21"}}),
        ({"email": {"equals": "a@b.de"}}, {"email": {"endsWith": ".at"}}),
        ({"customFields": {"shop": "a"}}, {"customFields": {"shop": "b"}}),
        ({"outstanding": {"max": "0"}}, {"country": "DE"}),
    ]
    for one, other in pairs:
        assert overlaps(a_rule("one", A, **one), a_rule("other", B, **other)) == ()


def test_rules_for_workflows_of_different_currencies_do_not_overlap() -> None:
    assert overlaps(a_rule("euros", A), a_rule("francs", B), b=CHF) == ()
    split = (Share(A, 50), Share(B, 50))
    found = overlaps(a_rule("euros", C), a_rule("both", split), b=CHF)
    assert found == (Overlap("euros", "both", OverlapExtent.SOME),)


def test_inactive_rules_and_rules_with_equal_targets_are_not_reported() -> None:
    german = a_rule("german", A, country="DE")
    assert overlaps(a_rule("all", B, active=False), german) == ()
    assert overlaps(german, a_rule("all", A)) == ()
    assert overlaps(a_rule("all", A), german) == (Overlap("all", "german", OverlapExtent.ALL),)


def test_a_deactivated_workflow_counts_as_active_and_a_missing_one_takes_nothing() -> None:
    rules = (a_rule("all", A), a_rule("german", B, country="DE"))
    deactivated = RuleTarget("EUR", RuleOutcome.SKIPPED_DEACTIVATED)
    assert overlaps(*rules, a=deactivated) == (Overlap("all", "german", OverlapExtent.ALL),)
    assert overlaps(*rules, a=RuleTarget(None, RuleOutcome.SKIPPED_UNPUBLISHED)) == ()


WORDS = [None, "a", "ab", "ba"]
TEXTS = [
    {"equals": equals, "startsWith": starts, "endsWith": ends}
    for equals, starts, ends in product(WORDS, WORDS, WORDS)
    if equals or starts or ends
]
NUMBERS = [{"min": low, "max": high} for low, high in product([None, 1, 2, 3], repeat=2)]
MONEY = [{side: each and str(each) for side, each in test.items()} for test in NUMBERS]
FIELDS = [{"x": "1"}, {"x": "2"}, {"y": "1"}, {"x": "1", "y": "1"}]
ONE_OR_SOME = ["x", ["x"], ["y"], ["x", "y"]]
# For each tested property, every condition of a small world and every claim of it.
WORLDS: dict[str, tuple[list[dict[str, Any]], list[ConditionFacts]]] = {
    "outstanding": (
        [{"outstanding": test} for test in MONEY],
        [some_facts(outstanding_cents=cents) for cents in range(5)],
    ),
    "total": ([{"total": t} for t in MONEY], [some_facts(total_cents=c) for c in range(5)]),
    "age": (
        [{"age": test} for test in NUMBERS],
        [some_facts(date_of_birth=date(2026 - age, 1, 1)) for age in range(5)] + [some_facts()],
    ),
    "primaryAgeDays": (
        [{"primaryAgeDays": test} for test in NUMBERS],
        [some_facts(first_primary_on=day) for day in (None, *(date(2026, 3, n) for n in (1, 2)))],
    ),
    "country": ([{"country": t} for t in ONE_OR_SOME], [some_facts(country=c) for c in "xyz"]),
    "language": ([{"language": t} for t in ONE_OR_SOME], [some_facts(language=c) for c in "xyz"]),
    "itemType": (
        [{"itemType": test} for test in (*ONE_OR_SOME, "PRIMARY", ["x", "PRIMARY"])],
        [some_facts(item_types=frozenset(["PRIMARY", *each])) for each in ("", "x", "y", "xy")],
    ),
    "presence": (
        [{"has": test} for test in (["email"], ["mobileNumber"], ["address"], ["email", "address"])]
        + [{"email": test} for test in TEXTS]
        + [{"mobileNumber": {"startsWith": word}} for word in ("", "a")],
        [
            some_facts(email=email, mobile_number=number, has_address=address)
            for email, number, address in product([*WORDS, "aba"], [None, "ab"], [False, True])
        ],
    ),
    "city": ([{"city": t} for t in TEXTS], [some_facts(city=c) for c in (*WORDS, "aba")]),
    "postalCode": ([{"postalCode": t} for t in TEXTS], [some_facts(postal_code=c) for c in WORDS]),
    "customFields": (
        [{"customFields": test} for test in FIELDS],
        [some_facts(custom_fields=fields) for fields in ({}, *FIELDS)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WORLDS)
def test_an_implication_between_conditions_holds_for_every_claim(name: str) -> None:
    tests, claims = WORLDS[name]
    conditions = [None, *(a_condition(**test) for test in tests)]
    met = [[not list_unmet(each, facts) for facts in claims] for each in conditions]
    implied = 0
    for (strict, by_strict), (lax, by_lax) in product(zip(conditions, met, strict=True), repeat=2):
        if implies(strict, lax):
            implied += strict is not lax and any(by_strict)
            assert all(
                in_lax for in_strict, in_lax in zip(by_strict, by_lax, strict=True) if in_strict
            )
    assert implied > len(conditions)


def test_every_property_can_be_compared() -> None:
    named = {each for tests, _ in WORLDS.values() for test in tests for each in test}
    assert named == {each.name for each in PROPERTIES}


@given(CONDITIONS, CONDITIONS)
def test_the_example_claim_of_an_overlap_matches_both_rules(
    one: Condition | None, other: Condition | None
) -> None:
    facts = find_common_facts(one, other)
    if facts is not None:
        assert list_unmet(one, facts) == list_unmet(other, facts) == []
        assert facts.total_cents >= facts.outstanding_cents >= 1


@given(CONDITIONS, CONDITIONS, FACTS)
def test_an_example_claim_is_found_when_two_rules_overlap(
    one: Condition | None, other: Condition | None, facts: ConditionFacts
) -> None:
    if not list_unmet(one, facts) and not list_unmet(other, facts):
        assert find_common_facts(one, other) is not None


@given(
    RULE_SETS,
    FACTS,
    st.sampled_from(["EUR", "CHF"]),
    st.fixed_dictionaries(dict.fromkeys((A, B, C), st.sampled_from([EUR, CHF]))),
    st.integers(1, 2**63 - 1),
)
def test_a_rule_reported_as_never_matching_matches_no_claim(
    rules: RuleSet, facts: ConditionFacts, currency: str, targets: dict[UUID, RuleTarget],
    claim_id: int,
) -> None:  # fmt: skip
    never = {o.later for o in list_overlaps(rules, targets) if o.extent is OverlapExtent.ALL}
    assert match_rules(rules, facts, currency, targets, claim_id).rule not in never
