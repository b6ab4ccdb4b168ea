"""Five wrong facts within a quarter of an hour are the last for half an hour."""

from datetime import UTC, datetime, timedelta

from dunwell.landing.entering.tries import (
    LOCKED_FOR,
    WINDOW,
    Locked,
    Tries,
    count_wrong,
    decide_lock,
)

_NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
_NONE = Tries(0, _NOW)


def _try_wrong(times: int, *, apart: timedelta = timedelta(minutes=1)) -> tuple[Tries, datetime]:
    tries, now = _NONE, _NOW
    for number in range(times):
        now = _NOW + number * apart
        assert decide_lock(tries, now) is None
        tries = count_wrong(tries, now)
    return tries, now


def test_four_wrong_ones_lock_nothing() -> None:
    tries, now = _try_wrong(4)
    assert decide_lock(tries, now) is None


def test_the_fifth_locks_for_half_an_hour() -> None:
    tries, now = _try_wrong(5)
    assert decide_lock(tries, now) == Locked(30 * 60)
    assert decide_lock(tries, now + LOCKED_FOR - timedelta(milliseconds=1)) == Locked(1)
    assert decide_lock(tries, now + LOCKED_FOR) is None


def test_after_a_lock_they_are_counted_anew() -> None:
    tries, now = _try_wrong(5)
    again = count_wrong(tries, now + LOCKED_FOR)
    assert again == Tries(1, now + LOCKED_FOR)


def test_wrong_ones_of_long_ago_do_not_count() -> None:
    tries, now = _try_wrong(4)
    assert count_wrong(tries, _NOW + WINDOW) == Tries(1, _NOW + WINDOW)
    assert count_wrong(tries, now).locked_until is not None


def test_wrong_ones_far_apart_never_lock() -> None:
    tries, now = _try_wrong(20, apart=WINDOW)
    assert decide_lock(tries, now) is None
