import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.claims.balance import (
    MAX_ITEMS,
    OwedItem,
    check_fee_target,
    check_item_count,
    check_items_changeable,
    select_items_to_delete,
)
from dunwell.core.claims.states import ACTIVE, Status
from dunwell.platform.errors import InvalidState, ValidationError

FIRST = OwedItem(1, 0, "PRIMARY", 1000)
SECOND = OwedItem(2, 1, "PRIMARY", 500)
FEE = OwedItem(3, 2, "DUNNING_FEE", 250, fee_of=2)
OWN_FEE = OwedItem(4, 3, "COLLECTION_FEE", 100)
ALL = [FIRST, SECOND, FEE, OWN_FEE]


def test_an_item_is_deleted_with_its_fees() -> None:
    assert select_items_to_delete(ALL, 2) == [SECOND, FEE]
    assert select_items_to_delete(ALL, 1) == [FIRST]


def test_a_fee_is_deleted_alone() -> None:
    assert select_items_to_delete(ALL, 3) == [FEE]
    assert select_items_to_delete(ALL, 4) == [OWN_FEE]


@pytest.mark.parametrize("paid", [2, 3])
def test_an_item_with_a_payment_cannot_be_deleted(paid: int) -> None:
    items = [
        OwedItem(each.item_id, each.position, each.type, each.value_cents, 1, fee_of=each.fee_of)
        if each.item_id == paid
        else each
        for each in ALL
    ]
    with pytest.raises(InvalidState) as refused:
        select_items_to_delete(items, 2)
    assert refused.value.details == {"state": "PAID"}


def test_the_last_primary_item_cannot_be_deleted() -> None:
    with pytest.raises(InvalidState) as refused:
        select_items_to_delete([SECOND, FEE, OWN_FEE], 2)
    assert refused.value.details == {"state": "LAST_PRIMARY"}


@given(st.lists(st.sampled_from([FIRST, SECOND, FEE, OWN_FEE]), unique=True, min_size=1), st.data())
def test_a_primary_item_is_always_left(items: list[OwedItem], data: st.DataObject) -> None:
    item_id = data.draw(st.sampled_from([each.item_id for each in items]))
    try:
        going = select_items_to_delete(items, item_id)
    except InvalidState:
        return
    left = [each for each in items if each not in going]
    assert any(each.type == "PRIMARY" for each in left)
    assert item_id not in {each.fee_of for each in left}


@pytest.mark.parametrize("status", Status)
def test_items_can_only_be_added_to_claims_in_process(status: Status) -> None:
    if status in ACTIVE:
        check_items_changeable(status)
        return
    with pytest.raises(InvalidState) as refused:
        check_items_changeable(status)
    assert refused.value.details == {"state": str(status)}


@pytest.mark.parametrize("item_id", [3, 4, 99], ids=["a fee", "another fee", "absent"])
def test_a_fee_is_added_for_a_primary_item_of_the_claim(item_id: int) -> None:
    check_fee_target(ALL, 1)
    check_fee_target(ALL, None)
    with pytest.raises(ValidationError) as refused:
        check_fee_target(ALL, item_id)
    assert [(each.path, each.code) for each in refused.value.faults] == [
        ("/itemId", "UNKNOWN_ITEM")
    ]


def test_a_claim_has_at_most_a_hundred_items() -> None:
    items = [OwedItem(n, n, "PRIMARY", 1) for n in range(MAX_ITEMS)]
    check_item_count(items[:-1])
    with pytest.raises(ValidationError) as refused:
        check_item_count(items)
    assert [(each.path, each.code) for each in refused.value.faults] == [("", "TOO_MANY")]
