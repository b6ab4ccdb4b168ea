"""A dispute is overdue from the day after the one that was promised to the debtor."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.answer_days import compute_answer_day, compute_overdue_before
from dunwell.cases.modalities.progress import local_date

_ZONES = ["Europe/Berlin", "America/New_York", "Pacific/Auckland", "UTC"]
_MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2027, 12, 31), timezones=st.just(UTC))


@given(_MOMENTS, _MOMENTS, st.integers(0, 40), st.sampled_from(_ZONES))
def test_the_due_date_of_an_answer_is_the_one_shown_to_the_debtor(
    now: datetime, opened_at: datetime, within: int, zone: str
) -> None:
    is_over = compute_answer_day(opened_at, within, zone) < local_date(now, zone)
    assert (opened_at < compute_overdue_before(now, within, zone)) == is_over


@pytest.mark.parametrize(("after", "is_overdue"), [(14, False), (15, True)])
def test_ten_business_days_are_two_weeks(after: int, is_overdue: bool) -> None:
    opened = datetime(2026, 3, 2, 9, tzinfo=UTC)
    before = compute_overdue_before(opened + timedelta(days=after), 10, "Europe/Berlin")
    assert (opened < before) == is_overdue
