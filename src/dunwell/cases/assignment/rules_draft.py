"""Review, save, publish and discard the draft of a merchant's assignment rules (CONTRACT 8). Claims
created after the publication follow the published rules."""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import increment_revision, lock_merchant
from dunwell.cases.assignment.overlaps import Overlap, list_overlaps
from dunwell.cases.assignment.rule_results import describe_obstacles, describe_overlap
from dunwell.cases.assignment.rulebook import load_rulebook_of_rules
from dunwell.cases.assignment.rules import (
    RulesDocument,
    RuleSet,
    build_document,
    compare_rules,
    describe_rule_differences,
    list_targets,
    list_unknown_name_faults,
    list_workflow_names,
    resolve_names,
)
from dunwell.cases.assignment.rules_views import compute_draft_revision
from dunwell.cases.assignment.store import (
    PublishedRules,
    RulesDraft,
    RulesDraftChange,
    TargetRow,
    delete_draft,
    find_published_rules,
    find_rules_draft,
    insert_rules_version,
    list_draft_changes,
    load_targets,
    save_draft,
)
from dunwell.core.workflows.store import lock_workflows_for_reference
from dunwell.platform.errors import EditConflict, Fault, InvalidState, ValidationError
from dunwell.platform.text.texts import find_unprintable


@dataclass(frozen=True, slots=True)
class RulesReview:
    # The differences from the published rules, one line each.
    differences: list[str]
    overlaps: tuple[Overlap, ...]
    # The overlaps as text, and workflows that accept no claims now.
    remarks: list[str]


async def review_rules(work: Work, rules: RuleSet) -> RulesReview:
    """Compare rules with the published rules and the workflows, without storing them."""
    work.require(Right.READ_CLAIMS)
    published = await find_published_rules(work.tx, work.merchant_id)
    before = RuleSet() if published is None else published.rules
    rulebook = await load_rulebook_of_rules(work.tx, work.merchant, rules, None)
    names = {
        row.workflow_id: row.name
        for row in (await load_targets(work.tx, work.merchant_id, list_targets(before))).values()
    } | dict(rulebook.names)
    # The largest rule set has 20,000 pairs, so they are compared in a thread while other requests
    # run.
    overlaps = await asyncio.to_thread(list_overlaps, rules, rulebook.targets)
    return RulesReview(
        describe_rule_differences(build_document(before, names), build_document(rules, names)),
        overlaps,
        [
            *(describe_overlap(overlap) for overlap in overlaps),
            *describe_obstacles(rules, rulebook.targets, names),
        ],
    )


async def publish_rules(work: Work, rules: RuleSet, *, comment: str | None = None) -> int:
    """Store the rules as the next version and return its number.

    Raises ValidationError with each workflow that does not exist, is deleted or was never
    published.
    """
    work.require(Right.PUBLISH)
    await lock_merchant(work.tx, work.merchant_id)
    # Keeps the workflows from being deleted in the meantime.
    await lock_workflows_for_reference(work.tx, work.merchant_id, list_targets(rules))
    targets = await load_targets(work.tx, work.merchant_id, list_targets(rules))
    faults = list(_list_target_faults(rules, targets))
    if faults:
        raise ValidationError(faults)
    published_rules = await find_published_rules(work.tx, work.merchant_id)
    author = (work.actor.kind, work.actor.actor_id)
    version = await insert_rules_version(
        work.tx, work.merchant_id, rules, author=author, now=work.now, comment=comment
    )
    await increment_revision(work.tx, work.merchant_id)
    before = None if published_rules is None else build_audit_values(published_rules.rules)
    await save_audit(
        work, "assignment_rules.publish", f"assignment_rules:{version}",
        before=before, after=build_audit_values(rules),
        rules=len(rules.rules), default=None if rules.default is None else str(rules.default),
    )  # fmt: skip
    return version


def build_audit_values(rules: RuleSet) -> dict[str, Any]:
    """Return the rules as a document with workflow ids instead of names."""
    values: dict[str, Any] = msgspec.to_builtins(build_document(rules, {}))
    return values


def _list_target_faults(rules: RuleSet, targets: Mapping[UUID, TargetRow]) -> Iterator[Fault]:
    """Yield faults with pointers into the document of the rules."""
    by_name = {str(each): targets.get(each) for each in list_targets(rules)}
    for path, workflow_id in list_workflow_names(build_document(rules, {})):
        target = by_name[workflow_id]
        if target is None:
            yield Fault(path, f"There is no workflow {workflow_id}.", "UNKNOWN_WORKFLOW")
        elif target.is_deleted:
            message = f'The workflow "{target.name}" is deleted; name another.'
            yield Fault(path, message, "UNKNOWN_WORKFLOW")
        elif target.major is None:
            message = f'The workflow "{target.name}" was never published; publish it first.'
            yield Fault(path, message, "NEVER_PUBLISHED")


MAX_COMMENT_LENGTH = 500
DRAFT_CHANGED = "Someone else has changed the draft of the rules."


@dataclass(frozen=True, slots=True)
class RulesPublication:
    version: int
    # Compared with the rules that were published before.
    review: RulesReview


@dataclass(frozen=True, slots=True)
class RulesConfirmation:
    """What the user saw and agreed to when publishing: the revision of the draft, the other authors
    whose changes are included (`RulesDraftChange.author`), and a comment."""

    expected_revision: str
    agreed: Collection[str] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RulesState:
    """The published rules and the draft, while the merchant's row is locked."""

    published_rules: PublishedRules | None
    draft: RulesDraft | None

    @property
    def revision(self) -> str:
        return compute_draft_revision(self.published_rules, self.draft)

    @property
    def rules(self) -> RuleSet:
        """The rules that an edit starts from."""
        former = self.draft or self.published_rules
        return former.rules if former else RuleSet()


