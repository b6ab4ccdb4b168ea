"""Local time: contact hours, business days, holidays, and both clock changes."""

from datetime import UTC, date, datetime, time, timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.escalation.calendars import Calendar, build_calendar
from dunwell.core.workflows.definition import ProcessSettings, WaitStep
from tests.support.definitions import DOCUMENT

BERLIN = build_calendar(msgspec.convert(DOCUMENT["settings"], ProcessSettings), "Europe/Berlin")
INSTANTS = st.datetimes(datetime(2025, 1, 1), datetime(2031, 1, 1), timezones=st.just(UTC))


def at(text: str) -> datetime:
    """Return a local time in Berlin as an instant."""
    return BERLIN.to_instant(datetime.fromisoformat(text))


@pytest.mark.parametrize(
    ("asked", "opening"),
    [
        ("2026-03-02 08:59", "2026-03-02 09:00"),
        ("2026-03-02 09:00", "2026-03-02 09:00"),
        ("2026-03-02 17:59", "2026-03-02 17:59"),
        ("2026-03-02 18:00", "2026-03-03 09:00"),
        ("2026-03-07 12:00", "2026-03-09 09:00"),
        # Good Friday to Easter Monday.
        ("2026-04-02 18:00", "2026-04-07 09:00"),
        # Reformation Day is a holiday in Hamburg.
        ("2025-10-31 10:00", "2025-11-03 09:00"),
    ],
)
def test_the_next_contact_hours_are_found(asked: str, opening: str) -> None:
    assert BERLIN.next_opening(at(asked)) == at(opening)


@given(INSTANTS)
def test_the_next_contact_hours_are_never_earlier_and_always_within_hours(
    instant: datetime,
) -> None:
    opening = BERLIN.next_opening(instant)
    local = opening.astimezone(BERLIN.zone)
    assert opening >= instant
    assert time(9) <= local.time() < time(18)
    assert BERLIN.is_business_day(local.date())
    assert BERLIN.next_opening(opening) == opening


@given(INSTANTS, st.integers(1, 60))
def test_a_wait_ends_the_given_number_of_days_later(instant: datetime, days: int) -> None:
    end = BERLIN.end_of_wait(WaitStep(id=1, name="Wait", days=days), since=instant)
    assert end > instant
    assert BERLIN.local_date(end) == BERLIN.local_date(instant) + timedelta(days=days)


def test_business_days_leave_out_weekends_and_holidays() -> None:
    step = WaitStep(id=1, name="Wait", business_days=3)
    assert BERLIN.end_of_wait(step, since=at("2026-04-01 12:00")) == at("2026-04-08 12:00")


def test_a_wait_that_would_end_at_a_skipped_spring_time_ends_at_the_next_existing_minute() -> None:
    step = WaitStep(id=1, name="Wait", days=1)
    end = BERLIN.end_of_wait(step, since=at("2026-03-28 02:30:45"))
    assert end == datetime(2026, 3, 29, 1, 0, tzinfo=UTC)


def test_a_wait_ends_at_the_first_occurrence_of_a_time_that_the_autumn_change_repeats() -> None:
    step = WaitStep(id=1, name="Wait", days=1)
    end = BERLIN.end_of_wait(step, since=at("2026-10-24 02:30"))
    assert end == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)


def test_noon_stays_noon_across_a_clock_change() -> None:
    step = WaitStep(id=1, name="Wait", days=7)
    end = BERLIN.end_of_wait(step, since=at("2026-03-25 12:00"))
    assert end.astimezone(BERLIN.zone).replace(tzinfo=None) == datetime(2026, 4, 1, 12, 0)


def test_without_contact_hours_every_hour_is_allowed() -> None:
    always: Calendar = build_calendar(ProcessSettings(languages=["en"]), "America/New_York")
    instant = datetime(2026, 12, 25, 3, 0, tzinfo=UTC)
    assert always.next_opening(instant) == instant
    assert always.local_date(instant) == date(2026, 12, 24)
