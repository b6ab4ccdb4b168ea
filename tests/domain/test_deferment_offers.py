"""Which days are offered to a debtor to pay later: up to three, from a week to the maximum."""

from datetime import date, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import DeferralSettings, ModalitySettings
from dunwell.cases.modalities.limits import ModalityFacts
from dunwell.cases.modalities.offers import list_offered_deferrals


def list_days(today: str, max_days: int, limit: str | None = None) -> list[str]:
    """Return all days as YYYY-MM-DD."""
    facts = ModalityFacts(10240, None if limit is None else date.fromisoformat(limit))
    modalities = ModalitySettings(deferment=DeferralSettings(max_days=max_days))
    found = list_offered_deferrals(modalities, facts, date.fromisoformat(today))
    return [str(each.until) for each in found]


@pytest.mark.parametrize(
    ("today", "max_days", "expected"),
    [
        # A week, two weeks, and the maximum.
        ("2026-03-02", 30, ["2026-03-09", "2026-03-16", "2026-04-01"]),
        ("2026-03-02", 17, ["2026-03-09", "2026-03-16", "2026-03-19"]),
        # The end of the month if possible, when most people have received their income.
        ("2026-03-02", 60, ["2026-03-09", "2026-03-31", "2026-05-01"]),
        ("2026-03-20", 30, ["2026-03-27", "2026-03-31", "2026-04-19"]),
        ("2026-01-25", 365, ["2026-02-01", "2026-02-28", "2027-01-25"]),
        ("2028-02-10", 60, ["2028-02-17", "2028-02-29", "2028-04-10"]),
        # An end of month that is too near is replaced by that of the next month.
        ("2026-03-27", 60, ["2026-04-03", "2026-04-30", "2026-05-26"]),
        ("2026-03-27", 30, ["2026-04-03", "2026-04-10", "2026-04-26"]),
        # No two days are nearly the same.
        ("2026-03-02", 31, ["2026-03-09", "2026-03-16", "2026-04-02"]),
        ("2026-03-02", 29, ["2026-03-09", "2026-03-16", "2026-03-31"]),
        ("2026-03-02", 16, ["2026-03-09", "2026-03-18"]),
        ("2026-03-02", 14, ["2026-03-09", "2026-03-16"]),
        ("2026-03-02", 10, ["2026-03-09", "2026-03-12"]),
        # Less than ten days: half of them, and all of them.
        ("2026-03-02", 9, ["2026-03-06", "2026-03-11"]),
        ("2026-03-02", 7, ["2026-03-05", "2026-03-09"]),
        ("2026-03-02", 2, ["2026-03-03", "2026-03-04"]),
        ("2026-03-02", 1, ["2026-03-03"]),
    ],
)  # fmt: skip
def test_offered_days_are_within_the_merchants_limits(
    today: str, max_days: int, expected: list[str]
) -> None:
    assert list_days(today, max_days) == expected


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("2026-03-22", ["2026-03-09", "2026-03-16", "2026-03-22"]),
        ("2026-03-10", ["2026-03-06", "2026-03-10"]),
        ("2026-03-03", ["2026-03-03"]),
        ("2026-03-02", []),
        ("2025-12-31", []),
        ("2030-01-01", ["2026-03-09", "2026-03-16", "2026-04-01"]),
    ],
)
def test_offered_days_are_within_the_claims_limit(limit: str, expected: list[str]) -> None:
    assert list_days("2026-03-02", 30, limit) == expected


@given(
    st.dates(date(2020, 1, 1), date(2040, 1, 1)),
    st.integers(1, 365),
    st.none() | st.integers(-5, 400),
)
def test_the_last_offered_day_is_the_latest_and_days_are_well_apart(
    today: date, max_days: int, limit_in: int | None
) -> None:
    limit = None if limit_in is None else today + timedelta(days=limit_in)
    days = min(max_days, max_days if limit_in is None else limit_in)
    facts, modalities = (
        ModalityFacts(1, limit),
        ModalitySettings(deferment=DeferralSettings(max_days=max_days)),
    )

    offered = [each.until for each in list_offered_deferrals(modalities, facts, today)]

    assert len(offered) <= 3
    assert bool(offered) == (days >= 1)
    if offered:
        assert today < offered[0]
        assert offered[-1] == today + timedelta(days=days)
    least = timedelta(days=3 if days >= 10 else 1)
    assert all(later - sooner >= least for sooner, later in pairwise(offered))
    assert len(offered) == 3 or days < 17


def test_no_day_is_offered_when_nothing_is_owed_or_deferment_is_disabled() -> None:
    today, offer = date(2026, 3, 2), ModalitySettings(deferment=DeferralSettings(max_days=30))
    assert list_offered_deferrals(offer, ModalityFacts(0), today) == []
    assert list_offered_deferrals(ModalitySettings(), ModalityFacts(1), today) == []
