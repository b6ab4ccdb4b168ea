"""The pages of assignment rules, and the rows that show each rule with its warnings and its change
in the draft."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.assignment.matching import RuleOutcome
from dunwell.cases.assignment.overlaps import (
    Overlap,
    OverlapExtent,
    find_common_facts,
    list_overlaps,
)
from dunwell.cases.assignment.preview_rules import AssignmentEffect
from dunwell.cases.assignment.rule_results import KnownFact, RuleTrial, list_tested_facts
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
from dunwell.interfaces.web.forms import FieldFaults, Form
from dunwell.interfaces.web.templates import Page
from dunwell.operations.claim_status.store import load_user_names
from dunwell.platform.errors import NotFound
from dunwell.platform.text.differences import compute_revision


@dataclass(frozen=True, slots=True)
class PartialOverlap:
    """An earlier rule that matches some of a rule's claims, with an example of such a claim."""

    name: str
    example: Sequence[KnownFact]


@dataclass(frozen=True, slots=True)
class RuleWarnings:
    """The warnings of one rule. `obstacles` are its workflows that accept no claims now, with the
    reasons. `hidden_by` is the earlier rule that matches all its claims, or "". `hides` are the
    later rules for which it leaves no claims."""

    obstacles: Sequence[tuple[str, RuleOutcome]] = ()
    hidden_by: str = ""
    hides: Sequence[str] = ()
    partial_overlaps: Sequence[PartialOverlap] = ()


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of the list. `change` is ADDED, CHANGED, or "" if the rule is the same as the
    published one."""

    rule: RuleDocument
    revision: str
    change: str = ""
    warnings: RuleWarnings = field(default_factory=RuleWarnings)


def build_rule_rows(
    rulebook: Rulebook, document: RulesDocument, overlaps: Sequence[Overlap],
    published: RulesDocument | None = None,
) -> list[RuleRow]:  # fmt: skip
    """Build the rows of the list. `document` has the rules of the rulebook. `published` are the
    rules that they are compared with; None compares them with nothing."""
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
    """Return the warnings of one rule. `overlaps` are those of all rules."""
    complete = [each for each in overlaps if each.extent is OverlapExtent.ALL]
    partial = [
        each for each in overlaps if each.extent is OverlapExtent.SOME and each.later == rule.name
    ]
    return RuleWarnings(
        obstacles=list(_list_obstacles(rulebook, rule).items()),
        hidden_by=next((each.earlier for each in complete if each.later == rule.name), ""),
        hides=[each.later for each in complete if each.earlier == rule.name],
        partial_overlaps=[_build_partial_overlap(rulebook, rule, each.earlier) for each in partial],
    )


def _list_obstacles(rulebook: Rulebook, rule: Rule) -> Mapping[str, RuleOutcome]:
    """Return the rule's workflows that accept no claims now, with the reasons."""
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
    facts = find_common_facts(*conditions)
    return PartialOverlap(other, () if facts is None else list_tested_facts(conditions, facts))


class WorkflowChoice(msgspec.Struct, frozen=True, gc=False):
    """A workflow that a rule can name. `obstacle` is the reason why it accepts no claims now, or
    ""."""

    name: str
    obstacle: str = ""


class RulesPage(Page, frozen=True):
    """The list of rules: of the draft, or of the published rules without one. `author_names` maps
    user ids to names. `at` and `by` are the new position of a rule that was just moved and the
    button. `default_typed` is the choice of a user who got a conflict."""

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
    result_code: str
    at: int
    by: str
    default_typed: str | None = None


class RulePage(Page, frozen=True):
    """The form of a rule. `known_name` is "" for a new rule. `extra_rows` are empty rows for custom
    fields; `shares` is the number of rows for workflows. `current_rule` is the stored rule after a
    conflict. If `is_checked`, the warnings are those of the entered rule."""

    template: ClassVar[str] = "rule.html"
    area: ClassVar[str] = "rules"

    known_name: str
    revision: str
    form: Form
    extra_rows: int
    shares: int
    choices: Sequence[WorkflowChoice]
    currency: str
    faults: FieldFaults = ()
    warnings: RuleWarnings = RuleWarnings()
    is_checked: bool = False
    is_conflict: bool = False
    current_rule: RuleDocument | None = None
    last_change: RulesDraftChange | None = None
    author_names: Mapping[str, str] = {}


