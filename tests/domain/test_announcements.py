"""Which parts of a forecast are announced to the debtor, and the pay-by date that follows."""

from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.escalation.contacts.render_leased import compute_pay_by
from dunwell.contact.escalation.forecast.forecast import (
    Announcement,
    AnnouncementKind,
    ForecastStep,
    find_pay_by,
    forecast,
    list_announcements,
)
from dunwell.contact.escalation.prepared_workflow import (
    PreparedWorkflow,
    prepare_workflow_for_timezone,
)
from dunwell.contact.escalation.schedule import (
    Archived,
    ContactPlanned,
    FeeAdded,
    StepFacts,
    WorkflowPosition,
)
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.platform.banking_days import compute_recorded_on
from tests.support.definitions import a_definition

# A Monday, 10:00 in Berlin.
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
TODAY = NOW.date()
DAY = timedelta(days=1)
BERLIN = ZoneInfo("Europe/Berlin")
EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
LETTER = {**EMAIL, "channel": "LETTER"}
FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
CHECKPOINT = {"kind": "CHECKPOINT", "offset": 1, "message": "here"}
UNMET = {"when": {"outstanding": {"min": "999999"}}}
FACTS = StepFacts(
    ConditionFacts(outstanding_cents=5000, total_cents=5000, today=TODAY),
    has_reached=False,
    usable_channels=frozenset({"EMAIL"}),
)


def a_process(*steps: dict[str, Any]) -> PreparedWorkflow:
    numbered = [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]
    return prepare_workflow_for_timezone(a_definition(steps=numbered), "Europe/Berlin")


def wait(days: int) -> dict[str, Any]:
    return {"kind": "WAIT", "days": days}


def play(workflow: PreparedWorkflow, now: datetime = NOW) -> list[ForecastStep]:
    position = WorkflowPosition(workflow.id_at(0), now)
    return list(forecast(workflow, position, FACTS, now, until=now + 4000 * DAY))


def announce(*steps: dict[str, Any]) -> list[tuple[str, int, int]]:
    """Return kind, days from today and cents of each announcement."""
    workflow = a_process(*steps)
    announced = list_announcements(play(workflow), workflow.calendar)
    return [(each.kind.value, (each.on - TODAY).days, each.cents) for each in announced]


def test_contacts_fees_and_the_end_are_announced_in_order() -> None:
    assert announce(EMAIL, wait(7), FEE, EMAIL, CHECKPOINT, wait(14)) == [
        ("CONTACT", 0, 0), ("FEE", 7, 250), ("CONTACT", 7, 0), ("END", 21, 0),
    ]  # fmt: skip


def test_only_the_next_contacts_but_all_fees_and_the_end_are_announced() -> None:
    steps = [step for _ in range(5) for step in (EMAIL, FEE, wait(7))]
    announcements = announce(*steps)
    assert [day for kind, day, _ in announcements if kind == "CONTACT"] == [0, 7, 14]
    assert [day for kind, day, _ in announcements if kind == "FEE"] == [0, 7, 14, 21, 28]
    assert announcements[-1] == ("END", 35, 0)


def test_contacts_of_one_day_are_announced_once() -> None:
    assert announce(EMAIL, EMAIL, wait(7)) == [("CONTACT", 0, 0), ("END", 7, 0)]


def test_skipped_steps_and_unreachable_contacts_are_not_announced() -> None:
    sms = {**EMAIL, "channel": "SMS"}
    assert announce({**EMAIL, **UNMET}, sms, {**FEE, **UNMET}, FEE) == [("END", 0, 0)]


# Steps after the contact, and the days from today to pay, or None if no date is named. Today is a
# Monday.
@pytest.mark.parametrize(
    ("steps", "days"),
    [
        # On Monday, 16 March: a transfer of Tuesday, the 10th, is recorded on Friday, the 13th.
        ([wait(14), FEE], 8),
        ([wait(14), EMAIL], 8),
        # After the last contact, before the archiving.
        ([wait(14)], 8),
        # A transfer of Monday is known on Thursday; one of the week-end on Wednesday.
        ([wait(11), FEE], 7),
        ([wait(10), FEE], 6),
        # On Monday, the 9th: Tuesday, the 3rd, is too soon.
        ([wait(7), FEE], None),
        ([], None),
        ([FEE, wait(30), EMAIL], None),
        # Checkpoints and skipped steps do not matter to a debtor.
        ([wait(7), CHECKPOINT, wait(7), FEE], 8),
        ([wait(7), {**FEE, **UNMET}, wait(7), EMAIL], 8),
        # A contact waits for the contact hours: 12 days end on a Saturday, so it is sent on Monday.
        ([wait(12), EMAIL], 8),
        ([wait(16), EMAIL], 10),
    ],
)
def test_the_pay_by_date_leaves_time_for_a_transfer_to_be_recorded(
    steps: list[dict[str, Any]], days: int | None
) -> None:
    workflow = a_process(EMAIL, *steps)
    contact = ContactPlanned(workflow.steps[0], 0, "EMAIL")  # type: ignore[arg-type]
    pay_by = compute_pay_by(workflow, contact, FACTS, NOW)
    assert pay_by == (None if days is None else TODAY + days * DAY)


