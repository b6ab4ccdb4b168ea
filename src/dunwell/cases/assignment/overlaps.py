"""Rules that stand in each other's way: an earlier one takes what a later one would (CONTRACT 8).

What is said is certain; not everything that is so is said. Deactivated workflows count as if
they were active, since that passes. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, combinations
from uuid import UUID

from dunwell.cases.assignment.implication import implies
from dunwell.cases.assignment.matching import PLACES, RuleTarget, find_target
from dunwell.cases.assignment.rules import Rule, RuleSet, list_shares
from dunwell.cases.assignment.witness import find_witness


class Extent(StrEnum):
    # The later rule can never match.
    ALL = "ALL"
    # There are claims that meet both.
    SOME = "SOME"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of what the rule `later` would take, the rule `earlier` takes all or some."""

    earlier: str
    later: str
    extent: Extent


def find_overlaps(rules: RuleSet, targets: Mapping[UUID, RuleTarget]) -> tuple[Overlap, ...]:
    """Pairs of active rules, in order; two that give a claim the same workflow only if the later
    one is never reached."""
    active = [rule for rule in rules.rules if rule.active]
    found = (_compare(earlier, later, targets) for earlier, later in combinations(active, 2))
    return tuple(overlap for overlap in found if overlap is not None)


def find_overlaps_of(
    rule: Rule, rules: RuleSet, targets: Mapping[UUID, RuleTarget]
) -> tuple[Overlap, ...]:
    """Those of `rule`, which is one of the rules, with the others."""
    place = rules.rules.index(rule)
    if not rule.active:
        return ()
    pairs = [(each, rule) for each in rules.rules[:place] if each.active]
    pairs += [(rule, each) for each in rules.rules[place + 1 :] if each.active]
    found = (_compare(earlier, later, targets) for earlier, later in pairs)
    return tuple(overlap for overlap in found if overlap is not None)


def _compare(earlier: Rule, later: Rule, targets: Mapping[UUID, RuleTarget]) -> Overlap | None:
    """A rule takes a claim only if the workflow that its place in splits gives fits its currency:
    the two meet where, for a place, both have the same."""
    pairs = list(_list_pairs(earlier, later))
    currencies = [
        (_currency(first, targets), _currency(second, targets)) for first, second in pairs
    ]
    meeting = [first is not None and first == second for first, second in currencies]
    if not any(meeting) or find_witness(earlier.when, later.when) is None:
        return None
    # Places of which the later rule takes nothing anyway do not count.
    taken = [second is not None for _, second in currencies]
    if implies(later.when, earlier.when) and meeting == taken:
        return Overlap(earlier.name, later.name, Extent.ALL)
    if all(first == second for first, second in pairs):
        return None
    return Overlap(earlier.name, later.name, Extent.SOME)


def _list_pairs(earlier: Rule, later: Rule) -> Iterator[tuple[UUID, UUID]]:
    """The workflows both would give, for the places a claim can have in splits: one for each
    stretch of places that get the same."""
    begins = {0}
    for rule in (earlier, later):
        begins.update(accumulate(share.percent for share in list_shares(rule)))
    for place in sorted(begins - {PLACES}):
        yield find_target(earlier, place), find_target(later, place)


def _currency(workflow_id: UUID, targets: Mapping[UUID, RuleTarget]) -> str | None:
    target = targets.get(workflow_id)
    return None if target is None else target.currency
