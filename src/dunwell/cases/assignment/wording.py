"""Descriptions of rule results and overlaps for people. Pure."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from dunwell.cases.assignment.matching import RuleMatch, RuleOutcome, RuleTarget, RuleVerdict
from dunwell.cases.assignment.overlaps import Overlap, OverlapExtent
from dunwell.cases.assignment.rules import RuleSet, list_targets
from dunwell.platform.text.translation import LazyText

RULE_OUTCOMES: Mapping[RuleOutcome, LazyText] = {
    RuleOutcome.MATCHED: LazyText("matches"),
    RuleOutcome.INACTIVE: LazyText("not active"),
    RuleOutcome.UNMET: LazyText("does not match"),
    RuleOutcome.SKIPPED_DEACTIVATED: LazyText("skipped: its workflow is deactivated"),
    RuleOutcome.SKIPPED_DELETED: LazyText("skipped: its workflow is deleted"),
    RuleOutcome.SKIPPED_UNPUBLISHED: LazyText("skipped: its workflow was never published"),
    RuleOutcome.SKIPPED_CURRENCY: LazyText("skipped: its workflow has a different currency"),
    RuleOutcome.NOT_REACHED: LazyText("not reached"),
}
_OBSTACLES = {
    RuleOutcome.SKIPPED_DEACTIVATED: "is deactivated",
    RuleOutcome.SKIPPED_DELETED: "is deleted",
    RuleOutcome.SKIPPED_UNPUBLISHED: "was never published",
}


def describe_verdict(verdict: RuleVerdict) -> str:
    """Describe the result of a rule, with the conditions that are not met."""
    words = RULE_OUTCOMES[verdict.outcome]
    return f"{words}: {', '.join(verdict.unmet)}" if verdict.unmet else words


def describe_default(match: RuleMatch) -> str:
    """Describe the result of the default."""
    if match.default is None:
        return "none"
    return "taken" if match.default is RuleOutcome.MATCHED else RULE_OUTCOMES[match.default]


def describe_overlap(overlap: Overlap) -> str:
    if overlap.extent is OverlapExtent.ALL:
        return (
            f'rule "{overlap.later}" can never match: '
            f'"{overlap.earlier}", which comes first, takes every such claim'
        )
    return (
        f'rules "{overlap.earlier}" and "{overlap.later}" can both match a claim: '
        f'"{overlap.earlier}" wins'
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
