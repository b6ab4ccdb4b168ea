"""Match a claim with the assignment rules: the workflow it gets, and the result of each rule
(CONTRACT 8).

The first active rule whose conditions are all met wins. If its target cannot take the claim now,
the rule is skipped. If the default cannot take it, the claim stays unassigned. Pure.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from dunwell.cases.assignment.rules import Rule, RuleSet
from dunwell.core.claims.conditions import (
    ConditionFacts,
    ConditionInput,
    ConditionProperty,
    list_tests,
    list_unmet,
)

# Shares are percentages, so a claim has one of a hundred positions.
SPLIT_POSITIONS = 100


class RuleOutcome(StrEnum):
    MATCHED = "MATCHED"
    INACTIVE = "INACTIVE"
    # A condition is not met.
    UNMET = "UNMET"
    # The target cannot take the claim.
    SKIPPED_DEACTIVATED = "SKIPPED_DEACTIVATED"
    SKIPPED_DELETED = "SKIPPED_DELETED"
    SKIPPED_UNPUBLISHED = "SKIPPED_UNPUBLISHED"
    SKIPPED_CURRENCY = "SKIPPED_CURRENCY"
    # An earlier rule matched.
    NOT_REACHED = "NOT_REACHED"


@dataclass(frozen=True, slots=True)
class MatchedClaim:
    """The facts of a claim that matching needs. A hypothetical claim may have no id."""

    claim_id: int | None
    currency: str
    conditions: ConditionFacts


@dataclass(frozen=True, slots=True)
class RuleTarget:
    """The facts of a workflow that matching needs."""

    # The only currency that the workflow accepts; None if no version of it can start.
    currency: str | None
    # Why the workflow accepts no claims.
    obstacle: RuleOutcome | None = None


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    name: str
    outcome: RuleOutcome
    # With UNMET: the wire names of the properties whose tests fail.
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """The workflow that a claim gets, and the rule that gives it. A workflow without a rule is the
    default; without both, the claim stays unassigned."""

    workflow_id: UUID | None
    rule: str | None
    # One per rule, in order.
    verdicts: tuple[RuleVerdict, ...] = ()
    # The result of the default; None if there is no default.
    default: RuleOutcome | None = None

    @property
    def is_refused_for_currency(self) -> bool:
        """True if the claim is unassigned and at least one rule, or the default, was skipped
        because of its workflow's currency."""
        outcomes = [self.default, *(verdict.outcome for verdict in self.verdicts)]
        return self.workflow_id is None and RuleOutcome.SKIPPED_CURRENCY in outcomes


def match_rules(
    rules: RuleSet, facts: ConditionInput, currency: str, targets: Mapping[UUID, RuleTarget],
    claim_id: int,
) -> RuleMatch:  # fmt: skip
    """Match the rules with a claim. `targets` has each workflow that the rules refer to."""
    return match_rules_at_position(
        rules,
        facts=facts,
        currency=currency,
        targets=targets,
        position=compute_split_position(claim_id),
    )


def match_rules_at_position(
    rules: RuleSet, facts: ConditionInput, currency: str, targets: Mapping[UUID, RuleTarget],
    position: int,
) -> RuleMatch:  # fmt: skip
    """Match the rules with a claim that has this position (0 to 99) in splits."""
    verdicts: list[RuleVerdict] = []
    remaining = iter(rules.rules)
    for rule in remaining:
        workflow_id = choose_target(rule, position)
        verdict = _decide_verdict(rule, facts, currency, targets.get(workflow_id))
        verdicts.append(verdict)
        if verdict.outcome is RuleOutcome.MATCHED:
            verdicts += _list_not_reached(remaining)
            default = None if rules.default is None else RuleOutcome.NOT_REACHED
            return RuleMatch(workflow_id, rule.name, tuple(verdicts), default)
    return match_default(rules, currency, targets, tuple(verdicts))


def match_default(
    rules: RuleSet, currency: str, targets: Mapping[UUID, RuleTarget],
    verdicts: tuple[RuleVerdict, ...] = (),
) -> RuleMatch:  # fmt: skip
    """Return the match of a claim that no rule matches. Only its currency matters."""
    if rules.default is None:
        return RuleMatch(None, None, verdicts)
    obstacle = _find_obstacle(targets.get(rules.default), currency)
    if obstacle is not None:
        return RuleMatch(None, None, verdicts, obstacle)
    return RuleMatch(rules.default, None, verdicts, RuleOutcome.MATCHED)


@dataclass(frozen=True, slots=True)
class PreparedRule:
    """An active rule with the list of its tests."""

    rule: Rule
    tests: tuple[tuple[ConditionProperty, Any], ...]


def prepare_rules(rules: RuleSet) -> tuple[PreparedRule, ...]:
    return tuple(PreparedRule(rule, list_tests(rule.when)) for rule in rules.rules if rule.active)


def find_matching_rule(
    prepared: Sequence[PreparedRule], facts: ConditionInput, currency: str,
    targets: Mapping[UUID, RuleTarget], claim_id: int,
) -> tuple[Rule, UUID] | None:  # fmt: skip
    """Return the matching rule and its workflow, or None.

    The result is that of `match_rules` without the reasons, but fast enough for thousands of
    claims.
    """
    for each in prepared:
        for tested, test in each.tests:
            if not tested.is_met(test, facts):
                break
        else:
            target = each.rule.target
            if not isinstance(target, UUID):
                target = choose_target(each.rule, compute_split_position(claim_id))
            if _find_obstacle(targets.get(target), currency) is None:
                return each.rule, target
    return None


def choose_workflow(
    prepared: Sequence[PreparedRule], facts: ConditionInput, currency: str,
    targets: Mapping[UUID, RuleTarget], claim_id: int,
) -> UUID | None:  # fmt: skip
    """Return the workflow of the matching rule, or None."""
    matched = find_matching_rule(
        prepared, facts, currency=currency, targets=targets, claim_id=claim_id
    )
    return None if matched is None else matched[1]


def compute_split_position(claim_id: int) -> int:
    """Return the claim's position in splits, 0 to 99. It never changes, and positions are evenly
    distributed."""
    digest = hashlib.blake2b(b"split:%d" % claim_id, digest_size=8).digest()
    return int.from_bytes(digest, "big") % SPLIT_POSITIONS


def choose_target(rule: Rule, position: int) -> UUID:
    """Return the rule's workflow for a claim at this position."""
    if isinstance(rule.target, UUID):
        return rule.target
    reached = 0
    for share in rule.target:
        reached += share.percent
        if position < reached:
            return share.workflow
    return rule.target[-1].workflow


def _decide_verdict(
    rule: Rule, facts: ConditionInput, currency: str, target: RuleTarget | None
) -> RuleVerdict:
    if not rule.active:
        return RuleVerdict(rule.name, RuleOutcome.INACTIVE)
    unmet = list_unmet(rule.when, facts)
    if unmet:
        return RuleVerdict(rule.name, RuleOutcome.UNMET, tuple(unmet))
    return RuleVerdict(rule.name, _find_obstacle(target, currency) or RuleOutcome.MATCHED)


def _find_obstacle(target: RuleTarget | None, currency: str) -> RuleOutcome | None:
    if target is None:
        return RuleOutcome.SKIPPED_DELETED
    if target.obstacle is not None:
        return target.obstacle
    return None if target.currency == currency else RuleOutcome.SKIPPED_CURRENCY


def _list_not_reached(rules: Iterator[Rule]) -> list[RuleVerdict]:
    return [
        RuleVerdict(rule.name, RuleOutcome.NOT_REACHED if rule.active else RuleOutcome.INACTIVE)
        for rule in rules
    ]
