"""Put another definition in the place of a workflow's draft: an old version, or a file. Each part
that differs is the change of whoever does it, and publishing asks for it as for any other."""

from uuid import UUID

from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right
from dunwell.workflows.definition import Definition
from dunwell.workflows.open_workflow import open_workflow
from dunwell.workflows.save_draft import SavedDraft, save_draft
from dunwell.workflows.store_changes import load_name


async def replace_draft(
    work: Work, workflow_id: UUID, definition: Definition, *, expected_id: UUID | None
) -> SavedDraft:
    """expected_id: what was looked at: the draft's version, or without one the current one's.
    Raises NotFound and InvalidState: another one by now, or the merchant has scenarios."""
    work.need(Right.CONFIGURE)
    await open_workflow(work, workflow_id)
    name = await load_name(work.tx, work.merchant_id, workflow_id)
    return await save_draft(work, name, definition, expected_id=expected_id)
