"""Allocation of surplus payments to items that are outstanding again."""

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.payments.record_payment import compute_surplus_allocation
from dunwell.core.claims.balance import OwedItem

FIRST, SECOND = UUID(int=1), UUID(int=2)
_ITEMS = st.lists(
    st.builds(
        OwedItem,
        item_id=st.integers(1, 10**6),
        position=st.integers(0, 99),
        type=st.sampled_from(["PRIMARY", "DUNNING_FEE"]),
        value_cents=st.integers(1, 10**6),
    ),
    max_size=6,
    unique_by=lambda item: item.item_id,
)
_SURPLUS = st.dictionaries(st.uuids(), st.integers(1, 10**6), max_size=4)


@given(_ITEMS, _SURPLUS)
def test_a_surplus_is_allocated_while_anything_is_outstanding(
    items: list[OwedItem], surplus: dict[UUID, int]
) -> None:
    shared = compute_surplus_allocation(items, surplus, "COSTS_FIRST")
    used = sum(cents for shares in shared.values() for cents in shares.values())
    owed = sum(item.outstanding_cents for item in items)
    assert used == min(owed, sum(surplus.values()))
    assert all(sum(shares.values()) <= surplus[paid] for paid, shares in shared.items())


def test_the_surplus_of_the_earlier_payment_is_used_first() -> None:
    items = [
        OwedItem(1, 0, "PRIMARY", 1000, allocated_cents=400),
        OwedItem(2, 1, "DUNNING_FEE", 250),
    ]
    shared = compute_surplus_allocation(items, {FIRST: 300, SECOND: 900}, "COSTS_FIRST")
    assert shared == {FIRST: {2: 250, 1: 50}, SECOND: {1: 550}}
    assert compute_surplus_allocation(items, {}, "COSTS_FIRST") == {}
