"""Amounts of instalments to the cent, and their monthly due days."""

from calendar import monthrange
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.cases.modalities.instalments import (
    Instalment,
    add_months,
    apply_payments,
    build_schedule,
)

_DAYS = st.dates(date(2000, 1, 1), date(2100, 12, 31))
_COUNTS = st.integers(1, 36)


def amounts(instalments: tuple[Instalment, ...]) -> list[int]:
    return [each.amount_cents for each in instalments]


def test_the_first_parts_get_the_remaining_cents() -> None:
    assert amounts(build_schedule(10240, 3, date(2026, 3, 16))) == [3414, 3413, 3413]
    assert amounts(build_schedule(10241, 3, date(2026, 3, 16))) == [3414, 3414, 3413]


@given(st.integers(1, 10**12), _COUNTS, _DAYS)
def test_instalments_add_up_to_the_amount_and_differ_by_at_most_a_cent(
    amount: int, count: int, first_on: date
) -> None:
    shares = amounts(build_schedule(amount, count, first_on))
    assert sum(shares) == amount
    assert len(shares) == count
    assert shares == sorted(shares, reverse=True)
    assert shares.count(shares[0]) in (amount % count, count)
    assert shares[0] - shares[-1] in (0, 1)


@given(_COUNTS, _DAYS)
def test_instalments_are_due_monthly_on_the_day_of_the_first_or_the_last_day(
    count: int, first_on: date
) -> None:
    days = [each.due_on for each in build_schedule(10**6, count, first_on)]
    months = [day.year * 12 + day.month for day in days]
    assert months == list(range(months[0], months[0] + count))
    for day in days:
        assert day.day == min(first_on.day, monthrange(day.year, day.month)[1])


@pytest.mark.parametrize(
    ("first_on", "following"),
    [
        (date(2026, 1, 31), [date(2026, 2, 28), date(2026, 3, 31), date(2026, 4, 30)]),
        (date(2028, 1, 30), [date(2028, 2, 29), date(2028, 3, 30), date(2028, 4, 30)]),
        (date(2026, 11, 15), [date(2026, 12, 15), date(2027, 1, 15), date(2027, 2, 15)]),
    ],
)
def test_a_shorter_month_does_not_change_later_due_days(
    first_on: date, following: list[date]
) -> None:
    assert [add_months(first_on, months) for months in (1, 2, 3)] == following


@given(st.integers(1, 10**6), _COUNTS, st.integers(-10, 2 * 10**6))
def test_payments_cover_the_earliest_instalments_first(amount: int, count: int, paid: int) -> None:
    amount = max(amount, count)
    covered = apply_payments(build_schedule(amount, count, date(2026, 3, 16)), paid)
    assert sum(each.paid_cents for each in covered) == min(amount, max(0, paid))
    begun = [each.paid_cents > 0 for each in covered]
    full = [each.is_paid for each in covered]
    assert begun == sorted(begun, reverse=True)
    assert begun.count(True) - full.count(True) in (0, 1)
