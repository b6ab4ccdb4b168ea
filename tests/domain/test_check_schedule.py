"""The delays between checks of a payment provider."""

from datetime import UTC, datetime, timedelta

from dunwell.cases.payments.requests.request_states import decide_next_check

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


def list_check_times(days: int) -> list[timedelta]:
    """Return when a request is checked after its start, over this number of days."""
    now = START
    looks: list[timedelta] = []
    while now < START + timedelta(days=days):
        now = decide_next_check(START, len(looks), now)
        looks.append(now - START)
    return looks


def test_delays_between_checks_grow_from_a_minute_to_a_day_with_one_at_expiry() -> None:
    minutes = [look / timedelta(minutes=1) for look in list_check_times(3)]
    assert minutes == [1, 6, 21, 81, 441, 1440, 2880, 4320]
