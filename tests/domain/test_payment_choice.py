"""What a debtor may pay: everything, a part within limits, or items with their fees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.cases.payments.choice import (
    PartBounds,
    PaymentChoice,
    PaymentChoiceKind,
    allow_instalment,
    choose_items,
    compute_part_bounds,
    is_choice_allowed,
    list_payable_groups,
    sum_outstanding,
)
from dunwell.core.claims.balance import OwedItem, allocate
from dunwell.interfaces.landing.payment.payment_choice import (
    PaymentOptions,
    RefusedChoice,
    parse_choice,
    render_choice,
)

ITEMS = (
    OwedItem(1, 0, "PRIMARY", 10000),
    OwedItem(2, 1, "PRIMARY", 4000),
    OwedItem(3, 2, "DUNNING_FEE", 250, fee_of=2),
    OwedItem(4, 3, "COLLECTION_FEE", 900),
)
BOTH = PartialPaymentSettings("500", items=True)


@pytest.mark.parametrize(
    ("least", "most", "example"),
    [(1, 136_140, 2000), (500, 136_140, 2000), (5000, 136_140, 10_000), (5000, 6000, 6000)],
)
def test_the_example_of_a_part_is_larger_than_the_minimum(
    least: int, most: int, example: int
) -> None:
    assert PartBounds(least, most).example_cents == example
    assert least < example <= most


def whole(cents: int) -> PaymentChoice:
    return PaymentChoice(PaymentChoiceKind.WHOLE, cents)


def part(cents: int) -> PaymentChoice:
    return PaymentChoice(PaymentChoiceKind.PART, cents)


def of_items(cents: int, *item_ids: int) -> PaymentChoice:
    return PaymentChoice(PaymentChoiceKind.ITEMS, cents, item_ids)


@pytest.mark.parametrize(
    ("partial", "choice", "is_locked"),
    [
        (None, whole(15150), True),
        (None, whole(15149), False),
        (None, part(15149), False),
        (None, of_items(10000, 1), False),
        (BOTH, part(500), True),
        (BOTH, part(499), False),
        (BOTH, part(15150), True),
        (BOTH, part(15151), False),
        (BOTH, part(0), False),
        (BOTH, part(-500), False),
        (BOTH, of_items(10000, 1), True),
        (BOTH, of_items(9999, 1), False),
        (BOTH, of_items(4250, 2, 3), True),
        (BOTH, of_items(4000, 2), False),
        (BOTH, of_items(250, 3), False),
        (BOTH, of_items(10900, 1, 4), True),
        (BOTH, of_items(0), False),
        (BOTH, of_items(10000, 9), False),
        (BOTH, PaymentChoice(PaymentChoiceKind.WHOLE, 15150, (1,)), False),
        (PartialPaymentSettings("500"), of_items(10000, 1), False),
        (PartialPaymentSettings(items=True), part(500), False),
    ],
)
def test_only_amounts_that_the_merchant_accepts_can_be_paid(
    partial: PartialPaymentSettings | None, choice: PaymentChoice, is_locked: bool
) -> None:
    assert is_choice_allowed(partial, ITEMS, choice) is is_locked


@pytest.mark.parametrize(
    ("least", "bounds"),
    [
        (500, PartBounds(500, 15150)),
        (15149, PartBounds(15149, 15150)),
        (15150, None),
        (20000, None),
    ],
)
def test_an_outstanding_amount_below_the_minimum_must_be_paid_in_full(
    least: int, bounds: PartBounds | None
) -> None:
    assert compute_part_bounds(PartialPaymentSettings(str(least)), ITEMS) == bounds


@pytest.mark.parametrize(
    ("partial", "instalment_cents", "taken"),
    [
        (None, None, None),
        (BOTH, None, BOTH),
        (None, 3414, PartialPaymentSettings("3414")),
        (BOTH, 3414, BOTH),
        (BOTH, 300, PartialPaymentSettings("300", items=True)),
        (PartialPaymentSettings(items=True), 3414, PartialPaymentSettings("3414", items=True)),
    ],
)
def test_the_next_instalment_of_a_plan_can_always_be_paid(
    partial: PartialPaymentSettings | None,
    instalment_cents: int | None,
    taken: PartialPaymentSettings | None,
) -> None:
    assert allow_instalment(partial, instalment_cents) == taken


def test_a_fee_is_paid_with_its_item_until_the_item_is_paid() -> None:
    assert [group.item_ids for group in list_payable_groups(BOTH, ITEMS)] == [(1,), (2, 3), (4,)]
    paid = [replace(item, allocated_cents=4000) if item.item_id == 2 else item for item in ITEMS]
    assert [group.item_ids for group in list_payable_groups(BOTH, paid)] == [(1,), (3,), (4,)]


def test_a_fee_of_a_fee_is_listed_once() -> None:
    items = [*ITEMS, OwedItem(5, 4, "COLLECTION_FEE", 100, fee_of=3)]
    ids = [item_id for group in list_payable_groups(BOTH, items) for item_id in group.item_ids]
    assert sorted(ids) == [1, 2, 3, 4, 5]


def test_a_single_item_gives_no_choice() -> None:
    assert list_payable_groups(BOTH, ITEMS[1:3]) == []


def test_choosing_a_fee_chooses_its_item_too() -> None:
    groups = list_payable_groups(BOTH, ITEMS)
    assert choose_items(groups, [3]) == of_items(4250, 2, 3)
    assert choose_items(groups, [1, 1, 4]) == of_items(10900, 1, 4)
    assert choose_items(groups, [1, 99]) is None
    assert choose_items(groups, []) is None


def test_the_items_a_payment_was_made_for_are_paid_first() -> None:
    assert allocate(ITEMS, 4250, "COSTS_FIRST", (2, 3)) == {3: 250, 2: 4000}
    assert allocate(ITEMS, 5000, "COSTS_FIRST", (2, 3)) == {3: 250, 2: 4000, 4: 750}
    assert allocate(ITEMS, 4250, "PRIMARY_FIRST", (2, 3)) == {2: 4000, 3: 250}


@given(st.sets(st.sampled_from([1, 2, 3, 4])), st.integers(1, 20000))
def test_a_payment_for_chosen_items_loses_no_cent(first: set[int], cents: int) -> None:
    shares = allocate(ITEMS, cents, "COSTS_FIRST", first)
    assert sum(shares.values()) == min(cents, sum_outstanding(ITEMS))
    assert all(0 < share <= ITEMS[item_id - 1].value_cents for item_id, share in shares.items())


OPTIONS = PaymentOptions(15150, PartBounds(500, 15150), list_payable_groups(BOTH, ITEMS))


@pytest.mark.parametrize(
    ("query", "choice"),
    [
        ({}, whole(15150)),
        ({"want": ["whole"]}, whole(15150)),
        ({"want": ["part"], "amount": ["50,00"]}, part(5000)),
        ({"want": ["part"], "amount": ["151,50"]}, whole(15150)),
        ({"want": ["part"], "amount": ["4,99"]}, RefusedChoice.TOO_SMALL),
        ({"want": ["part"], "amount": ["151,51"]}, RefusedChoice.TOO_GREAT),
        ({"want": ["part"], "amount": ["fifty"]}, RefusedChoice.UNREADABLE),
        ({"want": ["part"]}, RefusedChoice.UNREADABLE),
        ({"want": ["items"], "item": ["2"]}, of_items(4250, 2, 3)),
        ({"want": ["items"], "item": ["1", "2", "4"]}, whole(15150)),
        ({"want": ["items"]}, RefusedChoice.NO_ITEM),
        ({"want": ["items"], "item": ["x"]}, RefusedChoice.NO_ITEM),
        ({"cents": ["5000"]}, part(5000)),
        ({"cents": ["499"]}, RefusedChoice.CHANGED),
        ({"cents": ["-5000"]}, RefusedChoice.CHANGED),
        ({"cents": ["1e9"]}, RefusedChoice.CHANGED),
        ({"items": ["2,3"]}, of_items(4250, 2, 3)),
        ({"items": ["9"]}, RefusedChoice.CHANGED),
        ({"items": ["2;DROP"]}, RefusedChoice.CHANGED),
    ],
)
def test_a_choice_is_parsed_from_an_address(
    query: dict[str, list[str]], choice: PaymentChoice | RefusedChoice
) -> None:
    assert parse_choice(query, OPTIONS, "EUR", "de") == choice


@pytest.mark.parametrize("choice", [whole(15150), part(5000), of_items(4250, 2, 3)])
def test_a_choice_is_kept_from_page_to_page(choice: PaymentChoice) -> None:
    name, _, value = render_choice(choice).partition("=")
    assert parse_choice({name: [value]}, OPTIONS, "EUR", "de") == choice
