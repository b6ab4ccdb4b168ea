"""When an endpoint is disabled, probed and enabled again."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from dunwell.core.events.webhooks.retry import (
    HEALTHY,
    FailureHistory,
    compute_health,
    schedule_next_probe,
)

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)


def after(*answers: tuple[timedelta, int | None]) -> FailureHistory:
    health = HEALTHY
    for passed, status in answers:
        health = compute_health(health, status, NOW + passed)
    return health


def test_a_second_410_an_hour_after_the_first_disables_an_endpoint() -> None:
    health = after((0 * HOUR, 410), (HOUR, 410))
    assert health.disabled_at == NOW + HOUR
    assert health.disabled_reason == "GONE"
    assert health.probe_at == NOW + 2 * HOUR


def test_a_second_410_within_the_hour_does_not_disable_an_endpoint() -> None:
    health = after((0 * HOUR, 410), (HOUR - timedelta(seconds=1), 410))
    assert health == FailureHistory(first_failure_at=NOW, gone_at=NOW)


def test_a_success_between_two_410_restarts_the_hour() -> None:
    health = after((0 * HOUR, 410), (HOUR, 204), (2 * HOUR, 410))
    assert health.disabled_at is None
    assert health.gone_at == NOW + 2 * HOUR


def test_five_days_of_only_failures_disable_an_endpoint() -> None:
    answers = [(day * DAY, 500) for day in range(5)]
    assert after(*answers).disabled_at is None
    health = after(*answers, (5 * DAY, None))
    assert health.disabled_at == NOW + 5 * DAY
    assert health.disabled_reason == "FAILING"


def test_one_success_in_five_days_keeps_an_endpoint_enabled() -> None:
    health = after((0 * DAY, 500), (4 * DAY, 200), (5 * DAY, 500))
    assert health == FailureHistory(first_failure_at=NOW + 5 * DAY)


def test_delays_between_probes_grow_to_a_day() -> None:
    health = after((0 * HOUR, 410), (HOUR, 410))
    gaps = []
    for _ in range(7):
        assert health.probe_at is not None
        at = health.probe_at
        health = compute_health(schedule_next_probe(health, at), 410, at)
        assert health.probe_at is not None
        gaps.append(health.probe_at - at)
    assert gaps == [2 * HOUR, 4 * HOUR, 8 * HOUR, 16 * HOUR, DAY, DAY, DAY]


def test_a_successful_probe_enables_an_endpoint() -> None:
    health = schedule_next_probe(after((0 * HOUR, 410), (HOUR, 410)), NOW + 2 * HOUR)
    assert compute_health(health, 200, NOW + 2 * HOUR) == HEALTHY


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3 * 86400), st.one_of(st.none(), st.sampled_from([200, 410, 500, 503]))
        ),
        max_size=30,
    )
)
def test_the_failure_history_is_consistent_after_any_responses(
    answers: list[tuple[int, int | None]],
) -> None:
    health, now = HEALTHY, NOW
    for seconds, status in answers:
        now += timedelta(seconds=seconds)
        health = compute_health(health, status, now)
        assert health.is_well == (health == HEALTHY)
        assert health.is_well == (status == 200)
        parts = (health.disabled_at, health.disabled_reason, health.probe_at)
        assert len({part is None for part in parts}) == 1
