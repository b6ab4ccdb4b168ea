"""Contact hours and quiet hours: when a contact may be sent, also across midnight."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.accounts.merchants.configuration import Channel, Configuration, Guards, QuietHours
from dunwell.contact.escalation.contacts.sending_hours import (
    SendingHours,
    build_sending_hours,
    list_quiet_channels,
)
from dunwell.contact.escalation.prepared_workflow import prepare_workflow_for_timezone
from dunwell.contact.messages.guards.guards import ContactHold, HoldReason
from dunwell.core.workflows.definition import ContactStep
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.merchants import CONFIGURATION

NIGHT = QuietHours("21:00", "08:00")


def quiet(hours: QuietHours | None = NIGHT) -> Configuration:
    return msgspec.structs.replace(CONFIGURATION, guards=Guards(quiet_hours=hours))


def hours_of(
    send: str = "CONTACT_HOURS",
    channel: Channel = "EMAIL",
    configuration: Configuration | None = None,
    **contact_hours: Any,
) -> SendingHours:
    hours = {**DOCUMENT["settings"]["contactHours"], **contact_hours}
    definition = a_definition(settings={**DOCUMENT["settings"], "contactHours": hours})
    step = definition.steps[0]
    assert isinstance(step, ContactStep)
    step = msgspec.structs.replace(step, send=send)
    workflow = prepare_workflow_for_timezone(definition, "Europe/Berlin")
    return build_sending_hours(workflow, step, channel, configuration or quiet())


def berlin(day: int, hour: int, minute: int = 0) -> datetime:
    """Return an instant in March 2026 before the clock change; the second is a Monday."""
    return datetime(2026, 3, day, hour - 1, minute, tzinfo=UTC)


def test_contact_hours_hold_a_step_that_waits_for_them() -> None:
    assert hours_of().find_hold(berlin(2, 9)) is None
    held = ContactHold(berlin(3, 9), HoldReason.CONTACT_HOURS)
    assert hours_of().find_hold(berlin(2, 18)) == held


@pytest.mark.parametrize(
    ("now", "until"),
    [
        (berlin(2, 21), berlin(3, 8)),
        (berlin(2, 23, 59), berlin(3, 8)),
        (berlin(3, 7, 59), berlin(3, 8)),
        (berlin(3, 8), None),
        (berlin(3, 20, 59), None),
    ],
)
def test_quiet_hours_hold_immediate_contacts(now: datetime, until: datetime | None) -> None:
    expected = ContactHold(until, HoldReason.QUIET_HOURS) if until else None
    assert hours_of("IMMEDIATE").find_hold(now) == expected
    assert hours_of("IMMEDIATE", "SMS").find_hold(now) == expected


def test_quiet_hours_do_not_apply_to_letters() -> None:
    assert hours_of("IMMEDIATE", "LETTER").find_hold(berlin(2, 23)) is None
    assert hours_of("IMMEDIATE", configuration=quiet(None)).find_hold(berlin(2, 23)) is None
    assert list_quiet_channels(quiet(), berlin(2, 23)) == {"EMAIL", "SMS"}
    assert list_quiet_channels(quiet(), berlin(2, 20)) == frozenset()


def test_quiet_hours_within_a_day_and_up_to_midnight() -> None:
    noon = hours_of("IMMEDIATE", configuration=quiet(QuietHours("12:00", "13:30")))
    assert noon.find_hold(berlin(2, 12)) == ContactHold(berlin(2, 13, 30), HoldReason.QUIET_HOURS)
    assert noon.find_hold(berlin(2, 13, 30)) is None
    for end in ("24:00", "00:00"):
        late = hours_of("IMMEDIATE", configuration=quiet(QuietHours("20:00", end)))
        assert late.first_moment(berlin(2, 20)) == berlin(2, 23) + timedelta(hours=1)


def test_a_hold_ends_within_both_hours_and_names_the_current_reason() -> None:
    evenings: Any = {"from": "07:00", "to": "22:00"}
    both = hours_of(**evenings)
    assert both.find_hold(berlin(2, 21, 30)) == ContactHold(berlin(3, 8), HoldReason.QUIET_HOURS)
    # A Friday night: the contact hours begin on Monday, and the quiet hours end after that.
    assert both.find_hold(berlin(6, 22)) == ContactHold(berlin(9, 8), HoldReason.CONTACT_HOURS)
    assert both.first_moment_on(berlin(7, 12).date()) == berlin(9, 8)


def test_quiet_hours_that_end_in_a_repeated_hour_end_after_it() -> None:
    hours = hours_of("IMMEDIATE", configuration=quiet(QuietHours("22:00", "02:30")))
    first, second = (
        datetime(2026, 10, 25, 0, 15, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 15, tzinfo=UTC),
    )
    assert hours.first_moment(first) == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert hours.first_moment(second) == datetime(2026, 10, 25, 1, 30, tzinfo=UTC)


def test_the_search_for_a_sending_time_ends_even_if_the_hours_leave_none() -> None:
    never = hours_of(configuration=quiet(QuietHours("08:00", "20:00")))
    hold = never.find_hold(berlin(2, 10))
    assert hold is not None
    assert hold.not_before > berlin(2, 10)


times = st.builds("{:02}:{:02}".format, st.integers(0, 23), st.integers(0, 59))
instants = st.datetimes(
    datetime(2026, 1, 1), datetime(2027, 1, 1), timezones=st.just(UTC)
)  # fmt: skip


@given(times, times, instants)
def test_nothing_holds_a_contact_at_the_end_of_its_hold(
    since: str, until: str, now: datetime
) -> None:
    if since == until:
        return
    hours = hours_of("IMMEDIATE", configuration=quiet(QuietHours(since, until)))
    moment = hours.first_moment(now)
    assert moment >= now
    assert hours.find_hold(moment) is None
    assert (hours.find_hold(now) is None) == (moment == now)
