"""Balances in minor units: what is owed, how payments are allocated, and when items may be added
and deleted (CONTRACT 4 and 5). Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

import msgspec

from dunwell.accounts.merchants.configuration import Allocation
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.platform.errors import Fault, InvalidState, ValidationError

PRIMARY = "PRIMARY"


class OwedItem(msgspec.Struct, frozen=True, gc=False):
    """An item of a claim, and how much of it is paid."""

    item_id: int
    position: int
    type: str
    value_cents: int
    allocated_cents: int = 0
    due_on: date | None = None
    reference: str | None = None
    item_on: date | None = None
    # The item that a fee belongs to.
    fee_of: int | None = None

    @property
    def outstanding_cents(self) -> int:
        return self.value_cents - self.allocated_cents


@dataclass(frozen=True, slots=True)
class Balance:
    total_cents: int
    outstanding_cents: int
    overpaid_cents: int


def sum_balance(items: Sequence[OwedItem], paid_cents: int) -> Balance:
    """Return the balance. `paid_cents` is what was paid and not returned, whether it is allocated
    to items or not."""
    total = sum(item.value_cents for item in items)
    allocated = sum(item.allocated_cents for item in items)
    return Balance(total, total - allocated, paid_cents - allocated)


def allocate(
    items: Sequence[OwedItem],
    amount_cents: int,
    order: Allocation,
    first_ids: Collection[int] = (),
) -> dict[int, int]:
    """Allocate an amount to items. Return item id -> cents, without items that get nothing.
    `first_ids` names the items that the payment was made for, which are paid first."""
    shares: dict[int, int] = {}
    left = amount_cents
    for item in sorted(
        items, key=lambda each: (each.item_id not in first_ids, *_get_payment_sort_key(each, order))
    ):
        share = min(left, item.outstanding_cents)
        if share > 0:
            shares[item.item_id] = share
            left -= share
    return shares


def order_for_payment(items: Sequence[OwedItem], order: Allocation) -> list[OwedItem]:
    """Return the items in the order in which a payment pays them."""
    return sorted(items, key=lambda each: _get_payment_sort_key(each, order))


def _get_payment_sort_key(item: OwedItem, order: Allocation) -> tuple[bool, date, int]:
    """Return the sort key: costs and fees first or last, then by due date, then by position."""
    is_primary = item.type == PRIMARY
    comes_last = is_primary if order == "COSTS_FIRST" else not is_primary
    return comes_last, item.due_on or date.max, item.position


MAX_ITEMS = 100


def check_items_changeable(status: Status) -> None:
    """Check that the claim is active. What an ended claim owes is changed only by payments. Raises
    InvalidState."""
    if status not in ACTIVE:
        raise InvalidState(
            "Items and fees can be added and deleted only while the claim is CREATED or "
            "IN_PROCESS.",
            state=str(status),
        )


def check_item_count(items: Sequence[OwedItem]) -> None:
    """Check that the claim may get another item. Raises ValidationError."""
    if len(items) >= MAX_ITEMS:
        message = f"The claim has {len(items)} items; the maximum is {MAX_ITEMS}."
        raise ValidationError([Fault("", message, "TOO_MANY")])


def check_fee_target(items: Sequence[OwedItem], item_id: int | None) -> None:
    """Check that a fee belongs to an item that is not a fee. Raises ValidationError."""
    if item_id is None or any(each.item_id == item_id and _is_primary(each) for each in items):
        return
    message = "The claim has no PRIMARY item with this id; see the claim's items."
    raise ValidationError([Fault("/itemId", message, "UNKNOWN_ITEM")])


def select_items_to_delete(items: Sequence[OwedItem], item_id: int) -> list[OwedItem]:
    """Return the item and its fees, which are deleted together. Raises InvalidState."""
    deleted = [each for each in items if item_id in (each.item_id, each.fee_of)]
    if any(each.allocated_cents for each in deleted):
        raise InvalidState(
            (
                "This item, or a fee that belongs to it, was paid at least in part. Reverse the "
                "payment first."
            ),
            state="PAID",
        )
    left = [each for each in items if each not in deleted]
    if not any(_is_primary(each) for each in left):
        raise InvalidState(
            "A claim keeps at least one PRIMARY item. Withdraw the claim instead.",
            state="LAST_PRIMARY",
        )
    return deleted


def _is_primary(item: OwedItem) -> bool:
    return item.type == PRIMARY
