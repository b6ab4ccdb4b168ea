"""What a debtor may pay at once: the whole claim, a part, or chosen items (CONTRACT 11). Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.core.claims.balance import OwedItem


class PaymentChoiceKind(StrEnum):
    WHOLE = "WHOLE"
    PART = "PART"
    ITEMS = "ITEMS"


# A round amount that many people pay, in minor units.
_USUAL_PART_CENTS = 2000


@dataclass(frozen=True, slots=True)
class PaymentChoice:
    """What a debtor wants to pay, and the total that the page showed for it."""

    kind: PaymentChoiceKind
    cents: int
    # Set only when the kind is ITEMS, in ascending order.
    item_ids: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PartBounds:
    """The smallest and the largest part that can be paid, both inclusive."""

    min_cents: int
    max_cents: int

    @property
    def example_cents(self) -> int:
        """An amount to show as an example. It is larger than the minimum, so that the debtor sees
        that more may be paid."""
        return min(max(2 * self.min_cents, _USUAL_PART_CENTS), self.max_cents)


@dataclass(frozen=True, slots=True)
class PayableGroup:
    """An item that can be chosen, with its fees."""

    item: OwedItem
    fees: tuple[OwedItem, ...]

    @property
    def cents(self) -> int:
        return sum(each.outstanding_cents for each in (self.item, *self.fees))

    @property
    def fees_cents(self) -> int:
        return sum(fee.outstanding_cents for fee in self.fees)

    @property
    def item_ids(self) -> tuple[int, ...]:
        return tuple(each.item_id for each in (self.item, *self.fees))


def sum_outstanding(items: Sequence[OwedItem]) -> int:
    return sum(item.outstanding_cents for item in items)


def compute_part_bounds(
    partial: PartialPaymentSettings | None, items: Sequence[OwedItem]
) -> PartBounds | None:
    """Return the bounds of a partial payment, or None if the merchant accepts none or too little is
    outstanding."""
    outstanding = sum_outstanding(items)
    if partial is None or partial.min_cents is None or outstanding <= partial.min_cents:
        return None
    return PartBounds(partial.min_cents, outstanding)


def allow_instalment(
    partial: PartialPaymentSettings | None, instalment_cents: int | None
) -> PartialPaymentSettings | None:
    """Return the merchant's settings for partial payments, extended by an agreed payment plan.

    With a plan, the debtor may pay the next instalment, or any larger part. `instalment_cents` is
    what is left of that instalment, or None if there is no plan.
    """
    if instalment_cents is None:
        return partial
    if partial is None:
        return PartialPaymentSettings(str(instalment_cents))
    least = (
        instalment_cents if partial.min_cents is None else min(partial.min_cents, instalment_cents)
    )
    return PartialPaymentSettings(str(least), partial.items)


def list_payable_groups(
    partial: PartialPaymentSettings | None, items: Sequence[OwedItem]
) -> list[PayableGroup]:
    """Return the items to choose from, each with its fees. Return an empty list if there is no
    choice."""
    if partial is None or not partial.items:
        return []
    owing = [item for item in items if item.outstanding_cents > 0]
    heads = {item.item_id for item in owing if item.fee_of is None}
    fees = {head: tuple(fee for fee in owing if fee.fee_of == head) for head in heads}
    # A fee whose item is paid is a separate group.
    groups = [
        PayableGroup(item, fees.get(item.item_id, ())) for item in owing if item.fee_of not in heads
    ]
    return groups if len(groups) > 1 else []


def choose_items(groups: Sequence[PayableGroup], chosen: Collection[int]) -> PaymentChoice | None:
    """Return the choice of all groups to which the chosen item ids belong, with their total. Return
    None if no id was chosen or one belongs to no group."""
    picked = [group for group in groups if not set(group.item_ids).isdisjoint(chosen)]
    ids = sorted(item_id for group in picked for item_id in group.item_ids)
    if not chosen or not set(chosen) <= set(ids):
        return None
    return PaymentChoice(PaymentChoiceKind.ITEMS, sum(group.cents for group in picked), tuple(ids))


def is_choice_allowed(
    partial: PartialPaymentSettings | None, items: Sequence[OwedItem], choice: PaymentChoice
) -> bool:
    """Return whether the merchant accepts the choice, given the items as they are now."""
    if choice.kind is PaymentChoiceKind.ITEMS:
        return choice == choose_items(list_payable_groups(partial, items), choice.item_ids)
    if choice.item_ids:
        return False
    if choice.kind is PaymentChoiceKind.WHOLE:
        return choice.cents == sum_outstanding(items)
    bounds = compute_part_bounds(partial, items)
    return bounds is not None and bounds.min_cents <= choice.cents <= bounds.max_cents
