"""Save a workflow's draft; the first one makes the workflow (spec, Workflow version)."""

from dataclasses import dataclass
from uuid import UUID

from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.workflows.definition import Definition
from dunwell.workflows.names import check_workflow_name
from dunwell.workflows.store import Draft, save_draft_row, save_workflow


@dataclass(frozen=True, slots=True)
class SavedDraft:
    workflow_id: UUID
    version_id: UUID


async def save_draft(work: Work, name: str, definition: Definition) -> SavedDraft:
    """Store `definition`, which has been checked, as the draft of the workflow of this name.

    A workflow has one draft; the one before is replaced. Raises ValidationError (name).
    """
    check_workflow_name(name)
    version_id = work.ids.new(work.now)
    workflow_id = await save_workflow(
        work.tx, work.merchant_id, work.ids.new(work.now), name, work.now
    )
    draft = Draft(version_id, definition)
    await save_draft_row(work.tx, work.merchant_id, workflow_id, draft, work.now)
    await save_audit(
        work, "workflow.save_draft", f"workflow:{workflow_id}", versionId=str(version_id)
    )
    return SavedDraft(workflow_id, version_id)
