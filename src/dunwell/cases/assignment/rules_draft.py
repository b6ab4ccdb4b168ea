"""The draft of a merchant's assignment rules (CONTRACT 8): reviewed, saved, published or discarded.
Claims created after publication follow it.
"""

import asyncio
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit, select_changed_fields
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import lock_merchant, raise_revision
from dunwell.cases.assignment.overlaps import Overlap, find_overlaps
from dunwell.cases.assignment.read_rules import compute_draft_revision
from dunwell.cases.assignment.rulebook import make_rulebook
from dunwell.cases.assignment.rules import (
    RulesDocument,
    RuleSet,
    compare_rules,
    find_rule_differences,
    find_unknown_names,
    list_names,
    list_targets,
    resolve_names,
    write_rules,
)
from dunwell.cases.assignment.store import (
    PublishedRules,
    RulesDraft,
    RulesDraftChange,
    TargetRow,
    delete_draft,
    load_changes,
    load_published_rules,
    load_rules_draft,
    load_targets,
    save_draft,
    save_rules,
)
from dunwell.cases.assignment.wording import describe_obstacles, describe_overlap
from dunwell.core.workflows.store import hold_workflows
from dunwell.platform.errors import EditConflict, Fault, InvalidState, ValidationError
from dunwell.platform.text.texts import find_unprintable


@dataclass(frozen=True, slots=True)
class RulesReview:
    # To the published rules, a line each.
    differences: list[str]
    overlaps: tuple[Overlap, ...]
    # The overlaps in words, and workflows that take no claims now.
    remarks: list[str]


async def review_rules(work: Work, rules: RuleSet) -> RulesReview:
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
    return RulesReview(
        find_rule_differences(write_rules(before, names), write_rules(rules, names)),
        overlaps,
        [
            *(describe_overlap(overlap) for overlap in overlaps),
            *describe_obstacles(rules, rulebook.targets, names),
        ],
    )


async def publish_rules(work: Work, rules: RuleSet, *, comment: str | None = None) -> int:
    """Store the rules as the next version; answers its number.

    Raises ValidationError, with every workflow that is absent, deleted or was never published.
    """
    work.need(Right.PUBLISH)
    await lock_merchant(work.tx, work.merchant_id)
    # Nothing they point to is deleted meanwhile.
    await hold_workflows(work.tx, work.merchant_id, list_targets(rules))
    targets = await load_targets(work.tx, work.merchant_id, list_targets(rules))
    faults = list(_find_target_faults(rules, targets))
    if faults:
        raise ValidationError(faults)
    ruling = await load_published_rules(work.tx, work.merchant_id)
    author = (work.actor.kind, work.actor.actor_id)
    version = await save_rules(
        work.tx, work.merchant_id, rules, author=author, now=work.now, comment=comment
    )
    await raise_revision(work.tx, work.merchant_id)
    before = None if ruling is None else list_values(ruling.rules)
    await save_audit(
        work, "assignment_rules.publish", f"assignment_rules:{version}",
        before=before, after=list_values(rules),
        rules=len(rules.rules), default=None if rules.default is None else str(rules.default),
    )  # fmt: skip
    return version


def list_values(rules: RuleSet) -> dict[str, Any]:
    """As people write them, with the workflows' ids in the place of their names."""
    values: dict[str, Any] = msgspec.to_builtins(write_rules(rules, {}))
    return values


def _find_target_faults(rules: RuleSet, targets: Mapping[UUID, TargetRow]) -> Iterator[Fault]:
    """Pointers are those of the rules as people write them."""
    by_name = {str(each): targets.get(each) for each in list_targets(rules)}
    for path, workflow_id in list_names(write_rules(rules, {})):
        target = by_name[workflow_id]
        if target is None:
            yield Fault(path, f"There is no workflow {workflow_id}.", "UNKNOWN_WORKFLOW")
        elif target.is_deleted:
            message = f'The workflow "{target.name}" is deleted; name another.'
            yield Fault(path, message, "UNKNOWN_WORKFLOW")
        elif target.major is None:
            message = f'The workflow "{target.name}" was never published; publish it first.'
            yield Fault(path, message, "NEVER_PUBLISHED")


LONGEST_COMMENT = 500
DRAFT_CHANGED = "Somebody else has changed the draft of the rules."


@dataclass(frozen=True, slots=True)
class RulesPublication:
    version: int
    # Against the rules that ruled until now.
    review: RulesReview


@dataclass(frozen=True, slots=True)
class RulesConfirmation:
    """What whoever publishes has seen and agreed to: the revision of the draft, the authors whose
    changes go out with their own (`DraftChange.author`), and what it is for."""

    known: str
    agreed: Collection[str] = ()
    comment: str = ""


@dataclass(frozen=True, slots=True)
class RulesState:
    """The published rules and the draft, with the merchant's row locked."""

    ruling: PublishedRules | None
    draft: RulesDraft | None

    @property
    def revision(self) -> str:
        return compute_draft_revision(self.ruling, self.draft)

    @property
    def rules(self) -> RuleSet:
        """What a change goes on from."""
        former = self.draft or self.ruling
        return former.rules if former else RuleSet()


