"""Save a workflow's draft as a whole; the first one makes the workflow (spec, Workflow version)."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import lock_merchant
from dunwell.core.workflows.change_workflow import check_switched, open_workflow
from dunwell.core.workflows.checking import check_workflow_name
from dunwell.core.workflows.definition import Definition
from dunwell.core.workflows.drafts.edit_draft import delete_standing_draft, store_changed_draft
from dunwell.core.workflows.store import (
    load_current,
    load_draft,
    load_name,
    load_workflows,
    save_workflow,
)
from dunwell.core.workflows.versions.versions import WorkflowDraft
from dunwell.platform.errors import EditConflict, Fault, ValidationError


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


async def begin_workflow(work: Work, name: str, definition: Definition) -> UUID:
    """Raises ValidationError (no name, or another workflow's) and InvalidState: the merchant has
    scenarios."""
    work.need(Right.CONFIGURE)
    check_switched(work.merchant)
    check_workflow_name(name)
    await lock_merchant(work.tx, work.merchant_id)
    if name in {each.name for each in await load_workflows(work.tx, work.merchant_id)}:
        message = f'Another workflow is called "{name}"; choose another name.'
        raise ValidationError([Fault("/name", message, "NAME_TAKEN")])
    return (await save_draft(work, name, definition)).workflow_id


async def replace_draft(
    work: Work, workflow_id: UUID, definition: Definition, *, expected_id: UUID | None
) -> SavedDraft:
    """Put another definition in the draft's place: an old version, or a file. Each part that
    differs is the change of whoever does it. expected_id: what was looked at: the draft's version,
    or without one the current one's. Raises NotFound and InvalidState: another one by now, or the
    merchant has scenarios."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    name = await load_name(work.tx, work.merchant_id, workflow_id)
    return await save_draft(work, name, definition, expected_id=expected_id)


async def _check_unchanged(
    work: Work, workflow_id: UUID, standing: WorkflowDraft | None, expected_id: UUID
) -> None:
    newest = standing or await load_current(work.tx, work.merchant_id, workflow_id)
    if newest is None or newest.version_id != expected_id:
        now = "there is no version yet" if newest is None else f"it is {newest.version_id} now"
        raise EditConflict(
            f"The workflow was changed since version {expected_id} was read ({now}). Read it "
            "again, bring your change in, and save with the id you read.",
            state="PUBLISHED" if standing is None else "DRAFT",
        )
