"""The published retry schedule."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.events.webhooks.retry import (
    DELAYS,
    MAX_ATTEMPTS,
    Delivered,
    GiveUpDelivery,
    RetryAt,
    decide_next_attempt,
    parse_retry_after,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
FAILURES = st.one_of(st.none(), st.integers(100, 199), st.integers(300, 599))
FRACTIONS = st.floats(min_value=0, max_value=1, exclude_max=True)


def test_a_delivery_has_ten_attempts_over_about_three_days() -> None:
    now, attempts, instants = NOW, 0, [NOW]
    while True:
        attempts += 1
        decision = decide_next_attempt(
            500, attempts=attempts, now=now, retry_after=None, fraction=0.5
        )
        if not isinstance(decision, RetryAt):
            break
        now = decision.at
        instants.append(now)
    assert decision == GiveUpDelivery()
    seconds = [int((b - a).total_seconds()) for a, b in itertools.pairwise(instants)]
    assert seconds == [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]
    assert now - NOW == timedelta(hours=75, minutes=35, seconds=5)


@given(st.integers(200, 299), st.integers(1, MAX_ATTEMPTS), FRACTIONS)
def test_any_2xx_is_success(status: int, attempts: int, fraction: float) -> None:
    decision = decide_next_attempt(
        status, attempts=attempts, now=NOW, retry_after=None, fraction=fraction
    )
    assert decision == Delivered()


@given(FAILURES, st.integers(1, MAX_ATTEMPTS - 1), FRACTIONS)
def test_every_delay_varies_by_at_most_a_fifth(
    status: int | None, attempts: int, fraction: float
) -> None:
    decision = decide_next_attempt(
        status, attempts=attempts, now=NOW, retry_after=None, fraction=fraction
    )
    assert isinstance(decision, RetryAt)
    spread = (decision.at - NOW) / DELAYS[attempts - 1]
    assert 0.8 - 1e-6 <= spread <= 1.2 + 1e-6


@given(FAILURES, FRACTIONS)
def test_the_tenth_failure_is_the_last(status: int | None, fraction: float) -> None:
    retry_after = timedelta(seconds=9)
    assert (
        decide_next_attempt(
            status, attempts=10, now=NOW, retry_after=retry_after, fraction=fraction
        )
        == GiveUpDelivery()
    )


@pytest.mark.parametrize(
    ("status", "retry_after_seconds", "expected_seconds"),
    [(429, 60, 60), (503, 60, 60), (500, 60, 5), (429, 2, 5), (429, 10**9, 86400)],
)
def test_retry_after_is_respected_on_429_and_503(
    status: int, retry_after_seconds: int, expected_seconds: int
) -> None:
    retry_after = timedelta(seconds=retry_after_seconds)
    decision = decide_next_attempt(
        status, attempts=1, now=NOW, retry_after=retry_after, fraction=0.5
    )
    assert decision == RetryAt(NOW + timedelta(seconds=expected_seconds))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("120", timedelta(seconds=120)),
        (" 0 ", timedelta(0)),
        ("Mon, 02 Mar 2026 09:00:30 GMT", timedelta(seconds=30)),
        ("Mon, 02 Mar 2026 08:00:00 GMT", timedelta(0)),
        (None, None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("Mon, 01 Jan 99999999999 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_parsed_as_seconds_or_as_a_date(
    value: str | None, expected: timedelta | None
) -> None:
    assert parse_retry_after(value, NOW) == expected


@given(st.text(max_size=40))
def test_parsing_retry_after_never_crashes(value: str) -> None:
    parsed = parse_retry_after(value, NOW)
    assert parsed is None or parsed >= timedelta(0)
