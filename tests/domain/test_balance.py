"""Allocation of payments to items, exact to the cent."""

from datetime import date

from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.claims.balance import OwedItem, allocate, sum_balance

_ITEMS = st.lists(
    st.builds(
        OwedItem,
        item_id=st.integers(1, 10**6),
        position=st.integers(0, 99),
        type=st.sampled_from(["PRIMARY", "COLLECTION_FEE", "DUNNING_FEE"]),
        value_cents=st.integers(1, 10**12),
        due_on=st.none() | st.dates(date(2020, 1, 1), date(2030, 1, 1)),
    ),
    max_size=8,
    unique_by=lambda item: item.item_id,
)
_ORDERS = st.sampled_from(["COSTS_FIRST", "PRIMARY_FIRST"])


@given(_ITEMS, st.integers(1, 10**13), _ORDERS)
def test_an_allocation_neither_loses_nor_creates_a_cent(
    items: list[OwedItem], amount: int, order: str
) -> None:
    shares = allocate(items, amount, order)  # type: ignore[arg-type]
    owed = sum(item.outstanding_cents for item in items)
    assert sum(shares.values()) == min(amount, owed)


@given(_ITEMS, st.integers(1, 10**13), _ORDERS)
def test_no_item_is_paid_beyond_its_value(items: list[OwedItem], amount: int, order: str) -> None:
    shares = allocate(items, amount, order)  # type: ignore[arg-type]
    values = {item.item_id: item.value_cents for item in items}
    assert all(0 < cents <= values[item_id] for item_id, cents in shares.items())


@given(_ITEMS, st.integers(1, 10**13), _ORDERS)
def test_at_most_one_item_is_left_partly_paid(
    items: list[OwedItem], amount: int, order: str
) -> None:
    shares = allocate(items, amount, order)  # type: ignore[arg-type]
    values = {item.item_id: item.value_cents for item in items}
    assert sum(1 for item_id, cents in shares.items() if cents < values[item_id]) <= 1


def test_costs_are_paid_first_and_then_the_oldest_items() -> None:
    items = [
        OwedItem(1, 0, "PRIMARY", 1000, due_on=date(2026, 2, 1)),
        OwedItem(2, 1, "PRIMARY", 1000, due_on=date(2026, 1, 1)),
        OwedItem(3, 2, "DUNNING_FEE", 250),
    ]
    assert allocate(items, 1300, "COSTS_FIRST") == {3: 250, 2: 1000, 1: 50}
    assert allocate(items, 1300, "PRIMARY_FIRST") == {2: 1000, 1: 300}


def test_the_balance_of_paid_partly_paid_and_overpaid_claims() -> None:
    part = [OwedItem(1, 0, "PRIMARY", 1000, allocated_cents=400)]
    assert sum_balance(part, 400).outstanding_cents == 600
    full = [OwedItem(1, 0, "PRIMARY", 1000, allocated_cents=1000)]
    assert sum_balance(full, 1200).overpaid_cents == 200
    assert sum_balance(full, 1200).outstanding_cents == 0