async def save_rules_draft(
    work: Work, document: RulesDocument, *, expected_revision: str | None = None
) -> RulesReview:
    """Save a parsed `document` (`rules.parse_rules`) as the draft.

    `expected_revision` is the revision that the user saw; with None, any draft is replaced. Raises
    EditConflict, and ValidationError if the document names unknown workflows.
    """
    work.require(Right.CONFIGURE)
    state = await lock_rules_state(work)
    if expected_revision not in (None, state.revision):
        raise EditConflict(DRAFT_CHANGED)
    targets = await load_targets(work.tx, work.merchant_id)
    ids = {row.name: row.workflow_id for row in targets.values() if not row.is_deleted}
    faults = list(list_unknown_name_faults(document, ids))
    if faults:
        raise ValidationError(faults)
    rules = resolve_names(document, ids)
    await replace_draft(work, state, rules)
    return await review_rules(work, rules)


async def publish_rules_draft(
    work: Work, confirmation: RulesConfirmation | None = None
) -> RulesPublication:
    """Publish the draft. Without `confirmation`, the caller has already checked that the draft may
    be published.

    Raises InvalidState if there is no draft or it changes nothing, and EditConflict. Raises
    ValidationError if a target is invalid, the comment is too long, or the draft has authors that
    `confirmation` does not name.
    """
    work.require(Right.PUBLISH)
    state = await lock_rules_state(work)
    draft = state.draft
    if confirmation is not None and confirmation.expected_revision != state.revision:
        raise EditConflict(DRAFT_CHANGED)
    if draft is None:
        raise InvalidState("The rules have no draft; save one first.", state="PUBLISHED")
    if state.published_rules is not None and state.published_rules.rules == draft.rules:
        message = "The draft does not differ from the published rules; change or discard it."
        raise InvalidState(message, state="DRAFT")
    if confirmation is not None:
        changes = await list_draft_changes(work.tx, work.merchant_id, draft)
        faults = [
            *_list_comment_faults(confirmation.comment),
            *_list_unapproved_changes(work, changes, confirmation),
        ]
        if faults:
            raise ValidationError(faults)
    review = await review_rules(work, draft.rules)
    comment = None if confirmation is None else confirmation.comment
    version = await publish_rules(work, draft.rules, comment=comment or None)
    await delete_draft(work.tx, work.merchant_id)
    return RulesPublication(version, review)


async def discard_rules_draft(work: Work, *, expected_revision: str | None = None) -> None:
    """Discard the draft. Raises EditConflict, and InvalidState if there is no draft."""
    work.require(Right.CONFIGURE)
    state = await lock_rules_state(work)
    if expected_revision not in (None, state.revision):
        raise EditConflict(DRAFT_CHANGED)
    if state.draft is None:
        raise InvalidState("The rules have no draft.", state="PUBLISHED")
    await delete_draft(work.tx, work.merchant_id)
    # The published rules stay as they are.
    published = state.published_rules.rules if state.published_rules else RuleSet()
    before, after = _select_changes(state.draft.rules, published)
    await save_audit(
        work, "assignment_rules.discard_draft", f"merchant:{work.merchant_id}",
        before={"draft": True, **before}, after={"draft": False, **after},
    )  # fmt: skip


async def lock_rules_state(work: Work) -> RulesState:
    """Lock the merchant's row and return the rules. Concurrent changes wait here, so that each sees
    the one before."""
    work.require(Right.READ_CLAIMS)
    await lock_merchant(work.tx, work.merchant_id)
    published_rules = await find_published_rules(work.tx, work.merchant_id)
    return RulesState(published_rules, await find_rules_draft(work.tx, work.merchant_id))


async def replace_draft(work: Work, state: RulesState, rules: RuleSet) -> None:
    """Save the rules as the draft, with the author of each change. Nothing is saved if the draft
    already has these rules."""
    work.require(Right.CONFIGURE)
    compared = compare_rules(build_document(state.rules, {}), build_document(rules, {}))
    changes = [(each.kind, each.name) for each in compared]
    if state.draft is not None and not changes:
        return
    author = (work.actor.kind, work.actor.actor_id)
    await save_draft(work.tx, work.merchant_id, rules, author=author, now=work.now, changes=changes)
    before, after = _select_changes(state.rules, rules)
    await save_audit(
        work, "assignment_rules.save_draft", f"merchant:{work.merchant_id}",
        before=before, after=after, rules=len(rules.rules),
    )  # fmt: skip


def describe_author(work: Work) -> str:
    """Return the acting user in the form of `RulesDraftChange.author`."""
    return f"{work.actor.kind}:{work.actor.actor_id or ''}"


def _list_unapproved_changes(
    work: Work, changes: Collection[RulesDraftChange], confirmation: RulesConfirmation
) -> Iterator[Fault]:
    own = describe_author(work)
    for author in dict.fromkeys(change.author for change in changes):
        if author not in (own, *confirmation.agreed):
            message = "The draft contains changes of other users. Review and approve them."
            yield Fault(f"/agreed/{author}", message, "NOT_AGREED")


def _list_comment_faults(comment: str) -> Iterator[Fault]:
    yield from find_unprintable(comment, ("comment",))
    if len(comment) > MAX_COMMENT_LENGTH:
        yield Fault("/comment", f"Use at most {MAX_COMMENT_LENGTH} characters.", "TOO_LONG")


def _select_changes(before: RuleSet, after: RuleSet) -> tuple[dict[str, Any], dict[str, Any]]:
    return select_changed_fields(build_audit_values(before), build_audit_values(after))
