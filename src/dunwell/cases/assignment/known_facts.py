"""What is known about a claim for each property that a condition tests, to be shown next to the
condition. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from dunwell.cases.assignment.matching import RuleMatch, RuleOutcome, RuleVerdict
from dunwell.cases.assignment.rules import RuleDocument
from dunwell.core.claims.conditions import PROPERTIES, ConditionFacts, list_tests
from dunwell.core.workflows.definition import Condition

_PRESENT = (("email", "email"), ("mobileNumber", "mobile_number"))


@dataclass(frozen=True, slots=True)
class KnownFact:
    """A property that a condition tests. `asked` is the test of this property alone. `value` is the
    claim's value, in the form that fits the property, or None if it is unknown."""

    name: str
    asked: Condition
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
    found = {each.name: each for one in conditions for each in list_known_facts(one, facts)}
    fields = [
        each.value for one in conditions for each in list_known_facts(one, facts, ["customFields"])
    ]
    return [
        _merge_custom_fields(found[each.name], fields) for each in PROPERTIES if each.name in found
    ]


def _merge_custom_fields(fact: KnownFact, fields: Sequence[dict[str, Any]]) -> KnownFact:
    if fact.name != "customFields":
        return fact
    return KnownFact(fact.name, fact.asked, {k: v for each in fields for k, v in each.items()})


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
        present = [name for name, of in _PRESENT if getattr(facts, of) is not None]
        return [*present, "address"] if facts.has_address else present
    if attribute == "custom_fields":
        return {name: facts.custom_fields.get(name) for name in test}
    return getattr(facts, attribute)
