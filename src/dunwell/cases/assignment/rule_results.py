"""The result of a rule as people see it: the facts that a condition tests, and descriptions of
verdicts and overlaps. Pure."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.cases.assignment.matching import RuleMatch, RuleOutcome, RuleTarget, RuleVerdict
from dunwell.cases.assignment.overlaps import Overlap, OverlapExtent
from dunwell.cases.assignment.rules import RuleDocument, RuleSet, list_targets
from dunwell.core.claims.conditions import PROPERTIES, ConditionFacts, list_tests
from dunwell.core.workflows.definition import Condition
from dunwell.platform.text.translation import LazyText

# The wire name and the attribute of each fact whose presence a condition can test.
_PRESENT = (("email", "email"), ("mobileNumber", "mobile_number"))


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A property that a condition tests. `test` is the test of this property alone. `value` is the
    claim's value, in the form that fits the property, or None if it is unknown."""

    name: str
    test: Condition
    value: Any


@dataclass(frozen=True, slots=True)
class RuleTrial:
    """The result of a rule. `missing` has the facts whose tests fail."""

    verdict: RuleVerdict
    missing: tuple[KnownFact, ...] = ()
    # True if exactly one test fails.
    is_near: bool = False


def list_trials(
    rules: Sequence[RuleDocument], match: RuleMatch, facts: ConditionFacts
) -> list[RuleTrial]:
    """Return one result per rule, in order. `match` is the match of these rules."""
    return [
        _build_trial(rule, verdict, facts)
        for rule, verdict in zip(rules, match.verdicts, strict=True)
    ]


def list_known_facts(
    condition: Condition | None, facts: ConditionFacts, among: Collection[str] | None = None
) -> tuple[KnownFact, ...]:
    """Return the facts that a condition tests, or those of them whose wire names are in `among`."""
    return tuple(
        KnownFact(
            each.name, Condition(**{each.attribute: test}), _get_value(each.attribute, test, facts)
        )
        for each, test in list_tests(condition)
        if among is None or each.name in among
    )


def list_tested_facts(
    conditions: Sequence[Condition | None], facts: ConditionFacts
) -> list[KnownFact]:
    """Return each fact that any of the conditions tests, once."""
    tested = [fact for condition in conditions for fact in list_known_facts(condition, facts)]
    by_name = {fact.name: fact for fact in tested}
    custom_fields = [fact.value for fact in tested if fact.name == "customFields"]
    return [
        _merge_custom_fields(by_name[each.name], custom_fields)
        for each in PROPERTIES
        if each.name in by_name
    ]


def _merge_custom_fields(fact: KnownFact, fields: Sequence[dict[str, Any]]) -> KnownFact:
    if fact.name != "customFields":
        return fact
    return KnownFact(fact.name, fact.test, {k: v for each in fields for k, v in each.items()})


def _build_trial(rule: RuleDocument, verdict: RuleVerdict, facts: ConditionFacts) -> RuleTrial:
    if verdict.outcome is not RuleOutcome.UNMET:
        return RuleTrial(verdict)
    missing = list_known_facts(rule.when, facts, verdict.unmet)
    return RuleTrial(verdict, missing, is_near=len(missing) == 1)


def _get_value(attribute: str, test: Any, facts: ConditionFacts) -> Any:
    if attribute in ("outstanding", "total"):
        return getattr(facts, f"{attribute}_cents")
    if attribute == "item_type":
        return sorted(facts.item_types)
    if attribute == "has":
        present = [
            name for name, attribute_name in _PRESENT if getattr(facts, attribute_name) is not None
        ]
        return [*present, "address"] if facts.has_address else present
    if attribute == "custom_fields":
        return {name: facts.custom_fields.get(name) for name in test}
    return getattr(facts, attribute)


RULE_OUTCOMES: Mapping[RuleOutcome, LazyText] = {
    RuleOutcome.MATCHED: LazyText("matches"),
    RuleOutcome.INACTIVE: LazyText("not active"),
    RuleOutcome.UNMET: LazyText("does not match"),
    RuleOutcome.SKIPPED_DEACTIVATED: LazyText("skipped: its workflow is deactivated"),
    RuleOutcome.SKIPPED_DELETED: LazyText("skipped: its workflow is deleted"),
    RuleOutcome.SKIPPED_UNPUBLISHED: LazyText("skipped: its workflow was never published"),
    RuleOutcome.SKIPPED_CURRENCY: LazyText(
        "skipped: its workflow and the claim have different currencies"
    ),
    RuleOutcome.NOT_REACHED: LazyText("not reached"),
}
_OBSTACLES = {
    RuleOutcome.SKIPPED_DEACTIVATED: "is deactivated",
    RuleOutcome.SKIPPED_DELETED: "is deleted",
    RuleOutcome.SKIPPED_UNPUBLISHED: "was never published",
}


def describe_verdict(verdict: RuleVerdict) -> str:
    """Describe the result of a rule, with the conditions that are not met."""
    text = RULE_OUTCOMES[verdict.outcome]
    return f"{text}: {', '.join(verdict.unmet)}" if verdict.unmet else text


def describe_default(match: RuleMatch) -> str:
    """Describe the result of the default."""
    if match.default is None:
        return "none"
    return "taken" if match.default is RuleOutcome.MATCHED else RULE_OUTCOMES[match.default]


def describe_overlap(overlap: Overlap) -> str:
    if overlap.extent is OverlapExtent.ALL:
        return (
            f'rule "{overlap.later}" can never match: "{overlap.earlier}", which comes first, '
            "matches every such claim"
        )
    return (
        f'rules "{overlap.earlier}" and "{overlap.later}" can both match a claim: '
        f'"{overlap.earlier}" is used'
    )


def describe_obstacles(
    rules: RuleSet, targets: Mapping[UUID, RuleTarget], names: Mapping[UUID, str]
) -> Iterator[str]:
    """Yield a line for each workflow that the rules refer to and that accepts no claims now."""
    for workflow_id in list_targets(rules):
        target = targets.get(workflow_id)
        obstacle = RuleOutcome.SKIPPED_DELETED if target is None else target.obstacle
        if obstacle is not None:
            name = names.get(workflow_id, str(workflow_id))
            yield f'workflow "{name}" {_OBSTACLES[obstacle]}: rules that refer to it are skipped'
