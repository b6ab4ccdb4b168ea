"""Add items and fees to an active claim, and delete them. By the specification (Events), these
changes raise no event."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import msgspec
from msgspec.structs import replace

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.record_payment import allocate_surplus, collect_if_paid, load_balance
from dunwell.cases.payments.store import delete_items, insert_item
from dunwell.contact.escalation.contacts.sending_hours import get_day_calendar
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.core.claims.balance import (
    Balance,
    OwedItem,
    check_fee_target,
    check_item_count,
    check_items_changeable,
    select_items_to_delete,
)
from dunwell.core.claims.states import Status
from dunwell.core.claims.store import LockedClaim, load_items
from dunwell.platform.errors import NotFound


class NewItem(msgspec.Struct, frozen=True, gc=False):
    type: str
    value_cents: int
    reference: str | None = None
    item_on: date | None = None
    due_on: date | None = None
    # The id of the item for which the fee is charged.
    fee_of: int | None = None


@dataclass(frozen=True, slots=True)
class ItemAddition:
    item: OwedItem
    status: Status
    balance: Balance


async def add_item(work: Work, claim_id: int, new: NewItem) -> ItemAddition:
    """Add an item to the claim.

    Raises NotFound, InvalidState if the claim is not active, and ValidationError if it has too many
    items.
    """
    work.require(Right.RECORD_MONEY)
    claim, items = await _load_changeable(work, claim_id)
    return await _insert_item(work, claim, items, new)


async def add_fee(work: Work, claim_id: int, fee: NewItem) -> ItemAddition:
    """Add a fee to the claim; without a date, it gets today's.

    Raises NotFound, InvalidState if the claim is not active, and ValidationError if it does not
    have the item in `fee_of` or has too many items.
    """
    work.require(Right.RECORD_MONEY)
    claim, items = await _load_changeable(work, claim_id)
    check_fee_target(items, fee.fee_of)
    if fee.item_on is None:
        days = get_day_calendar(work.merchant.configuration.timezone)
        fee = replace(fee, item_on=days.local_date(work.now))
    return await _insert_item(work, claim, items, fee)


async def _load_changeable(work: Work, claim_id: int) -> tuple[LockedClaim, list[OwedItem]]:
    """Return the locked claim and its items. Raises NotFound and InvalidState."""
    claim = await lock_claim_of_merchant(work, claim_id)
    check_items_changeable(claim.status)
    return claim, await load_items(work.tx, work.merchant_id, claim_id)


async def _insert_item(
    work: Work, claim: LockedClaim, items: Sequence[OwedItem], new: NewItem
) -> ItemAddition:
    """Insert the item, then allocate surplus payments to it. Raises ValidationError."""
    check_item_count(items)
    claim_id = claim.claim_id
    item = OwedItem(
        item_id=0,
        position=1 + max(each.position for each in items),
        type=new.type,
        value_cents=new.value_cents,
        due_on=new.due_on,
        reference=new.reference,
        item_on=new.item_on,
        fee_of=new.fee_of,
    )
    item_id = await insert_item(work.tx, work.merchant_id, claim_id, item=item, now=work.now)
    await allocate_surplus(work, claim_id)
    balance = await load_balance(work, claim_id)
    status = await collect_if_paid(work, claim, balance)
    await save_audit(
        work, "item.add", f"claim:{claim_id}",
        before={"status": claim.status},
        after={
            "type": new.type, "value": new.value_cents, "status": status,
            "outstanding": balance.outstanding_cents,
        },
        itemId=item_id, type=new.type,
    )  # fmt: skip
    return ItemAddition(replace(item, item_id=item_id), status, balance)


@dataclass(frozen=True, slots=True)
class ItemDeletion:
    """The deleted item and its fees."""

    items: Sequence[OwedItem]
    status: Status
    balance: Balance


async def delete_item(work: Work, claim_id: int, item_id: int) -> ItemDeletion:
    """Delete an item together with its fees.

    Raises NotFound if there is no such claim or item, and InvalidState if the claim is not active
    or the item is paid or is the last one.
    """
    work.require(Right.RECORD_MONEY)
    claim = await lock_claim_of_merchant(work, claim_id)
    items = await load_items(work.tx, work.merchant_id, claim_id)
    if not any(each.item_id == item_id for each in items):
        raise NotFound(f"There is no item {item_id}.")
    check_items_changeable(claim.status)
    removed = select_items_to_delete(items, item_id)
    ids = [each.item_id for each in removed]
    await delete_items(work.tx, work.merchant_id, claim_id, item_ids=ids, now=work.now)
    balance = await load_balance(work, claim_id)
    status = await collect_if_paid(work, claim, balance)
    await save_audit(
        work, "item.delete", f"claim:{claim_id}",
        before={"items": [{"type": each.type, "value": each.value_cents} for each in removed]},
        after={"status": status, "outstanding": balance.outstanding_cents}, itemIds=ids,
    )  # fmt: skip
    return ItemDeletion(removed, status, balance)
