"""The forecast of a claim's process, by the same rule as the engine."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.escalation.forecast.forecast import ForecastStep, PendingContact, forecast
from dunwell.contact.escalation.prepared_workflow import (
    PreparedWorkflow,
    prepare_workflow_for_timezone,
)
from dunwell.contact.escalation.schedule import (
    Archived,
    ContactPlanned,
    FeeAdded,
    NobodyReachable,
    Skipped,
    SkipReason,
    StepFacts,
    TriedChannels,
    WorkflowPosition,
)
from dunwell.core.claims.conditions import ConditionFacts
from dunwell.core.workflows.definition import ContactStep
from tests.support.definitions import a_definition

# A Monday, 10:00 in Berlin.
NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
EVER = NOW + 20_000 * DAY
EMAIL = {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"}
FEE = {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"}
WEEK = {"kind": "WAIT", "days": 7}
FACTS = StepFacts(
    ConditionFacts(outstanding_cents=5000, total_cents=5000, today=NOW.date()),
    has_reached=False,
    usable_channels=frozenset({"EMAIL"}),
)


def a_process(*steps: dict[str, Any]) -> PreparedWorkflow:
    numbered = [{"id": n, "name": f"Step {n}", **step} for n, step in enumerate(steps, start=1)]
    return prepare_workflow_for_timezone(a_definition(steps=numbered), "Europe/Berlin")


def foresee(
    workflow: PreparedWorkflow,
    position: WorkflowPosition | PendingContact | None = None,
    **given: Any,
) -> Any:
    facts, until = given.pop("facts", FACTS), given.pop("until", EVER)
    standing = position or WorkflowPosition(workflow.id_at(0), NOW)
    return list(forecast(workflow, standing, facts, NOW, until=until, **given))


def read(forecast_steps: list[ForecastStep]) -> list[tuple[int | None, int, str | None]]:
    """Return step, days from now and channel."""
    return [
        (each.step.id if each.step else None, (each.at - NOW).days, each.channel)
        for each in forecast_steps
    ]


def test_the_usual_process_is_foreseen_to_its_end() -> None:
    workflow = prepare_workflow_for_timezone(a_definition(), "Europe/Berlin")
    assert read(foresee(workflow)) == [
        (1, 0, "EMAIL"), (2, 0, None), (3, 7, None), (4, 7, None), (5, 7, None), (None, 21, None),
    ]  # fmt: skip


def test_a_forecast_includes_the_last_instant_of_its_window() -> None:
    workflow = a_process(EMAIL, WEEK, EMAIL)
    assert len(foresee(workflow, until=NOW + 7 * DAY)) == 4
    assert len(foresee(workflow, until=NOW + 7 * DAY - timedelta(seconds=1))) == 2


def test_later_conditions_see_the_fee_of_an_earlier_step() -> None:
    guarded = {**EMAIL, "when": {"outstanding": {"min": "5250"}, "itemType": "DUNNING_FEE"}}
    *_, contact, end = foresee(a_process(EMAIL, FEE, WEEK, guarded))
    assert (contact.step.id, contact.channel, end.outcome) == (4, "EMAIL", Archived())
    [*_, skipped, end] = foresee(a_process(EMAIL, WEEK, guarded))
    assert skipped.outcome.unmet == ("outstanding", "itemType")


def test_a_fee_before_any_contact_is_skipped_and_one_after_it_is_not() -> None:
    first, _, third, _ = foresee(a_process(FEE, EMAIL, FEE))
    assert isinstance(first.outcome, Skipped)
    assert first.outcome.reason is SkipReason.NOBODY_REACHED
    assert isinstance(third.outcome, FeeAdded)


def test_ages_grow_with_the_days() -> None:
    facts = replace(FACTS, condition=replace(FACTS.condition, first_primary_on=NOW.date()))
    old = {**EMAIL, "when": {"primaryAgeDays": {"min": 7}}}
    assert read(foresee(a_process(old, WEEK, old), facts=facts))[2] == (3, 7, "EMAIL")
    assert isinstance(foresee(a_process(old), facts=facts)[0].outcome, Skipped)


def test_a_contact_held_by_a_guard_is_forecast_in_the_contact_hours_after_it() -> None:
    asked: list[datetime] = []

    def guard(at: datetime, channel: str) -> datetime:
        asked.append(at)
        # The start of Saturday the 7th in Berlin: the next contact hours are on Monday.
        return max(at, datetime(2026, 3, 6, 23, tzinfo=UTC))

    monday = datetime(2026, 3, 9, 8, tzinfo=UTC)
    contact, end = foresee(a_process(EMAIL), guard=guard)
    assert (contact.at, end.at) == (monday, monday)
    assert asked == [NOW, monday]


def test_a_pending_contact_is_forecast_first_and_the_process_continues_after_it() -> None:
    workflow = a_process(EMAIL, WEEK, EMAIL)
    step = workflow.steps[0]
    assert isinstance(step, ContactStep)
    planned = ContactPlanned(step, 0, "EMAIL")
    waiting = PendingContact(planned, NOW + DAY, 1)
    tried = replace(FACTS, tried=TriedChannels(frozenset({"EMAIL"}), 1))
    assert read(foresee(workflow, waiting, facts=tried))[:3] == [
        (1, 1, "EMAIL"),
        (2, 1, None),
        (3, 8, "EMAIL"),
    ]
    late = PendingContact(planned, NOW + DAY, 2)
    assert read(foresee(workflow, late))[:3] == [(1, 1, "EMAIL"), (2, 1, None), (3, 8, "EMAIL")]


def test_an_ended_or_waiting_claim_has_an_empty_forecast() -> None:
    workflow = a_process(EMAIL)
    assert foresee(workflow, WorkflowPosition(None, None)) == []
    assert foresee(workflow, WorkflowPosition(1, None)) == []


def test_an_unreachable_debtor_is_forecast_as_such() -> None:
    first, _ = foresee(a_process(EMAIL), facts=replace(FACTS, usable_channels=frozenset()))
    assert isinstance(first.outcome, NobodyReachable)


_STEPS = st.lists(
    st.sampled_from(
        [
            EMAIL,
            {**EMAIL, "send": "IMMEDIATE"},
            {**EMAIL, "when": {"outstanding": {"max": "5100"}}},
            FEE,
            WEEK,
            {"kind": "WAIT", "businessDays": 3},
            {"kind": "CHECKPOINT", "offset": 1, "message": "here"},
        ]
    ),
    min_size=1,
    max_size=10,
)
_INSTANTS = st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(_STEPS, _INSTANTS, st.integers(-500, 500))
def test_a_forecast_is_in_order_and_has_every_step_once(
    kinds: list[dict[str, Any]], now: datetime, due_in_hours: int
) -> None:
    workflow = a_process(*kinds)
    due_at = now + timedelta(hours=due_in_hours)
    forecast_steps = list(
        forecast(workflow, WorkflowPosition(1, due_at), FACTS, now, until=now + 2000 * DAY)
    )
    instants = [each.at for each in forecast_steps]
    assert instants == sorted(instants)
    assert instants[0] >= max(now, due_at)
    assert [each.step for each in forecast_steps] == [*workflow.steps, None]


@given(_STEPS, _INSTANTS, st.integers(1, 5))
def test_contacts_are_within_their_hours_whatever_a_guard_holds_back(
    kinds: list[dict[str, Any]], now: datetime, days_between: int
) -> None:
    made: list[datetime] = []

    def guard(at: datetime, channel: str) -> datetime:
        allowed = max(at, made[-1] + days_between * DAY) if made else at
        if allowed == at:
            made.append(at)
        return allowed

    workflow = a_process(*kinds)
    forecast_steps = list(
        forecast(
            workflow, WorkflowPosition(1, now), FACTS, now, until=now + 2000 * DAY, guard=guard
        )
    )
    contacts = [each for each in forecast_steps if isinstance(each.outcome, ContactPlanned)]
    assert [each.at for each in contacts] == made
    assert all(later - first >= days_between * DAY for first, later in pairwise(made))
    for each in contacts:
        if isinstance(each.step, ContactStep) and each.step.send == "CONTACT_HOURS":
            assert workflow.calendar.next_opening(each.at) == each.at
