"""Publish a workflow's draft after everything about it was checked, its texts included."""

from uuid import UUID

from dunwell.errors import ValidationError
from dunwell.merchants.account import Work
from dunwell.rollout.publishing_faults import find_publishing_faults
from dunwell.workflows.open_workflow import open_workflow
from dunwell.workflows.publish_draft import publish_draft
from dunwell.workflows.store import load_draft
from dunwell.workflows.versions import Version


async def publish_workflow(
    work: Work, workflow_id: UUID, comment: str | None = None, *, expected_id: UUID | None = None
) -> Version:
    """Publish the draft; `expected_id`: the one that was looked at, and no other.

    Raises ValidationError with every fault, and what `publish_draft` raises.
    """
    await open_workflow(work, workflow_id)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is not None:
        faults = await find_publishing_faults(work, workflow_id, draft.definition)
        if faults:
            raise ValidationError(faults)
    return await publish_draft(work, workflow_id, comment, expected_id=expected_id)
