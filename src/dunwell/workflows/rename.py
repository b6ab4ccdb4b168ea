"""Give a workflow another name; its id, versions, claims and rules stay."""

from uuid import UUID

from dunwell.errors import Fault, ValidationError
from dunwell.merchants.account import Work
from dunwell.merchants.audit import save_audit
from dunwell.merchants.store_changes import raise_revision
from dunwell.workflows.names import check_workflow_name
from dunwell.workflows.open_workflow import open_workflow
from dunwell.workflows.store_changes import save_name


async def rename_workflow(work: Work, workflow_id: UUID, name: str) -> None:
    """Raises NotFound, and ValidationError: no name, or another workflow's."""
    check_workflow_name(name)
    await open_workflow(work, workflow_id)
    if not await save_name(work.tx, work.merchant_id, workflow_id, name):
        message = f'Another workflow is called "{name}"; choose another name.'
        raise ValidationError([Fault("/name", message, "NAME_TAKEN")])
    await raise_revision(work.tx, work.merchant_id)
    await save_audit(work, "workflow.rename", f"workflow:{workflow_id}")
