"""How long an announced bank transfer is waited for."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.payments.requests.announce_transfer import compute_transfer_hold_end
from dunwell.platform.banking_days import compute_last_transfer_day, compute_recorded_on


@pytest.mark.parametrize(
    ("sent_on", "known_on"),
    [
        # Monday; Thursday and a week-end.
        (date(2026, 3, 2), date(2026, 3, 5)),
        (date(2026, 3, 5), date(2026, 3, 10)),
        # Saturday counts as the Friday before it.
        (date(2026, 3, 7), date(2026, 3, 11)),
        (date(2026, 3, 6), date(2026, 3, 11)),
        # Good Friday to Easter Monday, 1 May, Christmas.
        (date(2026, 4, 2), date(2026, 4, 9)),
        (date(2026, 4, 30), date(2026, 5, 6)),
        (date(2026, 12, 24), date(2026, 12, 30)),
        # A public holiday of one country is a banking day.
        (date(2026, 10, 1), date(2026, 10, 6)),
    ],
)
def test_three_banking_days_pass(sent_on: date, known_on: date) -> None:
    assert compute_recorded_on(sent_on) == known_on


@given(st.dates(date(2024, 1, 1), date(2030, 12, 31)))
def test_the_last_transfer_day_is_the_latest_whose_transfer_is_recorded_before(day: date) -> None:
    last = compute_last_transfer_day(before=day)
    assert compute_recorded_on(last) < day <= compute_recorded_on(last + timedelta(days=1))


@pytest.mark.parametrize(
    ("sent_on", "zone", "end"),
    [
        (date(2026, 3, 2), "Europe/Berlin", datetime(2026, 3, 5, 23, tzinfo=UTC)),
        # The clocks go forward on 29 March.
        (date(2026, 3, 26), "Europe/Berlin", datetime(2026, 3, 31, 22, tzinfo=UTC)),
        (date(2026, 3, 2), "America/New_York", datetime(2026, 3, 6, 5, tzinfo=UTC)),
    ],
)
def test_waiting_for_a_transfer_ends_with_the_day_in_the_merchants_timezone(
    sent_on: date, zone: str, end: datetime
) -> None:
    assert compute_transfer_hold_end(sent_on, zone) == end