async def save_rules_draft(
    work: Work, document: RulesDocument, *, known: str | None = None
) -> RulesReview:
    """Store `document`, which has been checked (`checking.check_rules`), as the one draft.

    known: the revision that was seen; none: whatever stands is replaced. Raises ValidationError (it
    names workflows that are not there) and EditConflict.
    """
    work.need(Right.CONFIGURE)
    standing = await lock_standing(work)
    if known not in (None, standing.revision):
        raise EditConflict(DRAFT_CHANGED)
    targets = await load_targets(work.tx, work.merchant_id)
    ids = {row.name: row.workflow_id for row in targets.values() if not row.is_deleted}
    faults = list(find_unknown_names(document, ids))
    if faults:
        raise ValidationError(faults)
    rules = resolve_names(document, ids)
    await replace_draft(work, standing, rules)
    return await review_rules(work, rules)


async def publish_rules_draft(
    work: Work, wish: RulesConfirmation | None = None
) -> RulesPublication:
    """No wish: whoever asks has seen to it that the draft may go out as it stands.

    Raises InvalidState (no draft, or it changes nothing), EditConflict and ValidationError (its
    targets, a comment that is too long, authors that were not agreed to).
    """
    work.need(Right.PUBLISH)
    standing = await lock_standing(work)
    draft = standing.draft
    if wish is not None and wish.known != standing.revision:
        raise EditConflict(DRAFT_CHANGED)
    if draft is None:
        raise InvalidState("The rules have no draft; save one first.", state="PUBLISHED")
    if standing.ruling is not None and standing.ruling.rules == draft.rules:
        message = "The draft does not differ from the published rules; change or discard it."
        raise InvalidState(message, state="DRAFT")
    if wish is not None:
        changes = await load_changes(work.tx, work.merchant_id, draft)
        faults = [*_find_comment_faults(wish.comment), *_find_unagreed(work, changes, wish)]
        if faults:
            raise ValidationError(faults)
    review = await review_rules(work, draft.rules)
    comment = None if wish is None else wish.comment
    version = await publish_rules(work, draft.rules, comment=comment or None)
    await delete_draft(work.tx, work.merchant_id)
    return RulesPublication(version, review)


async def discard_rules_draft(work: Work, *, known: str | None = None) -> None:
    """Raises InvalidState: there is no draft; EditConflict."""
    work.need(Right.CONFIGURE)
    standing = await lock_standing(work)
    if known not in (None, standing.revision):
        raise EditConflict(DRAFT_CHANGED)
    if standing.draft is None:
        raise InvalidState("The rules have no draft.", state="PUBLISHED")
    await delete_draft(work.tx, work.merchant_id)
    # What rules from then on is what has ruled all along.
    published = standing.ruling.rules if standing.ruling else RuleSet()
    was, stays = _keep_changed(standing.draft.rules, published)
    await save_audit(
        work, "assignment_rules.discard_draft", f"merchant:{work.merchant_id}",
        before={"draft": True, **was}, after={"draft": False, **stays},
    )  # fmt: skip


async def lock_standing(work: Work) -> RulesState:
    """Whoever changes rules waits here, so that two at one draft see each other's changes."""
    work.need(Right.READ_CLAIMS)
    await lock_merchant(work.tx, work.merchant_id)
    ruling = await load_published_rules(work.tx, work.merchant_id)
    return RulesState(ruling, await load_rules_draft(work.tx, work.merchant_id))


async def replace_draft(work: Work, standing: RulesState, rules: RuleSet) -> None:
    """The rules become the draft, with who has changed what; as they stand they are left alone."""
    work.need(Right.CONFIGURE)
    compared = compare_rules(write_rules(standing.rules, {}), write_rules(rules, {}))
    changes = [(each.kind, each.name) for each in compared]
    if standing.draft is not None and not changes:
        return
    author = (work.actor.kind, work.actor.actor_id)
    await save_draft(work.tx, work.merchant_id, rules, author=author, now=work.now, changes=changes)
    was, becomes = _keep_changed(standing.rules, rules)
    await save_audit(
        work, "assignment_rules.save_draft", f"merchant:{work.merchant_id}",
        before=was, after=becomes, rules=len(rules.rules),
    )  # fmt: skip


def name_author(work: Work) -> str:
    """As `DraftChange.author` names whoever acts."""
    return f"{work.actor.kind}:{work.actor.actor_id or ''}"


def _find_unagreed(
    work: Work, changes: Collection[RulesDraftChange], wish: RulesConfirmation
) -> Iterator[Fault]:
    own = name_author(work)
    for author in dict.fromkeys(change.author for change in changes):
        if author not in (own, *wish.agreed):
            message = "Somebody else's changes go out with yours: look at them, and agree to them."
            yield Fault(f"/agreed/{author}", message, "NOT_AGREED")


def _find_comment_faults(comment: str) -> Iterator[Fault]:
    yield from find_unprintable(comment, ("comment",))
    if len(comment) > LONGEST_COMMENT:
        yield Fault("/comment", f"Use at most {LONGEST_COMMENT} characters.", "TOO_LONG")


def _keep_changed(before: RuleSet, after: RuleSet) -> tuple[dict[str, Any], dict[str, Any]]:
    return select_changed_fields(list_values(before), list_values(after))
