"""Publish a workflow's draft. It becomes the current version and never changes again."""

from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import increment_revision
from dunwell.core.workflows.change_workflow import lock_workflow_for_change
from dunwell.core.workflows.checking import find_definition_faults
from dunwell.core.workflows.drafts.draft_changes import DraftChange, ReviewedChanges
from dunwell.core.workflows.drafts.store import load_open_changes, mark_published
from dunwell.core.workflows.store import load_current, load_draft, save_publication
from dunwell.core.workflows.versions.store import load_known_steps
from dunwell.core.workflows.versions.versions import (
    Version,
    VersionVerdict,
    WorkflowDraft,
    compute_next_number,
    compute_verdict,
    find_reused_id_faults,
)
from dunwell.platform.errors import EditConflict, InvalidState, ValidationError
from dunwell.platform.text.texts import check_printable


class ChangesNotReviewed(InvalidState):
    """The draft has changes that the publishing user has not reviewed. Nothing was published."""

    def __init__(self, new_changes: list[DraftChange], unapproved: list[DraftChange]) -> None:
        super().__init__(
            "The draft has changes of other users that you have not approved. Review and approve "
            "each, and publish again.",
            state="DRAFT",
        )
        # Changes made after the page was shown, and colleagues' changes that were not approved.
        self.new_changes = new_changes
        self.unapproved = unapproved


async def publish_draft(
    work: Work, workflow_id: UUID, comment: str | None = None, *, expected_id: UUID | None = None,
    reviewed: ReviewedChanges | None = None,
) -> Version:  # fmt: skip
    """Publish the draft, with a version number that follows from its changes (CONTRACT 6,
    Versions).

    `expected_id` is the draft that was shown; another one is not published.
    `cases.rollout.publish_workflow` checks the texts and is what users and programs call.
    `reviewed` has the changes that a user has reviewed. A signed-in user cannot publish colleagues'
    changes without reviewing them; programs and the command line need no review.

    Raises NotFound, ValidationError (faults of the definition, or control characters in the
    comment), ChangesNotReviewed, EditConflict, InvalidState (no draft, or no changes).
    """
    work.require(Right.PUBLISH)
    check_printable(comment, "comment")
    await lock_workflow_for_change(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None:
        raise InvalidState("The workflow has no draft; save one first.", state="PUBLISHED")
    await _check_reviewed(work, workflow_id, reviewed)
    if expected_id is not None and draft.version_id != expected_id:
        raise EditConflict(
            f"The draft was changed since version {expected_id} was read (it is {draft.version_id} "
            "now). Review it again before you publish it.",
            state="DRAFT",
        )
    await _check_publishable(work, workflow_id, draft)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    verdict = _compute_verdict(current, draft)
    number = compute_next_number(current, verdict)
    version = Version(workflow_id, draft.version_id, *number, draft.definition)
    await save_publication(work.tx, work.merchant_id, version, now=work.now, comment=comment)
    await mark_published(work.tx, work.merchant_id, workflow_id, version.version_id)
    await increment_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "workflow.publish", f"workflow:{workflow_id}",
        before=None if current is None else {"version": current.name},
        after={"version": version.name},
        versionId=str(version.version_id), version=version.name, verdict=verdict,
    )  # fmt: skip
    return version


async def _check_reviewed(work: Work, workflow_id: UUID, reviewed: ReviewedChanges | None) -> None:
    actor = work.actor
    if reviewed is None and actor.kind is not ActorKind.USER:
        return
    review = reviewed or ReviewedChanges(frozenset(), frozenset())
    changes = await load_open_changes(work.tx, work.merchant_id, workflow_id)
    new_changes = review.list_new(changes)
    unapproved = review.list_unapproved(changes, actor.kind, actor.actor_id)
    if new_changes or unapproved:
        raise ChangesNotReviewed(new_changes, unapproved)


async def _check_publishable(work: Work, workflow_id: UUID, draft: WorkflowDraft) -> None:
    """Check the definition. A draft can be stored with faults, a version cannot."""
    known = await load_known_steps(work.tx, work.merchant_id, workflow_id)
    faults = find_definition_faults(msgspec.to_builtins(draft.definition))
    faults += find_reused_id_faults(known, draft.definition)
    if faults:
        raise ValidationError(faults)


def _compute_verdict(current: Version | None, draft: WorkflowDraft) -> VersionVerdict:
    """Return the kind of change. Raises InvalidState if nothing differs."""
    if current is None:
        return VersionVerdict.MAJOR
    verdict = compute_verdict(current.definition, draft.definition)
    if verdict is VersionVerdict.NONE:
        raise InvalidState(
            "The draft does not differ from the published version; change or discard it.",
            state="DRAFT",
        )
    return verdict
