"""How what is left of payments pays items that owe again after a reversal. Pure."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from msgspec.structs import replace

from dunwell.accounts.merchants.configuration import Allocation
from dunwell.core.claims.balance import Item, allocate

Shares = dict[int, int]


def share_surplus(
    items: Sequence[Item], surplus: Mapping[UUID, int], order: Allocation
) -> dict[UUID, Shares]:
    """Share out each payment's unused cents in turn: payment id -> item id -> cents.

    So nothing is outstanding beside an overpaid cent.
    """
    owing, shared = list(items), {}
    for payment_id, cents in surplus.items():
        shares = allocate(owing, cents, order)
        if shares:
            shared[payment_id] = shares
            owing = [_pay(item, shares.get(item.item_id, 0)) for item in owing]
    return shared


def _pay(item: Item, cents: int) -> Item:
    return replace(item, allocated_cents=item.allocated_cents + cents)
