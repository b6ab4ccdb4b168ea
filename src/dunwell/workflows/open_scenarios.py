"""Whether a merchant's processes are scenarios still, asked where nothing can change it meanwhile.

The other half is `open_workflow.check_switched`; whoever changes a scenario, and the switch, hold
the merchant's setup first.
"""

from dunwell.errors import InvalidState
from dunwell.merchants.account import Work
from dunwell.merchants.store_changes import load_switched, lock_merchant


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
