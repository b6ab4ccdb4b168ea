"""Deletes an item of a claim in process, and the fees that were added for it.

When all that is left is paid, the claim is collected.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.balancing import collect_if_paid, load_balance
from dunwell.cases.payments.store_items import delete_items
from dunwell.core.claims.access import access_claim
from dunwell.core.claims.balance import Balance, Item, check_changeable, find_going
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import load_items
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class DeletedItems:
    """The item and its fees."""

    items: Sequence[Item]
    status: Status
    balance: Balance


async def delete_item(work: Work, claim_id: int, item_id: int) -> DeletedItems:
    """Raises NotFound (no claim, no item) and InvalidState (not in process, paid, the last)."""
    work.need(Right.RECORD_MONEY)
    claim = await access_claim(work, claim_id)
    items = await load_items(work.tx, work.merchant_id, claim_id)
    if not any(each.item_id == item_id for each in items):
        raise NotFound(f"There is no item {item_id}.")
    check_changeable(claim.status)
    going = find_going(items, item_id)
    ids = [each.item_id for each in going]
    await delete_items(work.tx, work.merchant_id, claim_id, item_ids=ids, now=work.now)
    balance = await load_balance(work, claim_id)
    status = await collect_if_paid(work, claim, balance)
    await save_audit(
        work, "item.delete", f"claim:{claim_id}",
        before={"items": [{"type": each.type, "value": each.value_cents} for each in going]},
        after={"status": status, "outstanding": balance.outstanding_cents}, itemIds=ids,
    )  # fmt: skip
    return DeletedItems(going, status, balance)
