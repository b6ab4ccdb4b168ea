"""Which workflow the rules give to a claim, and what became of each rule (CONTRACT 8).

The first active rule whose conditions all hold wins. A rule whose target cannot take the claim now
is skipped and the next is looked at; so is the default, which leaves the claim unassigned. Pure.
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
    Facts,
    Property,
    find_unmet,
    list_tests,
)

# Shares are percentages: a claim has one of so many places.
SPLIT_PLACES = 100


class RuleOutcome(StrEnum):
    MATCHED = "MATCHED"
    INACTIVE = "INACTIVE"
    # A condition does not hold.
    UNMET = "UNMET"
    # The target cannot take the claim.
    SKIPPED_DEACTIVATED = "SKIPPED_DEACTIVATED"
    SKIPPED_DELETED = "SKIPPED_DELETED"
    SKIPPED_UNPUBLISHED = "SKIPPED_UNPUBLISHED"
    SKIPPED_CURRENCY = "SKIPPED_CURRENCY"
    # An earlier rule won.
    NOT_REACHED = "NOT_REACHED"


@dataclass(frozen=True, slots=True)
class MatchedClaim:
    """What matching asks of a claim; no id: one that is not there yet."""

    claim_id: int | None
    currency: str
    conditions: ConditionFacts


@dataclass(frozen=True, slots=True)
class RuleTarget:
    """What matching asks of a workflow."""

    # The only one it takes; none: it has no version that could be started.
    currency: str | None
    # Why it takes no claims at all.
    obstacle: RuleOutcome | None = None


@dataclass(frozen=True, slots=True)
class RuleVerdict:
    name: str
    outcome: RuleOutcome
    # With UNMET: the properties whose tests fail, by their names on the wire.
    unmet: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RuleMatch:
    """What a claim gets. No rule but a workflow: the default; neither: it stays unassigned."""

    workflow_id: UUID | None
    rule: str | None
    # One for each rule, in order.
    verdicts: tuple[RuleVerdict, ...] = ()
    # What became of the default; none: there is no default.
    default: RuleOutcome | None = None

    @property
    def is_other_currency(self) -> bool:
        """Unassigned, and a workflow of another currency was the reason for one rule at least."""
        outcomes = [self.default, *(verdict.outcome for verdict in self.verdicts)]
        return self.workflow_id is None and RuleOutcome.SKIPPED_CURRENCY in outcomes


def match_rules(
    rules: RuleSet, facts: Facts, currency: str, targets: Mapping[UUID, RuleTarget],
    claim_id: int,
) -> RuleMatch:  # fmt: skip
    """Look at the rules in order for a claim; `targets` has every workflow they point to."""
    return match_rules_at_place(
        rules, facts=facts, currency=currency, targets=targets, place=compute_split_place(claim_id)
    )


def match_rules_at_place(
    rules: RuleSet, facts: Facts, currency: str, targets: Mapping[UUID, RuleTarget],
    place: int,
) -> RuleMatch:  # fmt: skip
    """As `match_rules`, for whatever claim has this place (0 to 99) in splits."""
    verdicts: list[RuleVerdict] = []
    remaining = iter(rules.rules)
    for rule in remaining:
        workflow_id = choose_target(rule, place)
        verdict = _judge(rule, facts, currency, targets.get(workflow_id))
        verdicts.append(verdict)
        if verdict.outcome is RuleOutcome.MATCHED:
            verdicts += _not_reached(remaining)
            default = None if rules.default is None else RuleOutcome.NOT_REACHED
            return RuleMatch(workflow_id, rule.name, tuple(verdicts), default)
    return match_default(rules, currency, targets, tuple(verdicts))


def match_default(
    rules: RuleSet, currency: str, targets: Mapping[UUID, RuleTarget],
    verdicts: tuple[RuleVerdict, ...] = (),
) -> RuleMatch:  # fmt: skip
    """What a claim gets that no rule has taken; nothing is asked of it but its currency."""
    if rules.default is None:
        return RuleMatch(None, None, verdicts)
    obstacle = _find_obstacle(targets.get(rules.default), currency)
    if obstacle is not None:
        return RuleMatch(None, None, verdicts, obstacle)
    return RuleMatch(rules.default, None, verdicts, RuleOutcome.MATCHED)


@dataclass(frozen=True, slots=True)
class PreparedRule:
    """An active rule with its tests laid out."""

    rule: Rule
    tests: tuple[tuple[Property, Any], ...]


def prepare_rules(rules: RuleSet) -> tuple[PreparedRule, ...]:
    return tuple(PreparedRule(rule, list_tests(rule.when)) for rule in rules.rules if rule.active)


def find_matching_rule(
    prepared: Sequence[PreparedRule], facts: Facts, currency: str,
    targets: Mapping[UUID, RuleTarget], claim_id: int,
) -> tuple[Rule, UUID] | None:  # fmt: skip
    """The rule that wins, with its workflow; none: no rule does. Gives no reasons: what
    `match_rules` says, for claims by the thousand."""
    for each in prepared:
        for tested, test in each.tests:
            if not tested.holds(test, facts):
                break
        else:
            target = each.rule.target
            if not isinstance(target, UUID):
                target = choose_target(each.rule, compute_split_place(claim_id))
            if _find_obstacle(targets.get(target), currency) is None:
                return each.rule, target
    return None


def choose_workflow(
    prepared: Sequence[PreparedRule], facts: Facts, currency: str,
    targets: Mapping[UUID, RuleTarget], claim_id: int,
) -> UUID | None:  # fmt: skip
    """The workflow of the rule that wins; none: no rule does."""
    won = find_matching_rule(prepared, facts, currency=currency, targets=targets, claim_id=claim_id)
    return None if won is None else won[1]


def compute_split_place(claim_id: int) -> int:
    """A claim's place in splits, 0 to 99: the same for ever, and even over all claims."""
    digest = hashlib.blake2b(b"split:%d" % claim_id, digest_size=8).digest()
    return int.from_bytes(digest, "big") % SPLIT_PLACES


def choose_target(rule: Rule, place: int) -> UUID:
    """The workflow the rule has for a claim of this place."""
    if isinstance(rule.target, UUID):
        return rule.target
    reached = 0
    for share in rule.target:
        reached += share.percent
        if place < reached:
            return share.workflow
    return rule.target[-1].workflow


def _judge(rule: Rule, facts: Facts, currency: str, target: RuleTarget | None) -> RuleVerdict:
    if not rule.active:
        return RuleVerdict(rule.name, RuleOutcome.INACTIVE)
    unmet = find_unmet(rule.when, facts)
    if unmet:
        return RuleVerdict(rule.name, RuleOutcome.UNMET, tuple(unmet))
    return RuleVerdict(rule.name, _find_obstacle(target, currency) or RuleOutcome.MATCHED)


def _find_obstacle(target: RuleTarget | None, currency: str) -> RuleOutcome | None:
    if target is None:
        return RuleOutcome.SKIPPED_DELETED
    if target.obstacle is not None:
        return target.obstacle
    return None if target.currency == currency else RuleOutcome.SKIPPED_CURRENCY


def _not_reached(rules: Iterator[Rule]) -> list[RuleVerdict]:
    return [
        RuleVerdict(rule.name, RuleOutcome.NOT_REACHED if rule.active else RuleOutcome.INACTIVE)
        for rule in rules
    ]
