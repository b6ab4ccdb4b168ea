from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.events.webhooks.retry import (
    DeliveryPace,
    after_batch,
    after_failure,
    after_success,
    start_pace,
)


def test_an_endpoint_gains_slots_as_it_answers() -> None:
    pace = start_pace(10, 500, is_failing=False)
    slots = [pace.slots]
    for _ in range(10):
        pace = after_success(pace)
        slots.append(pace.slots)
    assert slots == [2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 10]


def test_an_endpoint_loses_half_its_slots_with_each_failure_and_keeps_one() -> None:
    pace = DeliveryPace(10, 500, 10, 500)
    slots = []
    for _ in range(4):
        pace = after_failure(pace)
        slots.append(pace.slots)
    assert slots == [5, 2, 1, 1]


def test_a_failing_endpoint_starts_with_one_slot() -> None:
    assert start_pace(10, 500, is_failing=True).slots == 1


def test_a_batch_is_sized_to_finish_in_two_seconds() -> None:
    pace = DeliveryPace(10, 500, 10, 10)
    assert after_batch(pace, finished=100, seconds=1.0).batch_size == 200
    assert after_batch(pace, finished=5000, seconds=1.0).batch_size == 500
    assert after_batch(pace, finished=1, seconds=15.0).batch_size == 10


@given(
    st.integers(1, 50),
    st.lists(st.sampled_from(["success", "failure", "set"]), max_size=50),
    st.floats(0, 1000),
)
def test_the_number_of_slots_stays_within_its_limits(
    most: int, happenings: list[str], seconds: float
) -> None:
    pace = start_pace(most, 500, is_failing=False)
    for each in happenings:
        if each == "set":
            pace = after_batch(pace, 7, seconds)
        else:
            pace = after_success(pace) if each == "success" else after_failure(pace)
        assert 1 <= pace.slots <= most
        assert 1 <= pace.batch_size <= 500
