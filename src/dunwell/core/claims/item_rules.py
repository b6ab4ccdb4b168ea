"""Which items a claim takes and which may go (CONTRACT 4 and 5). Pure."""

from collections.abc import Sequence

from dunwell.core.claims.balance import PRIMARY, Item
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.platform.errors import Fault, InvalidState, ValidationError

MAX_ITEMS = 100


def check_changeable(status: Status) -> None:
    """Raises InvalidState: what a claim that has ended owes is changed by payments alone."""
    if status not in ACTIVE:
        raise InvalidState(
            "Items and fees are added to and deleted from claims in process only.",
            state=str(status),
        )


def check_room(items: Sequence[Item]) -> None:
    """Raises ValidationError when the claim takes no further item."""
    if len(items) >= MAX_ITEMS:
        message = f"The claim has {len(items)} items; {MAX_ITEMS} are the most it takes."
        raise ValidationError([Fault("", message, "TOO_MANY")])


def check_fee_of(items: Sequence[Item], item_id: int | None) -> None:
    """A fee is added for an item that is no fee itself. Raises ValidationError."""
    if item_id is None or any(each.item_id == item_id and _is_primary(each) for each in items):
        return
    message = "The claim has no PRIMARY item of this id; see items of the claim."
    raise ValidationError([Fault("/itemId", message, "UNKNOWN_ITEM")])


def find_going(items: Sequence[Item], item_id: int) -> list[Item]:
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


def _is_primary(item: Item) -> bool:
    return item.type == PRIMARY
