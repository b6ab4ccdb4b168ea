"""Open a workflow or the scenarios for a change: found, and held still until the transaction ends.

Every change takes its locks in this order: the merchant's setup, the workflow, then whatever the
change touches. So changes of one merchant wait for each other and never for ever.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_switched, lock_merchant
from dunwell.core.workflows.store import Workflow, load_workflows, lock_workflow
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.text.shape import render_nearest


def check_switched(merchant: Merchant) -> None:
    """Raises InvalidState: the merchant's processes are scenarios still."""
    if not merchant.switched_to_workflows:
        raise InvalidState(
            "The merchant works with scenarios, not workflows; "
            f"see: dunwell scenario list {merchant.key}, dunwell switch {merchant.key}.",
            state="NOT_SWITCHED",
        )


async def find_workflow(tx: Connection, merchant_id: int, name: str) -> Workflow:
    """The merchant's workflow of this name. Raises NotFound, which names the nearest."""
    workflows = {each.name: each for each in await load_workflows(tx, merchant_id)}
    if name not in workflows:
        nearest = render_nearest(name, list(workflows))
        raise NotFound(f'There is no workflow "{name}". {nearest}')
    return workflows[name]


async def open_workflow(work: Work, workflow_id: UUID) -> None:
    """Lock it. Raises NotFound, and InvalidState where the merchant has no workflows yet."""
    check_switched(work.merchant)
    await lock_merchant(work.tx, work.merchant_id)
    if not await lock_workflow(work.tx, work.merchant_id, workflow_id):
        raise NotFound(f"There is no workflow {workflow_id}.")


async def open_scenarios(work: Work) -> None:
    """Hold the merchant's setup. Raises InvalidState: the merchant works with workflows."""
    await lock_merchant(work.tx, work.merchant_id)
    if await load_switched(work.tx, work.merchant_id):
        key = work.merchant.key
        raise InvalidState(
            "The merchant works with workflows, and there is no way back; its scenarios are "
            f"read-only. See: dunwell workflow list {key}.",
            state="SWITCHED",
        )
