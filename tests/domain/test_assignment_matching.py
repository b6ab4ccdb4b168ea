"""Matching of rules: the first active rule that matches and can be assigned wins; splits are
stable."""

from collections import Counter
from collections.abc import Mapping
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.assignment.matching import (
    RuleMatch,
    RuleOutcome,
    RuleTarget,
    RuleVerdict,
    choose_workflow,
    compute_split_position,
    match_rules,
    prepare_rules,
)
from dunwell.cases.assignment.rules import Rule, RuleSet, Share, has_splits, list_targets
from dunwell.core.claims.conditions import ConditionFacts, list_unmet
from tests.support.rules import (
    FACTS,
    RULE_SETS,
    TARGET_STATES,
    A,
    B,
    C,
    a_rule,
    some_facts,
)

EUR = RuleTarget("EUR")
OPEN = {A: EUR, B: EUR, C: EUR}
SPLIT = (Share(A, 70), Share(B, 30))


def match(
    rules: RuleSet, targets: Mapping[UUID, RuleTarget] = OPEN, claim_id: int = 1
) -> RuleMatch:
    """Match with outcomes, and check in each example that the shorter way chooses the same."""
    facts = some_facts(country="DE")
    found = match_rules(rules, facts, "EUR", targets, claim_id)
    chosen = choose_workflow(prepare_rules(rules), facts, "EUR", targets, claim_id)
    assert chosen == (None if found.rule is None else found.workflow_id)
    return found


def test_the_first_matching_rule_wins_and_every_rule_has_an_outcome() -> None:
    rules = RuleSet(
        default=C,
        rules=(
            a_rule("sleeping", A, active=False),
            a_rule("large", A, outstanding={"min": "5001"}, country="AT"),
            a_rule("german", B, country="DE"),
            a_rule("german too", A, country="DE"),
        ),
    )
    assert match(rules) == RuleMatch(
        B,
        "german",
        (
            RuleVerdict("sleeping", RuleOutcome.INACTIVE),
            RuleVerdict("large", RuleOutcome.UNMET, ("outstanding", "country")),
            RuleVerdict("german", RuleOutcome.MATCHED),
            RuleVerdict("german too", RuleOutcome.NOT_REACHED),
        ),
        RuleOutcome.NOT_REACHED,
    )


def test_without_a_matching_rule_the_default_applies_if_there_is_one() -> None:
    unmet = a_rule("large", A, outstanding={"min": "5001"})
    with_default = match(RuleSet(B, (unmet,)))
    assert (with_default.workflow_id, with_default.rule) == (B, None)
    assert with_default.default is RuleOutcome.MATCHED
    without = match(RuleSet(None, (unmet,)))
    assert (without.workflow_id, without.rule, without.default) == (None, None, None)


@pytest.mark.parametrize(
    ("target", "outcome"),
    [
        (RuleTarget("EUR", RuleOutcome.SKIPPED_DEACTIVATED), RuleOutcome.SKIPPED_DEACTIVATED),
        (RuleTarget(None, RuleOutcome.SKIPPED_DELETED), RuleOutcome.SKIPPED_DELETED),
        (RuleTarget(None, RuleOutcome.SKIPPED_UNPUBLISHED), RuleOutcome.SKIPPED_UNPUBLISHED),
        (RuleTarget("CHF"), RuleOutcome.SKIPPED_CURRENCY),
        (None, RuleOutcome.SKIPPED_DELETED),
    ],
)
def test_a_rule_whose_workflow_cannot_take_the_claim_is_skipped(
    target: RuleTarget | None, outcome: RuleOutcome
) -> None:
    targets = {B: EUR} if target is None else {A: target, B: EUR}
    found = match(RuleSet(A, (a_rule("first", A), a_rule("second", B))), targets)
    assert (found.workflow_id, found.rule) == (B, "second")
    assert found.verdicts[0].outcome is outcome
    as_default = match(RuleSet(A), targets)
    assert (as_default.workflow_id, as_default.default) == (None, outcome)
    assert as_default.is_refused_for_currency is (outcome is RuleOutcome.SKIPPED_CURRENCY)


