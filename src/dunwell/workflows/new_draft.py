"""Make a new draft from the latest published version (spec, Workflow version)."""

from uuid import UUID

from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.workflows.open_workflow import open_workflow
from dunwell.workflows.store import load_current, load_draft, save_draft_row
from dunwell.workflows.versions import Draft


async def new_draft(work: Work, workflow_id: UUID) -> Draft:
    """Raises NotFound, and InvalidState: there is a draft, which names its id."""
    await open_workflow(work, workflow_id)
    standing = await load_draft(work.tx, work.merchant_id, workflow_id)
    current = await load_current(work.tx, work.merchant_id, workflow_id)
    if standing is not None or current is None:
        named = "" if standing is None else f" ({standing.version_id})"
        raise InvalidState(
            f"The workflow has a draft already{named}; go on with it, or discard it first.",
            state="DRAFT",
        )
    draft = Draft(work.ids.new(work.now), current.definition)
    await save_draft_row(work.tx, work.merchant_id, workflow_id, draft, work.now)
    await save_audit(
        work, "workflow.new_draft", f"workflow:{workflow_id}",
        versionId=str(draft.version_id), basedOn=str(current.version_id),
    )  # fmt: skip
    return draft
