"""The day on which a letter can have arrived, and the waits that start then."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dunwell.accounts.merchants.configuration import Configuration, LetterSettings
from dunwell.contact.escalation.calendars import compute_arrival_day
from dunwell.contact.escalation.forecast.forecast import forecast
from dunwell.contact.escalation.prepared_workflow import (
    PreparedWorkflow,
    prepare_workflow,
    prepare_workflow_for_timezone,
)
from dunwell.contact.escalation.schedule import (
    StepDecision,
    StepFacts,
    WaitBegun,
    WorkflowPosition,
    decide_steps,
)
from dunwell.core.claims.conditions import ConditionFacts
from tests.support.definitions import DOCUMENT, a_definition

LETTER = {"kind": "COMMUNICATION", "channel": "LETTER", "template": "reminder"}
EMAIL = {**LETTER, "channel": "EMAIL"}
WAIT = {"kind": "WAIT", "days": 7}
CHECKPOINT = {"kind": "CHECKPOINT", "offset": 1, "message": "here"}
# A Friday, 10:00 in Berlin.
SENT_AT = datetime(2026, 2, 27, 9, tzinfo=UTC)
EASTER = frozenset({date(2026, 4, 3), date(2026, 4, 6)})


def a_process(*steps: dict[str, Any], **more: Any) -> PreparedWorkflow:
    numbered = [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]
    return prepare_workflow_for_timezone(a_definition(steps=numbered), "Europe/Berlin", **more)


def decide_wait(
    workflow: PreparedWorkflow, letter_sent_at: datetime | None, due_at: datetime
) -> datetime:
    condition = ConditionFacts(5000, 5000, due_at.date())
    facts = StepFacts(condition, True, frozenset({"LETTER"}), letter_sent_at=letter_sent_at)
    decision: StepDecision = decide_steps(workflow, WorkflowPosition(2, due_at), facts, due_at)
    [waiting] = [each for each in decision.outcomes if isinstance(each, WaitBegun)]
    return waiting.until


@pytest.mark.parametrize(
    ("handed_over_on", "postal_days", "arrives_on"),
    [
        (date(2026, 3, 2), 2, date(2026, 3, 4)),
        # Saturday is a postal day, Sunday is not.
        (date(2026, 2, 27), 1, date(2026, 2, 28)),
        (date(2026, 2, 27), 2, date(2026, 3, 2)),
        (date(2026, 2, 28), 1, date(2026, 3, 2)),
        (date(2026, 3, 1), 2, date(2026, 3, 3)),
        # Good Friday and Easter Monday.
        (date(2026, 4, 2), 1, date(2026, 4, 4)),
        (date(2026, 4, 2), 2, date(2026, 4, 7)),
    ],
)
def test_postal_days_are_monday_to_saturday_without_public_holidays(
    handed_over_on: date, postal_days: int, arrives_on: date
) -> None:
    assert compute_arrival_day(handed_over_on, postal_days, EASTER) == arrives_on


def test_the_wait_after_a_letter_starts_when_it_can_have_arrived() -> None:
    workflow = a_process(LETTER, WAIT)
    # It arrives on Monday, 2 March; the local time of the hand-over is kept.
    assert decide_wait(workflow, SENT_AT, SENT_AT) == datetime(2026, 3, 9, 9, tzinfo=UTC)
    assert decide_wait(workflow, None, SENT_AT) == datetime(2026, 3, 6, 9, tzinfo=UTC)


def test_a_step_between_the_letter_and_the_wait_changes_nothing() -> None:
    workflow = a_process(LETTER, CHECKPOINT, WAIT)
    assert decide_wait(workflow, SENT_AT, SENT_AT) == datetime(2026, 3, 9, 9, tzinfo=UTC)


def test_a_wait_long_after_a_letter_starts_at_once() -> None:
    workflow, later = a_process(LETTER, WAIT), SENT_AT + timedelta(days=30)
    assert decide_wait(workflow, SENT_AT, later) == later + timedelta(days=7)


def test_the_arrival_depends_on_the_merchants_setting_and_country() -> None:
    settings = {**DOCUMENT["settings"]}
    del settings["holidays"]
    steps = [{"id": 1, "name": "Letter", **LETTER}, {"id": 2, "name": "Wait", **WAIT}]
    definition = a_definition(steps=steps, settings=settings)
    german = Configuration("de", "Europe/Berlin", "EUR")
    # Maundy Thursday: without a region in the workflow, the holidays of the country count.
    thursday = datetime(2026, 4, 2, 8, tzinfo=UTC)
    arrivals = [
        prepare_workflow(definition, each).compute_letter_arrival(thursday).date()
        for each in (
            german,
            Configuration("de", "Europe/Berlin", "EUR", letters=LetterSettings(postal_days=4)),
            Configuration("en", "America/New_York", "EUR"),
        )
    ]
    assert arrivals == [date(2026, 4, 7), date(2026, 4, 9), date(2026, 4, 4)]


def test_a_country_without_known_holidays_excludes_only_sundays() -> None:
    settings = {**DOCUMENT["settings"]}
    del settings["holidays"]
    workflow = prepare_workflow_for_timezone(
        a_definition(settings=settings), "Europe/Berlin", country="XX"
    )
    assert workflow.compute_letter_arrival(SENT_AT) == datetime(2026, 3, 2, 9, tzinfo=UTC)


def test_a_forecast_counts_postal_days_like_the_engine() -> None:
    workflow = a_process(LETTER, WAIT, EMAIL, WAIT)
    condition = ConditionFacts(5000, 5000, SENT_AT.date())
    facts = StepFacts(condition, False, frozenset({"LETTER", "EMAIL"}))
    until = SENT_AT + timedelta(days=60)
    forecast_steps = list(
        forecast(workflow, WorkflowPosition(1, SENT_AT), facts, SENT_AT, until=until)
    )
    ends = [each.outcome.until for each in forecast_steps if isinstance(each.outcome, WaitBegun)]
    # The wait after the letter of 2 March, and after the e-mail of 9 March.
    assert ends == [datetime(2026, 3, 9, 9, tzinfo=UTC), datetime(2026, 3, 16, 9, tzinfo=UTC)]
