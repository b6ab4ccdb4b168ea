"""Save a workflow's draft; the first one makes the workflow (spec, Workflow version)."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.rights import Right
from dunwell.merchants.store_changes import lock_merchant
from dunwell.workflows.checking import check_workflow_name
from dunwell.workflows.definition import Definition
from dunwell.workflows.drafts import delete_standing_draft
from dunwell.workflows.open_workflow import check_switched
from dunwell.workflows.record_changes import store_changed_draft
from dunwell.workflows.store import load_current, load_draft, save_workflow
from dunwell.workflows.versions import Draft


@dataclass(frozen=True, slots=True)
class SavedDraft:
    """`version_id` is the published version's where the definition is: there is no draft then."""

    workflow_id: UUID
    version_id: UUID
    is_draft: bool = True


async def save_draft(
    work: Work, name: str, definition: Definition, *, expected_id: UUID | None = None
) -> SavedDraft:
    """Store `definition` as the draft of the workflow of this name.

    Its shape is right; what else is wrong with it stops publishing, not saving. A workflow has one
    draft; the one before is replaced, and discarded when this is what is published. `expected_id`:
    the version it was made from, the draft's or, without one, the current version's; another
    editor's change since then is not overwritten.
    Raises ValidationError (name), InvalidState (changed since, or the merchant has scenarios).
    """
    work.need(Right.CONFIGURE)
    check_workflow_name(name)
    check_switched(work.merchant)
    await lock_merchant(work.tx, work.merchant_id)
    workflow_id = await save_workflow(
        work.tx, work.merchant_id, workflow_id=work.ids.new(work.now), name=name, now=work.now
    )
    standing = await load_draft(work.tx, work.merchant_id, workflow_id)
    if expected_id is not None:
        await _check_unchanged(work, workflow_id, standing, expected_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if current is not None and current.definition == definition:
        if standing is not None:
            await delete_standing_draft(work, workflow_id)
        return SavedDraft(workflow_id, current.version_id, is_draft=False)
    if standing is not None and standing.definition == definition:
        return SavedDraft(workflow_id, standing.version_id)
    former = standing or current
    draft, before, after = await store_changed_draft(work, workflow_id, former, definition)
    await save_audit(
        work, "workflow.save_draft", f"workflow:{workflow_id}",
        before=before, after=after, versionId=str(draft.version_id), name=name,
    )  # fmt: skip
    return SavedDraft(workflow_id, draft.version_id)


async def _check_unchanged(
    work: Work, workflow_id: UUID, standing: Draft | None, expected_id: UUID
) -> None:
    newest = standing or await load_current(work.tx, work.merchant_id, workflow_id)
    if newest is None or newest.version_id != expected_id:
        now = "there is no version yet" if newest is None else f"it is {newest.version_id} now"
        raise InvalidState(
            f"The workflow was changed since version {expected_id} was read ({now}). Read it "
            "again, bring your change in, and save with the id you read.",
            state="PUBLISHED" if standing is None else "DRAFT",
        )
