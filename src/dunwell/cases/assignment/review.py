"""What whoever drafts or publishes rules is told: what they change, and what to look at twice."""

import asyncio
from dataclasses import dataclass

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.differences import find_rule_differences
from dunwell.cases.assignment.document import write_rules
from dunwell.cases.assignment.overlaps import Overlap, find_overlaps
from dunwell.cases.assignment.rules import RuleSet, list_targets
from dunwell.cases.assignment.store import load_published_rules, load_targets
from dunwell.cases.assignment.targets import make_rulebook
from dunwell.cases.assignment.wording import describe_obstacles, describe_overlap


@dataclass(frozen=True, slots=True)
class Review:
    # To the published rules, a line each.
    differences: list[str]
    overlaps: tuple[Overlap, ...]
    # The overlaps in words, and workflows that take no claims now.
    remarks: list[str]


async def review_rules(work: Work, rules: RuleSet) -> Review:
    """Hold rules, which are not stored by this, against the published ones and the workflows."""
    work.need(Right.READ_CLAIMS)
    published = await load_published_rules(work.tx, work.merchant_id)
    before = RuleSet() if published is None else published.rules
    rulebook = await make_rulebook(work.tx, work.merchant, rules, None)
    names = {
        row.workflow_id: row.name
        for row in (await load_targets(work.tx, work.merchant_id, list_targets(before))).values()
    } | dict(rulebook.names)
    # Of the most rules there may be these are 20,000 pairs: others are served meanwhile.
    overlaps = await asyncio.to_thread(find_overlaps, rules, rulebook.targets)
    return Review(
        find_rule_differences(write_rules(before, names), write_rules(rules, names)),
        overlaps,
        [
            *(describe_overlap(overlap) for overlap in overlaps),
            *describe_obstacles(rules, rulebook.targets, names),
        ],
    )
