"""Requests draw from a quota per minute: never above the limit, with little left unused."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.credentials.credential import (
    compute_block_size,
    compute_granted,
    compute_seconds_to_next_minute,
    truncate_to_minute,
)

LIMITS = st.integers(1, 100_000)


def draw_all(limit: int, order: list[int]) -> tuple[list[int], int]:
    """Return what each process is granted in this order, and the number of statements."""
    granted, known, reserved = [0] * 4, [None] * 4, 0  # type: tuple[list[int], list[int | None], int]
    for process in order:
        block = compute_block_size(limit, known[process])
        if reserved < limit:
            reserved += block
            granted[process] += compute_granted(limit, block, reserved)
        known[process] = reserved
    return granted, reserved


@given(limit=LIMITS, order=st.lists(st.integers(0, 3), max_size=300))
def test_processes_together_never_exceed_the_limit(limit: int, order: list[int]) -> None:
    granted, reserved = draw_all(limit, order)

    assert sum(granted) == min(reserved, limit)


@given(limit=LIMITS, reserved=st.integers(0, 200_000))
def test_a_block_is_at_least_one_and_at_most_a_twentieth(limit: int, reserved: int) -> None:
    assert 1 <= compute_block_size(limit, reserved) <= max(1, limit // 20)


def test_one_process_gets_the_whole_quota_in_few_statements() -> None:
    for limit in (1, 3, 60, 600, 6000):
        reserved, statements = 0, 0
        known: int | None = None
        while reserved < limit:
            reserved += compute_block_size(limit, known)
            known, statements = reserved, statements + 1
        assert statements <= 70


@given(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)))
def test_the_wait_ends_in_the_next_minute(naive: datetime) -> None:
    now = naive.replace(tzinfo=UTC)
    seconds = compute_seconds_to_next_minute(now)

    assert 1 <= seconds <= 60
    assert truncate_to_minute(now + timedelta(seconds=seconds)) == truncate_to_minute(
        now
    ) + timedelta(minutes=1)
