"""What is owed and which cents paid what (CONTRACT 4); money in minor units.

A payment pays items one after another in the merchant's order, those it was made for before the
rest; what is left of it is overpaid. Outstanding is therefore never below 0. Pure.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

import msgspec

from dunwell.accounts.merchants.configuration import Allocation

PRIMARY = "PRIMARY"


class Item(msgspec.Struct, frozen=True, gc=False):
    """A claim position and how much of it is paid."""

    item_id: int
    position: int
    type: str
    value_cents: int
    allocated_cents: int = 0
    due_on: date | None = None
    reference: str | None = None
    item_on: date | None = None
    # The item a fee was added for.
    fee_of: int | None = None

    @property
    def outstanding_cents(self) -> int:
        return self.value_cents - self.allocated_cents


@dataclass(frozen=True, slots=True)
class Balance:
    total_cents: int
    outstanding_cents: int
    overpaid_cents: int


def sum_balance(items: Sequence[Item], paid_cents: int) -> Balance:
    """paid_cents: all payments that stand, allocated or not."""
    total = sum(item.value_cents for item in items)
    allocated = sum(item.allocated_cents for item in items)
    return Balance(total, total - allocated, paid_cents - allocated)


def allocate(
    items: Sequence[Item], amount_cents: int, order: Allocation, first: Collection[int] = ()
) -> dict[int, int]:
    """Share an amount among items: item id -> cents, only items that get something. first: the ids
    of those it was made for."""
    shares: dict[int, int] = {}
    left = amount_cents
    for item in sorted(
        items, key=lambda each: (each.item_id not in first, *_payment_order(each, order))
    ):
        share = min(left, item.outstanding_cents)
        if share > 0:
            shares[item.item_id] = share
            left -= share
    return shares


def _payment_order(item: Item, order: Allocation) -> tuple[bool, date, int]:
    """Costs and fees first or last, then the oldest due, then the claim's own order."""
    is_primary = item.type == PRIMARY
    comes_last = is_primary if order == "COSTS_FIRST" else not is_primary
    return comes_last, item.due_on or date.max, item.position