def test_bank_holidays_move_the_pay_by_date_forward() -> None:
    """A contact on Thursday, 9 April: banks are closed from Good Friday to Easter Monday."""
    workflow = a_process(EMAIL, wait(14), EMAIL)
    contact = ContactPlanned(workflow.steps[0], 0, "EMAIL")  # type: ignore[arg-type]
    sent_at = datetime(2026, 3, 26, 9, tzinfo=UTC)
    assert compute_pay_by(workflow, contact, FACTS, sent_at) == date(2026, 4, 1)


# Friday, 27 February: Saturday is the first postal day, Monday the second.
@pytest.mark.parametrize(
    ("postal_days", "days", "pay_by"),
    [
        (2, 11, date(2026, 3, 9)),
        (4, 11, date(2026, 3, 10)),
        (2, 10, date(2026, 3, 8)),
        (2, 9, None),
    ],
)
def test_the_pay_by_date_of_a_letter_allows_for_its_delivery(
    postal_days: int, days: int, pay_by: date | None
) -> None:
    steps = [
        {"id": 1, "name": "Letter", **LETTER},
        {"id": 2, "name": "Wait", **wait(days)},
        {"id": 3, "name": "Fee", **FEE},
    ]
    workflow = prepare_workflow_for_timezone(
        a_definition(steps=steps), "Europe/Berlin", postal_days=postal_days
    )
    contact = ContactPlanned(workflow.steps[0], 0, "LETTER")  # type: ignore[arg-type]
    sent_at = datetime(2026, 2, 27, 9, tzinfo=UTC)
    assert compute_pay_by(workflow, contact, FACTS, sent_at) == pay_by


_STEPS = st.lists(
    st.one_of(
        st.sampled_from([EMAIL, FEE, CHECKPOINT, {**EMAIL, **UNMET}]),
        st.integers(1, 40).map(wait),
    ),
    min_size=1,
    max_size=8,
)
_NOW = st.datetimes(datetime(2026, 1, 1), datetime(2028, 1, 1)).map(
    lambda naive: naive.replace(tzinfo=BERLIN).astimezone(UTC)
)


@given(_STEPS, _NOW)
def test_a_transfer_on_the_pay_by_date_is_recorded_before_the_next_step(
    steps: list[dict[str, Any]], now: datetime
) -> None:
    workflow = a_process(*steps)
    calendar, today = workflow.calendar, workflow.calendar.local_date(now)
    forecast_steps = play(workflow, now)
    pay_by = find_pay_by(forecast_steps, calendar, today)
    next_on = next(
        calendar.local_date(each.at)
        for each in forecast_steps
        if isinstance(each.outcome, ContactPlanned | FeeAdded | Archived)
    )
    if pay_by is None:
        assert compute_recorded_on(today + 5 * DAY) >= next_on
    else:
        assert pay_by >= today + 5 * DAY
        assert compute_recorded_on(pay_by) < next_on <= compute_recorded_on(pay_by + DAY)


@given(_STEPS, _NOW)
def test_announcements_match_the_forecast(steps: list[dict[str, Any]], now: datetime) -> None:
    workflow = a_process(*steps)
    forecast_steps = play(workflow, now)
    announcements = list_announcements(forecast_steps, workflow.calendar)
    assert [each.on for each in announcements] == sorted(each.on for each in announcements)
    assert {each.on for each in announcements} <= {
        workflow.calendar.local_date(f.at) for f in forecast_steps
    }
    fees = [f.outcome for f in forecast_steps if isinstance(f.outcome, FeeAdded)]
    assert [each.cents for each in announcements if each.kind is AnnouncementKind.FEE] == [
        250
    ] * len(fees)
    assert [each.kind for each in announcements][-1:] == [AnnouncementKind.END]


def test_announced_days_are_in_the_timezone_of_the_process() -> None:
    """23:30 in Berlin is the previous day in London."""
    workflow = a_process(FEE)
    late = datetime(2026, 7, 1, 22, 30, tzinfo=UTC)
    [fee, *_] = list_announcements(
        [ForecastStep(late, workflow.steps[0], None, FeeAdded(workflow.steps[0]))],  # type: ignore[arg-type]
        workflow.calendar,
    )
    assert fee == Announcement(AnnouncementKind.FEE, date(2026, 7, 2), 250)
