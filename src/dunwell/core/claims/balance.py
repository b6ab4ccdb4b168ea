"""What is owed, which cents paid what, which items a claim takes and which may be deleted (CONTRACT
4 and 5); money in minor units. Pure.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date

import msgspec

from dunwell.accounts.merchants.configuration import Allocation
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.platform.errors import Fault, InvalidState, ValidationError

PRIMARY = "PRIMARY"


class OwedItem(msgspec.Struct, frozen=True, gc=False):
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


def sum_balance(items: Sequence[OwedItem], paid_cents: int) -> Balance:
    """paid_cents: all payments that stand, allocated or not."""
    total = sum(item.value_cents for item in items)
    allocated = sum(item.allocated_cents for item in items)
    return Balance(total, total - allocated, paid_cents - allocated)


def allocate(
    items: Sequence[OwedItem], amount_cents: int, order: Allocation, first: Collection[int] = ()
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


def _payment_order(item: OwedItem, order: Allocation) -> tuple[bool, date, int]:
    """Costs and fees first or last, then the oldest due, then the claim's own order."""
    is_primary = item.type == PRIMARY
    comes_last = is_primary if order == "COSTS_FIRST" else not is_primary
    return comes_last, item.due_on or date.max, item.position


MAX_ITEMS = 100


def check_changeable(status: Status) -> None:
    """Raises InvalidState: what a claim that has ended owes is changed by payments alone."""
    if status not in ACTIVE:
        raise InvalidState(
            "Items and fees are added to and deleted from claims in process only.",
            state=str(status),
        )


def check_room(items: Sequence[OwedItem]) -> None:
    """Raises ValidationError when the claim takes no further item."""
    if len(items) >= MAX_ITEMS:
        message = f"The claim has {len(items)} items; {MAX_ITEMS} are the most it takes."
        raise ValidationError([Fault("", message, "TOO_MANY")])


def check_fee_of(items: Sequence[OwedItem], item_id: int | None) -> None:
    """A fee is added for an item that is no fee itself. Raises ValidationError."""
    if item_id is None or any(each.item_id == item_id and _is_primary(each) for each in items):
        return
    message = "The claim has no PRIMARY item of this id; see items of the claim."
    raise ValidationError([Fault("/itemId", message, "UNKNOWN_ITEM")])


def find_going(items: Sequence[OwedItem], item_id: int) -> list[OwedItem]:
    """One of the items and the fees that go with it. Raises InvalidState."""
    going = [each for each in items if item_id in (each.item_id, each.fee_of)]
    if any(each.allocated_cents for each in going):
        raise InvalidState(
            "Money was paid on this item or on a fee that goes with it. Reverse the payment first.",
            state="PAID",
        )
    left = [each for each in items if each not in going]
    if not any(_is_primary(each) for each in left):
        raise InvalidState(
            "A claim keeps at least one PRIMARY item. Withdraw the claim instead.",
            state="LAST_PRIMARY",
        )
    return going


def _is_primary(item: OwedItem) -> bool:
    return item.type == PRIMARY
