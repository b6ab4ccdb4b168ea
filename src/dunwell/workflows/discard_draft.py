"""Discard the draft of a published workflow; its versions stay as they are."""

from uuid import UUID

from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.workflows.store import delete_draft, load_current


async def discard_draft(work: Work, workflow_id: UUID) -> None:
    """Raises InvalidState: no draft, or the workflow was never published and would be left bare."""
    if await load_current(work.tx, work.merchant_id, workflow_id) is None:
        raise InvalidState("The workflow has no published version; publish it.", state="DRAFT")
    if not await delete_draft(work.tx, work.merchant_id, workflow_id):
        raise InvalidState("The workflow has no draft.", state="PUBLISHED")
    await save_audit(work, "workflow.discard_draft", f"workflow:{workflow_id}")
