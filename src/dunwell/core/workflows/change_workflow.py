"""What is done to a workflow as a whole: another name; deactivated, or activated again (spec,
Workflow version 3; CONTRACT 6).

Its id, versions, claims and rules stay. While it is deactivated rules skip it and it cannot be
assigned; claims on it run on.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import raise_revision
from dunwell.core.workflows.checking import check_workflow_name
from dunwell.core.workflows.open_workflow import open_workflow
from dunwell.core.workflows.store_changes import load_name, save_assignment_enabled, save_name
from dunwell.platform.errors import Fault, ValidationError


async def rename_workflow(work: Work, workflow_id: UUID, name: str) -> None:
    """Raises NotFound, and ValidationError: no name, or another workflow's."""
    work.need(Right.CONFIGURE)
    check_workflow_name(name)
    await open_workflow(work, workflow_id)
    before = await load_name(work.tx, work.merchant_id, workflow_id)
    if not await save_name(work.tx, work.merchant_id, workflow_id, name):
        message = f'Another workflow is called "{name}"; choose another name.'
        raise ValidationError([Fault("/name", message, "NAME_TAKEN")])
    await raise_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "workflow.rename", f"workflow:{workflow_id}",
        before={"name": before}, after={"name": name},
    )  # fmt: skip


async def deactivate_workflow(work: Work, workflow_id: UUID) -> bool:
    """False: it was deactivated already. Raises NotFound."""
    work.need(Right.PUBLISH)
    return await _set(work, workflow_id, "workflow.deactivate", is_enabled=False)


async def activate_workflow(work: Work, workflow_id: UUID) -> bool:
    """False: it was active already. Raises NotFound."""
    work.need(Right.PUBLISH)
    return await _set(work, workflow_id, "workflow.activate", is_enabled=True)


async def _set(work: Work, workflow_id: UUID, action: str, *, is_enabled: bool) -> bool:
    await open_workflow(work, workflow_id)
    if not await save_assignment_enabled(
        work.tx, work.merchant_id, workflow_id, is_enabled=is_enabled
    ):
        return False
    await raise_revision(work.tx, work.merchant_id)
    await save_audit(
        work, action, f"workflow:{workflow_id}",
        before={"assignmentEnabled": not is_enabled}, after={"assignmentEnabled": is_enabled},
    )  # fmt: skip
    return True
