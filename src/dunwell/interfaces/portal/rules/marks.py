"""What a list of rules shows of each beside its words: what stands in its way, and what in the
draft is new. It reads and writes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dunwell.cases.assignment.known_facts import KnownFact, find_shared
from dunwell.cases.assignment.matching import RuleOutcome
from dunwell.cases.assignment.overlaps import Extent, Overlap, find_witness
from dunwell.cases.assignment.rules import Rule, RuleDocument, RulesDocument, list_shares
from dunwell.cases.assignment.targets import Rulebook
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class Shared:
    """A rule that comes first for some of the claims, and what such a claim may look like."""

    name: str
    example: Sequence[KnownFact]


@dataclass(frozen=True, slots=True)
class Marks:
    """obstacles: workflows that take no claims now, and why. hidden_by: the rule that leaves this
    one nothing; "": none. hides: those it leaves nothing."""

    obstacles: Sequence[tuple[str, RuleOutcome]] = ()
    hidden_by: str = ""
    hides: Sequence[str] = ()
    shared: Sequence[Shared] = ()


@dataclass(frozen=True, slots=True)
class ShownRule:
    """change: ADDED, CHANGED, or "": as it is published."""

    rule: RuleDocument
    fingerprint: str
    change: str = ""
    marks: Marks = field(default_factory=Marks)


def list_shown(
    rulebook: Rulebook, document: RulesDocument, overlaps: Sequence[Overlap],
    published: RulesDocument | None = None,
) -> list[ShownRule]:  # fmt: skip
    """document: the rulebook's rules. published: what they are held against; none: nothing."""
    before = {} if published is None else {rule.name: rule for rule in published.rules}
    return [
        ShownRule(
            written,
            compute_revision(rule),
            "" if published is None else _find_change(written, before),
            find_marks(rulebook, rule, overlaps),
        )
        for rule, written in zip(rulebook.rules.rules, document.rules, strict=True)
    ]


def find_marks(rulebook: Rulebook, rule: Rule, overlaps: Sequence[Overlap]) -> Marks:
    """overlaps: this rule's may be among them."""
    all_of = [each for each in overlaps if each.extent is Extent.ALL]
    some = [each for each in overlaps if each.extent is Extent.SOME and each.later == rule.name]
    return Marks(
        obstacles=list(find_obstacles(rulebook, rule).items()),
        hidden_by=next((each.earlier for each in all_of if each.later == rule.name), ""),
        hides=[each.later for each in all_of if each.earlier == rule.name],
        shared=[_make_shared(rulebook, rule, each.earlier) for each in some],
    )


def find_obstacles(rulebook: Rulebook, rule: Rule) -> Mapping[str, RuleOutcome]:
    """By the workflow's name, why it takes no claims now."""
    found: dict[str, RuleOutcome] = {}
    for share in list_shares(rule):
        target = rulebook.targets.get(share.workflow)
        obstacle = RuleOutcome.SKIPPED_DELETED if target is None else target.obstacle
        if obstacle is not None:
            found[rulebook.names.get(share.workflow, str(share.workflow))] = obstacle
    return found


def _find_change(rule: RuleDocument, before: Mapping[str, RuleDocument]) -> str:
    if rule.name not in before:
        return "ADDED"
    return "" if before[rule.name] == rule else "CHANGED"


def _make_shared(rulebook: Rulebook, rule: Rule, other: str) -> Shared:
    earlier = next(each for each in rulebook.rules.rules if each.name == other)
    conditions = (earlier.when, rule.when)
    facts = find_witness(*conditions)
    return Shared(other, () if facts is None else find_shared(conditions, facts))