class PublishRulesPage(Page, frozen=True):
    """The review before publishing. `own_author` is the author whose changes need no
    confirmation. `faults` are pairs of field and code."""

    template: ClassVar[str] = "rules_publish.html"
    area: ClassVar[str] = "rules"

    view: RulesView
    differences: Sequence[RuleDifference]
    rows: Sequence[RuleRow]
    by_author: Sequence[tuple[str, Sequence[RulesDraftChange]]]
    own_author: str
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
    """One published version. `faults` are the messages about workflows that no longer exist."""

    template: ClassVar[str] = "rules_version.html"
    area: ClassVar[str] = "rules"

    shown_version: RulesVersionView
    revision: str
    has_draft: bool
    differences: Sequence[RuleDifference]
    author_names: Mapping[str, str]
    currency: str
    faults: Sequence[str]
    is_conflict: bool


class RulesFilePage(Page, frozen=True):
    """The file of the rules. `text` contains the draft, the published rules, or what was entered.
    `faults` are pairs of line and message. `current_text` is the current draft after a conflict."""

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
    """The outcome for this percentage of such claims. The claims stay unassigned if `workflow` is
    None."""

    percent: int
    workflow: str | None
    rule: str | None
    default: str | None
    trials: Sequence[RuleTrial]


class TrialPage(Page, frozen=True):
    """The trial of the rules. `claim_id` is the claim with the given `reference`, or None. `form`
    describes a hypothetical claim."""

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
    faults: FieldFaults = ()


class RulesEffectPage(Page, frozen=True):
    """The effect of the draft. `names` maps workflow ids to names. `from_id` is the claim at which
    counting began, 0 for the newest one. `next_id` is where counting continues, or None if all
    claims are counted."""

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
    """The rules and what is shown with them. `rulebook` has the rules being edited: the draft, or
    the published rules without one."""

    view: RulesView
    rulebook: Rulebook
    document: RulesDocument
    overlaps: tuple[Overlap, ...]
    choices: Sequence[WorkflowChoice]
    author_names: Mapping[str, str]


def check_page_access(access: MerchantAccess, right: Right = Right.CONFIGURE) -> None:
    """Raise NotFound if the user lacks the permission: the page must not be distinguishable from
    a missing one."""
    if not access.may(right):
        raise NotFound("There is no such page.")


async def load_rules(work: Work) -> LoadedRules:
    work.require(Right.READ_CLAIMS)
    view = await get_rules(work)
    rulebook = await load_rulebook_of_rules(work.tx, work.merchant, view.edited, None)
    # Compare in a thread: many rules have about ten thousand pairs.
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
    """Return the workflows that are not deleted, sorted by name."""
    existing = [row for row in view.workflows.values() if not row.is_deleted]
    return [
        WorkflowChoice(row.name, _find_obstacle(row))
        for row in sorted(existing, key=lambda row: row.name.casefold())
    ]


async def list_author_names(
    work: Work, changes: Iterable[RulesDraftChange], actor_ids: Iterable[str | None] = ()
) -> Mapping[str, str]:
    """Return the names of the authors of these changes and of the users with these ids, by id."""
    work.require(Right.READ_CLAIMS)
    ids = {*(change.actor_id for change in changes), *actor_ids}
    return await load_user_names(work.tx, {each for each in ids if each is not None})


def _find_obstacle(row: TargetRow) -> str:
    if row.major is None:
        return RuleOutcome.SKIPPED_UNPUBLISHED
    return "" if row.assignment_enabled else RuleOutcome.SKIPPED_DEACTIVATED
