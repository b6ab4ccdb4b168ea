from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.events.webhooks.retry import (
    DeliveryPace,
    add_slot,
    build_initial_pace,
    halve_slots,
    resize_batch,
)


def test_an_endpoint_gains_slots_as_it_answers() -> None:
    pace = build_initial_pace(10, 500, is_failing=False)
    slots = [pace.slots]
    for _ in range(10):
        pace = add_slot(pace)
        slots.append(pace.slots)
    assert slots == [2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]


def test_an_endpoint_loses_half_its_slots_with_each_failure_and_keeps_one() -> None:
    pace = DeliveryPace(10, 500, 10, 500)
    slots = []
    for _ in range(4):
        pace = halve_slots(pace)
        slots.append(pace.slots)
    assert slots == [5, 2, 1, 1]


def test_a_failing_endpoint_starts_with_one_slot() -> None:
    assert build_initial_pace(10, 500, is_failing=True).slots == 1


def test_a_batch_is_sized_to_finish_in_two_seconds() -> None:
    pace = DeliveryPace(10, 500, 10, 10)
    assert resize_batch(pace, finished=100, seconds=1.0).batch_size == 200
    assert resize_batch(pace, finished=5000, seconds=1.0).batch_size == 500
    assert resize_batch(pace, finished=1, seconds=15.0).batch_size == 10


@given(
    st.integers(1, 50),
    st.lists(st.sampled_from(["success", "failure", "set"]), max_size=50),
    st.floats(0, 1000),
)
def test_the_number_of_slots_stays_within_its_limits(
    most: int, happenings: list[str], seconds: float
) -> None:
    pace = build_initial_pace(most, 500, is_failing=False)
    for each in happenings:
        if each == "set":
            pace = resize_batch(pace, 7, seconds)
        else:
            pace = add_slot(pace) if each == "success" else halve_slots(pace)
        assert 1 <= pace.slots <= most
        assert 1 <= pace.batch_size <= 500
