"""Begin a workflow of a new name with its first draft."""

from uuid import UUID

from dunwell.errors import Fault, ValidationError
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right
from dunwell.merchants.store_changes import lock_merchant
from dunwell.workflows.checking import check_workflow_name
from dunwell.workflows.definition import Definition
from dunwell.workflows.open_workflow import check_switched
from dunwell.workflows.save_draft import save_draft
from dunwell.workflows.store import load_workflows


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