def test_a_claim_whose_split_target_is_deactivated_is_matched_by_the_next_rule() -> None:
    deactivated = RuleTarget("EUR", RuleOutcome.SKIPPED_DEACTIVATED)
    rules = RuleSet(None, (a_rule("split", SPLIT), a_rule("rest", C)))
    outcomes = Counter(
        match(rules, {A: EUR, B: deactivated, C: EUR}, claim_id).workflow_id
        for claim_id in range(1, 1001)
    )
    assert set(outcomes) == {A, C}
    assert outcomes[C] == sum(compute_split_position(claim_id) >= 70 for claim_id in range(1, 1001))


def test_a_split_keeps_its_proportions() -> None:
    rules = RuleSet(None, (a_rule("split", SPLIT),))
    counted = Counter(match(rules, OPEN, claim_id).workflow_id for claim_id in range(1, 20_001))
    # Four standard deviations of 20,000 draws at 0.7 are 1.3 %.
    assert abs(counted[A] / 20_000 - 0.7) < 0.013
    assert counted[A] + counted[B] == 20_000


def test_the_split_position_of_a_claim_never_changes() -> None:
    # These values must not change: with another hash a claim would get another workflow than
    # announced.
    places = [compute_split_position(claim_id) for claim_id in (1, 2, 3, 4711, 2**63 - 1)]
    assert places == [71, 23, 13, 73, 82]


@given(st.integers(1, 2**63 - 1), st.integers(1, 99), st.integers(1, 99))
def test_a_larger_share_keeps_the_claims_it_had(claim_id: int, one: int, other: int) -> None:
    less, more = sorted((one, other))
    got = []
    for percent in (less, more):
        split = (Share(A, percent), Share(B, 100 - percent))
        got.append(match(RuleSet(None, (a_rule("split", split),)), OPEN, claim_id).workflow_id)
    assert got[0] == B or got[1] == A


@given(RULE_SETS, FACTS, TARGET_STATES, st.integers(1, 2**63 - 1))
def test_the_winning_rule_matches_and_no_earlier_rule_could_be_assigned(
    rules: RuleSet, facts: ConditionFacts, targets: dict[UUID, RuleTarget], claim_id: int
) -> None:
    found = match_rules(rules, facts, "EUR", targets, claim_id)
    assert [verdict.name for verdict in found.verdicts] == [rule.name for rule in rules.rules]
    matched = [v.name for v in found.verdicts if v.outcome is RuleOutcome.MATCHED]
    assert matched == ([] if found.rule is None else [found.rule])
    for rule, verdict in zip(rules.rules, found.verdicts, strict=True):
        if verdict.outcome is RuleOutcome.MATCHED:
            break
        target = targets.get(target_of(rule, claim_id))
        takes = target is not None and target == EUR
        assert not (rule.active and takes and not list_unmet(rule.when, facts))
    if found.workflow_id is not None:
        assert targets[found.workflow_id] == EUR


def target_of(rule: Rule, claim_id: int) -> UUID:
    if isinstance(rule.target, UUID):
        return rule.target
    is_first = compute_split_position(claim_id) < rule.target[0].percent
    return rule.target[0 if is_first else 1].workflow


@given(RULE_SETS, FACTS, TARGET_STATES, st.integers(1, 2**63 - 1))
def test_choosing_without_reasons_chooses_the_same(
    rules: RuleSet, facts: ConditionFacts, targets: dict[UUID, RuleTarget], claim_id: int
) -> None:
    prepared = prepare_rules(rules)
    chosen = choose_workflow(prepared, facts, "EUR", targets, claim_id)
    found = match_rules(rules, facts, "EUR", targets, claim_id)
    assert chosen == (None if found.rule is None else found.workflow_id)


@given(RULE_SETS, FACTS, st.integers(1, 2**63 - 1))
def test_removing_a_rule_that_does_not_match_changes_nothing(
    rules: RuleSet, facts: ConditionFacts, claim_id: int
) -> None:
    found = match_rules(rules, facts, "EUR", OPEN, claim_id)
    kept = tuple(rule for rule in rules.rules if rule.name == found.rule)
    again = match_rules(RuleSet(rules.default, kept), facts, "EUR", OPEN, claim_id)
    assert (again.workflow_id, again.rule) == (found.workflow_id, found.rule)


def test_targets_are_listed_once_and_only_active_splits_ask_for_ids() -> None:
    rules = RuleSet(C, (a_rule("one", SPLIT, active=False), a_rule("two", A)))
    assert list_targets(rules) == [A, B, C]
    assert not has_splits(rules)
    assert has_splits(RuleSet(None, (a_rule("one", SPLIT),)))
