"""What the pages of assignment rules show: each rule with its conflicts and its changes in the
draft.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.known_facts import KnownFact, RuleTrial, list_tested_facts
from dunwell.cases.assignment.matching import RuleOutcome
from dunwell.cases.assignment.overlaps import Overlap, OverlapExtent, find_witness, list_overlaps
from dunwell.cases.assignment.preview_rules import AssignmentEffect
from dunwell.cases.assignment.rulebook import Rulebook, load_rulebook_of_rules
from dunwell.cases.assignment.rules import (
    Rule,
    RuleDifference,
    RuleDocument,
    RulesDocument,
    build_document,
    list_shares,
)
from dunwell.cases.assignment.rules_views import RulesVersionView, RulesView, get_rules
from dunwell.cases.assignment.store import RulesDraftChange, RulesVersionSummary, TargetRow
from dunwell.interfaces.portal.web.access import MerchantAccess
from dunwell.interfaces.web.forms import Form, PlacedFaults
from dunwell.interfaces.web.templates import Page
from dunwell.operations.claim_status.store import list_user_names
from dunwell.platform.errors import NotFound
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class PartialOverlap:
    """A rule that comes first for some of the claims, and what such a claim may look like."""

    name: str
    example: Sequence[KnownFact]


@dataclass(frozen=True, slots=True)
class RuleWarnings:
    """obstacles: workflows that take no claims now, and why. hidden_by: the rule that leaves this
    one nothing; "": none. hides: those it leaves nothing."""

    obstacles: Sequence[tuple[str, RuleOutcome]] = ()
    hidden_by: str = ""
    hides: Sequence[str] = ()
    partial_overlaps: Sequence[PartialOverlap] = ()


@dataclass(frozen=True, slots=True)
class RuleRow:
    """change: ADDED, CHANGED, or "": as it is published."""

    rule: RuleDocument
    revision: str
    change: str = ""
    warnings: RuleWarnings = field(default_factory=RuleWarnings)


def build_rule_rows(
    rulebook: Rulebook, document: RulesDocument, overlaps: Sequence[Overlap],
    published: RulesDocument | None = None,
) -> list[RuleRow]:  # fmt: skip
    """document: the rulebook's rules. published: what they are held against; none: nothing."""
    before = {} if published is None else {rule.name: rule for rule in published.rules}
    return [
        RuleRow(
            document_rule,
            compute_revision(rule),
            "" if published is None else _find_change(document_rule, before),
            build_rule_warnings(rulebook, rule, overlaps),
        )
        for rule, document_rule in zip(rulebook.rules.rules, document.rules, strict=True)
    ]


