"""Descriptions of what uses a workflow: active claims, assignment rules, a scenario. Pure."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from dunwell.cases.assignment.rules import RuleSet, list_shares
from dunwell.platform.text.texts import render_count


def render_claim_count(claims: int) -> str:
    return render_count(claims, "claim")


def describe_claims(active: Mapping[int, int]) -> Iterator[str]:
    """Describe the active claims. `active` maps major versions to their number."""
    for major, claims in active.items():
        verb = "is" if claims == 1 else "are"
        yield f"{render_claim_count(claims)} {verb} in process on v{major}"


def describe_rules(rule_sets: Mapping[str, RuleSet], workflow_id: UUID) -> Iterator[str]:
    """Describe the rules that refer to the workflow. `rule_sets` has the published rules and the
    draft."""
    for state, rules in rule_sets.items():
        for rule in rules.rules:
            if any(share.workflow == workflow_id for share in list_shares(rule)):
                yield f'the assignment rule "{rule.name}" ({state}) refers to it'
        if rules.default == workflow_id:
            yield f"it is the default of the assignment rules ({state})"


def describe_scenario(scenario_id: int | None) -> Iterator[str]:
    if scenario_id is not None:
        yield f"scenario {scenario_id} is mapped to it"
