"""Discard the draft of a published workflow; its versions stay as they are.

A workflow that was never published goes with its draft: `rollout.drop_draft` sees to that.
"""

from uuid import UUID

from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.workflows.open_workflow import open_workflow
from dunwell.workflows.store import delete_draft, load_current


async def discard_draft(work: Work, workflow_id: UUID) -> None:
    """Raises NotFound, and InvalidState: no draft, or no version that would be left."""
    await open_workflow(work, workflow_id)
    if await load_current(work.tx, work.merchant_id, workflow_id) is None:
        raise InvalidState("The workflow has no published version; publish it.", state="DRAFT")
    if not await delete_draft(work.tx, work.merchant_id, workflow_id):
        raise InvalidState("The workflow has no draft.", state="PUBLISHED")
    await save_audit(work, "workflow.discard_draft", f"workflow:{workflow_id}")