def build_rule_warnings(
    rulebook: Rulebook, rule: Rule, overlaps: Sequence[Overlap]
) -> RuleWarnings:
    """overlaps: this rule's may be among them."""
    all_of = [each for each in overlaps if each.extent is OverlapExtent.ALL]
    some = [
        each for each in overlaps if each.extent is OverlapExtent.SOME and each.later == rule.name
    ]
    return RuleWarnings(
        obstacles=list(find_obstacles(rulebook, rule).items()),
        hidden_by=next((each.earlier for each in all_of if each.later == rule.name), ""),
        hides=[each.later for each in all_of if each.earlier == rule.name],
        partial_overlaps=[_build_partial_overlap(rulebook, rule, each.earlier) for each in some],
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


def _build_partial_overlap(rulebook: Rulebook, rule: Rule, other: str) -> PartialOverlap:
    earlier = next(each for each in rulebook.rules.rules if each.name == other)
    conditions = (earlier.when, rule.when)
    facts = find_witness(*conditions)
    return PartialOverlap(other, () if facts is None else list_tested_facts(conditions, facts))


class WorkflowChoice(msgspec.Struct, frozen=True, gc=False):
    """obstacle: why it takes no claims now; "": it does."""

    name: str
    obstacle: str = ""


class RulesPage(Page, frozen=True):
    """rows: of the draft, else of the published rules. writers: names by user id. at, by: the place
    that a rule was moved to just now, and by which button. default_typed: what somebody chose who
    was conflict; none: nobody."""

    template: ClassVar[str] = "rules.html"
    area: ClassVar[str] = "rules"

    view: RulesView
    rows: Sequence[RuleRow]
    default: str | None
    default_id: str
    default_obstacle: str
    choices: Sequence[WorkflowChoice]
    differences: Sequence[RuleDifference]
    author_names: Mapping[str, str]
    currency: str
    done_here: str
    at: int
    by: str
    default_typed: str | None = None


class RulePage(Page, frozen=True):
    """known_name: "": a new rule. extra_rows: empty rows for custom fields. shares: how many rows
    there are for workflows. standing: as it is now, of somebody who was conflict. is_checked:
    whether the marks are of what is typed."""

    template: ClassVar[str] = "rule.html"
    area: ClassVar[str] = "rules"

    known_name: str
    revision: str
    form: Form
    extra_rows: int
    shares: int
    choices: Sequence[WorkflowChoice]
    currency: str
    faults: PlacedFaults = ()
    warnings: RuleWarnings = RuleWarnings()
    is_checked: bool = False
    is_conflict: bool = False
    current_rule: RuleDocument | None = None
    last: RulesDraftChange | None = None
    author_names: Mapping[str, str] = {}


class PublishRulesPage(Page, frozen=True):
    """own: the author whose changes need no tick. faults: field and code."""

    template: ClassVar[str] = "rules_publish.html"
    area: ClassVar[str] = "rules"

    view: RulesView
    differences: Sequence[RuleDifference]
    rows: Sequence[RuleRow]
    by_author: Sequence[tuple[str, Sequence[RulesDraftChange]]]
    own: str
    author_names: Mapping[str, str]
    currency: str
    comment: str
    agreed: Sequence[str]
    faults: Sequence[tuple[str, str]]
    target_faults: Sequence[str]
    is_conflict: bool


class RulesVersionsPage(Page, frozen=True):
    template: ClassVar[str] = "rules_versions.html"
    area: ClassVar[str] = "rules"

    versions: Sequence[RulesVersionSummary]
    published_version: int
    author_names: Mapping[str, str]
    from_version: int
    next_version: int


class RulesVersionPage(Page, frozen=True):
    """faults: workflows it names that are gone, by the field that names them."""

    template: ClassVar[str] = "rules_version.html"
    area: ClassVar[str] = "rules"

    seen: RulesVersionView
    revision: str
    has_draft: bool
    differences: Sequence[RuleDifference]
    author_names: Mapping[str, str]
    currency: str
    faults: Sequence[str]
    is_conflict: bool


class RulesFilePage(Page, frozen=True):
    """text: of the draft, else of the published rules, or what somebody typed. faults: where in it,
    and what is wrong there. others: what stands now, of somebody who was conflict."""

    template: ClassVar[str] = "rules_file.html"
    area: ClassVar[str] = "rules"

    revision: str
    is_draft: bool
    text: str
    faults: Sequence[tuple[str, str]]
    differences: Sequence[RuleDifference]
    is_checked: bool
    current_text: str
    currency: str


class PossibleOutcome(msgspec.Struct, frozen=True, gc=False):
    """What so many of a hundred such claims get. No workflow: they stay unassigned."""

    percent: int
    workflow: str | None
    rule: str | None
    default: str | None
    trials: Sequence[RuleTrial]


class TrialPage(Page, frozen=True):
    """claim_id: of the claim that was found by `reference`; none: none was. form: of a
    made-up claim."""

    template: ClassVar[str] = "rules_try.html"
    area: ClassVar[str] = "rules"

    has_draft: bool
    is_draft: bool
    version: int
    possibilities: Sequence[PossibleOutcome]
    currency: str
    form: Form
    reference: str = ""
    claim_id: int | None = None
    is_hypothetical: bool = False
    typed: Mapping[str, str] = {}
    fees: Sequence[str] = ()
    faults: PlacedFaults = ()


class RulesEffectPage(Page, frozen=True):
    """names: of workflows. from_id: the claim that counting began at; 0: the newest. next_id: where
    it goes on; none: all claims since then are counted."""

    template: ClassVar[str] = "rules_effect.html"
    area: ClassVar[str] = "rules"

    effect: AssignmentEffect
    since: datetime
    from_id: int
    next_id: int | None
    names: Mapping[UUID, str]
    version: int


@dataclass(frozen=True, slots=True)
class LoadedRules:
    """rulebook: of what is edited: the draft, else what is published."""

    view: RulesView
    rulebook: Rulebook
    document: RulesDocument
    overlaps: tuple[Overlap, ...]
    choices: Sequence[WorkflowChoice]
    author_names: Mapping[str, str]


def check_page_access(access: MerchantAccess, right: Right = Right.CONFIGURE) -> None:
    """Raises NotFound: for whoever may not there is no such page."""
    if not access.may(right):
        raise NotFound("There is no such page.")


async def load_rules(work: Work) -> LoadedRules:
    work.require(Right.READ_CLAIMS)
    view = await get_rules(work)
    rulebook = await load_rulebook_of_rules(work.tx, work.merchant, view.edited, None)
    # With many rules these are some ten thousand pairs.
    overlaps = await asyncio.to_thread(list_overlaps, rulebook.rules, rulebook.targets)
    publishers = [view.published_rules.actor_id] if view.published_rules else []
    return LoadedRules(
        view=view,
        rulebook=rulebook,
        document=build_document(view.edited, view.names),
        overlaps=overlaps,
        choices=list_workflow_choices(view),
        author_names=await list_author_names(work, view.changes, publishers),
    )


def list_workflow_choices(view: RulesView) -> list[WorkflowChoice]:
    """The workflows that are not deleted, in the order of their names."""
    there = [row for row in view.workflows.values() if not row.is_deleted]
    return [
        WorkflowChoice(row.name, _find_obstacle(row))
        for row in sorted(there, key=lambda row: row.name.casefold())
    ]


async def list_author_names(
    work: Work, changes: Iterable[RulesDraftChange], current_text: Iterable[str | None] = ()
) -> Mapping[str, str]:
    """The names of people, by their ids."""
    work.require(Right.READ_CLAIMS)
    ids = {*(change.actor_id for change in changes), *current_text}
    return await list_user_names(work.tx, {each for each in ids if each is not None})


def _find_obstacle(row: TargetRow) -> str:
    if row.major is None:
        return RuleOutcome.SKIPPED_UNPUBLISHED
    return "" if row.assignment_enabled else RuleOutcome.SKIPPED_DEACTIVATED
