"""Limits on wrong facts.

Five within a quarter of an hour lock for half an hour, and fifteen in a day lock until a new link.
A wrong letter code delays the next one.
"""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.interfaces.landing.sign_in.attempt_limits import (
    Delayed,
    Locked,
    ProofAttempts,
    add_failure,
    clear_failures,
    compute_delay,
    decide_lock,
)

_NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NONE = ProofAttempts(0, _NOW)
WINDOW, LOCKED_FOR, DAY = timedelta(minutes=15), timedelta(minutes=30), timedelta(days=1)


def _try_wrong(
    times: int, *, apart: timedelta = timedelta(minutes=1)
) -> tuple[ProofAttempts, datetime]:
    tries, now = _NONE, _NOW
    for number in range(times):
        now = _NOW + number * apart
        assert decide_lock(tries, now) is None
        tries = add_failure(tries, now)
    return tries, now


def test_four_wrong_facts_do_not_lock() -> None:
    tries, now = _try_wrong(4)
    assert decide_lock(tries, now) is None


def test_the_fifth_wrong_fact_locks_for_half_an_hour() -> None:
    tries, now = _try_wrong(5)
    assert decide_lock(tries, now) == Locked(30 * 60)
    assert decide_lock(tries, now + LOCKED_FOR - timedelta(milliseconds=1)) == Locked(1)
    assert decide_lock(tries, now + LOCKED_FOR) is None


def test_the_counter_restarts_after_a_lock() -> None:
    tries, now = _try_wrong(5)
    again = add_failure(tries, now + LOCKED_FOR)
    assert again == ProofAttempts(1, now + LOCKED_FOR, None, 6, _NOW)


def test_old_wrong_facts_do_not_count() -> None:
    tries, now = _try_wrong(4)
    assert add_failure(tries, _NOW + WINDOW) == ProofAttempts(1, _NOW + WINDOW, None, 5, _NOW)
    assert add_failure(tries, now).locked_until is not None


def test_wrong_facts_far_apart_do_not_lock() -> None:
    tries, now = _try_wrong(14, apart=WINDOW)
    assert decide_lock(tries, now) is None


def test_the_fifteenth_wrong_fact_of_a_day_locks_until_a_new_link_is_requested() -> None:
    tries, now = _try_wrong(15, apart=WINDOW)
    assert decide_lock(tries, now) == Locked(None)
    assert decide_lock(tries, now + 30 * DAY) == Locked(None)


def test_the_daily_counter_restarts_each_day() -> None:
    tries, _ = _try_wrong(14, apart=WINDOW)
    assert add_failure(tries, _NOW + DAY).day_failures == 1
    assert add_failure(tries, _NOW + DAY - timedelta(seconds=1)).day_failures == 15


def test_a_right_fact_does_not_reset_the_daily_counter() -> None:
    tries, now = _try_wrong(14, apart=WINDOW)
    assert clear_failures(tries, now) == ProofAttempts(0, now, None, 14, _NOW)


@pytest.mark.parametrize(("wrong", "seconds"), [(1, 1), (2, 2), (3, 4), (4, 8), (5, 10), (60, 10)])
def test_the_wait_after_a_letters_code_doubles_up_to_ten_seconds(wrong: int, seconds: int) -> None:
    assert compute_delay(wrong, _NOW, _NOW) == Delayed(seconds)
    assert compute_delay(wrong, _NOW, _NOW + timedelta(seconds=seconds)) is None
