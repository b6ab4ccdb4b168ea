"""Lock a workflow or the scenarios for a change; rename, deactivate and activate a workflow (spec,
Workflow version 3; CONTRACT 6)."""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import increment_revision, load_is_switched, lock_merchant
from dunwell.core.workflows.checking import check_workflow_name
from dunwell.core.workflows.store import (
    Workflow,
    load_workflow_name,
    load_workflows,
    lock_workflow,
    save_assignment_enabled,
    save_workflow_name,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.shape import suggest_known


def check_uses_workflows(merchant: Merchant) -> None:
    """Check that the merchant works with workflows. Raises InvalidState."""
    if not merchant.switched_to_workflows:
        raise InvalidState(
            "The merchant works with scenarios, not workflows; "
            f"see: dunwell scenario list {merchant.key}, dunwell switch {merchant.key}.",
            state="NOT_SWITCHED",
        )


async def get_workflow_by_name(tx: Connection, merchant_id: int, name: str) -> Workflow:
    """Return the merchant's workflow with this name. Raises NotFound, which suggests a similar
    name."""
    workflows = {each.name: each for each in await load_workflows(tx, merchant_id)}
    if name not in workflows:
        nearest = suggest_known(name, list(workflows))
        raise NotFound(f'There is no workflow "{name}". {nearest}')
    return workflows[name]


async def lock_workflow_for_change(work: Work, workflow_id: UUID) -> None:
    """Lock the workflow until the transaction ends. Raises NotFound, and InvalidState if the
    merchant works with scenarios."""
    check_uses_workflows(work.merchant)
    await lock_merchant(work.tx, work.merchant_id)
    if not await lock_workflow(work.tx, work.merchant_id, workflow_id):
        raise NotFound(f"There is no workflow {workflow_id}.")


async def lock_scenarios_for_change(work: Work) -> None:
    """Lock the merchant's setup. Raises InvalidState if the merchant works with workflows."""
    await lock_merchant(work.tx, work.merchant_id)
    if await load_is_switched(work.tx, work.merchant_id):
        key = work.merchant.key
        raise InvalidState(
            "The merchant uses workflows, and the switch cannot be undone; its scenarios are "
            f"read-only. See: dunwell workflow list {key}.",
            state="SWITCHED",
        )


async def rename_workflow(work: Work, workflow_id: UUID, name: str) -> None:
    """Rename the workflow. Raises NotFound, and ValidationError for an invalid or taken name."""
    work.require(Right.CONFIGURE)
    check_workflow_name(name)
    await lock_workflow_for_change(work, workflow_id)
    before = await load_workflow_name(work.tx, work.merchant_id, workflow_id)
    if not await save_workflow_name(work.tx, work.merchant_id, workflow_id, name):
        message = f'Another workflow is called "{name}"; choose another name.'
        raise ValidationError([Fault("/name", message, "NAME_TAKEN")])
    await increment_revision(work.tx, work.merchant_id)
    await save_audit(
        work, "workflow.rename", f"workflow:{workflow_id}",
        before={"name": before}, after={"name": name},
    )  # fmt: skip


async def deactivate_workflow(work: Work, workflow_id: UUID) -> bool:
    """Stop new assignments to the workflow. Return False if it was deactivated already. Raises
    NotFound."""
    work.require(Right.PUBLISH)
    return await _set_assignment_enabled(work, workflow_id, "workflow.deactivate", is_enabled=False)


async def activate_workflow(work: Work, workflow_id: UUID) -> bool:
    """Allow new assignments to the workflow. Return False if it was active already. Raises
    NotFound."""
    work.require(Right.PUBLISH)
    return await _set_assignment_enabled(work, workflow_id, "workflow.activate", is_enabled=True)


async def _set_assignment_enabled(
    work: Work, workflow_id: UUID, action: str, *, is_enabled: bool
) -> bool:
    await lock_workflow_for_change(work, workflow_id)
    if not await save_assignment_enabled(
        work.tx, work.merchant_id, workflow_id, is_enabled=is_enabled
    ):
        return False
    await increment_revision(work.tx, work.merchant_id)
    await save_audit(
        work, action, f"workflow:{workflow_id}",
        before={"assignmentEnabled": not is_enabled}, after={"assignmentEnabled": is_enabled},
    )  # fmt: skip
    return True
