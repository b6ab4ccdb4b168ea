"""What a process does next: the rule behind every contact, fee and wait."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dunwell.contact.escalation.prepared_workflow import prepare_workflow_for_timezone
from dunwell.contact.escalation.schedule import (
    Archived,
    CheckpointReached,
    ContactPlanned,
    FeeAdded,
    NobodyReachable,
    Skipped,
    SkipReason,
    StepDecision,
    StepFacts,
    StepOutcome,
    WaitBegun,
    WorkflowPosition,
    compute_first_due,
    decide_steps,
)
from dunwell.core.claims.conditions import ConditionFacts
from tests.support.definitions import DOCUMENT, a_definition

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)


def the_facts(
    *, has_reached: bool = True, usable: frozenset[Any] = frozenset({"EMAIL"})
) -> StepFacts:
    condition = ConditionFacts(outstanding_cents=5000, total_cents=5000, today=NOW.date())
    return StepFacts(condition, has_reached, usable)


def run(
    step_id: int | None, due_at: datetime = NOW, now: datetime = NOW, **facts: Any
) -> StepDecision:
    workflow = prepare_workflow_for_timezone(a_definition(), "Europe/Berlin")
    return decide_steps(workflow, WorkflowPosition(step_id, due_at), the_facts(**facts), now)


def test_no_step_runs_after_a_planned_contact() -> None:
    decision = run(1)
    [outcome] = decision.outcomes
    assert isinstance(outcome, ContactPlanned)
    assert (outcome.step.id, outcome.place, outcome.channel) == (1, 0, "EMAIL")
    assert decision.position == WorkflowPosition(1, None)


def test_a_contact_waits_for_its_contact_hours() -> None:
    evening = datetime(2026, 3, 6, 17, 30, tzinfo=UTC)  # Friday, 18:30 in Berlin.
    decision = run(1, due_at=evening, now=evening)
    assert decision.outcomes == ()
    assert decision.position == WorkflowPosition(1, datetime(2026, 3, 9, 8, 0, tzinfo=UTC))


def test_a_wait_counts_from_the_end_of_the_step_before_not_from_now() -> None:
    decision = run(2, due_at=NOW, now=NOW + timedelta(hours=3))
    assert decision.position == WorkflowPosition(3, NOW + 7 * DAY)


def test_fee_checkpoint_and_wait_run_together_at_any_hour() -> None:
    night = datetime(2026, 3, 8, 2, 0, tzinfo=UTC)
    decision = run(3, due_at=night, now=night)
    kinds = [type(outcome) for outcome in decision.outcomes]
    assert kinds == [FeeAdded, CheckpointReached, WaitBegun]
    assert decision.position == WorkflowPosition(None, night + 14 * DAY)


def test_a_fee_requires_that_the_debtor_was_reached() -> None:
    skipped = run(3, has_reached=False).outcomes[0]
    assert isinstance(skipped, Skipped)
    assert skipped.reason is SkipReason.NOBODY_REACHED


def test_a_claim_is_archived_after_the_last_step() -> None:
    assert run(None) == StepDecision((Archived(),), WorkflowPosition(None, None))


def test_an_unreachable_debtor_is_recorded_and_the_process_continues() -> None:
    decision = run(1, usable=frozenset())
    assert [type(outcome) for outcome in decision.outcomes] == [NobodyReachable, WaitBegun]
    assert decision.position.next_step_id == 3


def test_an_unmet_condition_skips_the_step_and_names_the_property() -> None:
    steps = [{**DOCUMENT["steps"][0], "when": {"outstanding": {"min": "9000"}}}]
    workflow = prepare_workflow_for_timezone(a_definition(steps=steps), "Europe/Berlin")
    decision = decide_steps(workflow, WorkflowPosition(1, NOW), the_facts(), NOW)
    skipped = decision.outcomes[0]
    assert isinstance(skipped, Skipped)
    assert (skipped.reason, skipped.unmet) == (SkipReason.GUARD_UNMET, ("outstanding",))
    assert isinstance(decision.outcomes[1], Archived)


def test_a_condition_sees_the_fees_of_the_same_moment() -> None:
    fee, contact = DOCUMENT["steps"][2], DOCUMENT["steps"][0]
    guard = {"outstanding": {"min": "5250"}, "total": {"min": "5250"}, "itemType": "DUNNING_FEE"}
    steps = [fee, {**contact, "id": 7, "when": guard}]
    workflow = prepare_workflow_for_timezone(a_definition(steps=steps), "Europe/Berlin")
    fee_added, planned = decide_steps(workflow, WorkflowPosition(3, NOW), the_facts(), NOW).outcomes
    assert isinstance(fee_added, FeeAdded)
    assert isinstance(planned, ContactPlanned)


def test_a_contact_missed_during_an_outage_is_skipped_if_the_policy_says_so() -> None:
    settings = {**DOCUMENT["settings"], "latePolicy": {"skipIfOlderThanDays": 30}}
    workflow = prepare_workflow_for_timezone(a_definition(settings=settings), "Europe/Berlin")
    late, later = NOW + 30 * DAY, NOW + 31 * DAY
    kept = decide_steps(workflow, WorkflowPosition(1, NOW), the_facts(), late)
    assert isinstance(kept.outcomes[0], ContactPlanned)
    left_out = decide_steps(workflow, WorkflowPosition(1, NOW), the_facts(), later)
    assert left_out.outcomes[0] == Skipped(workflow.steps[0], SkipReason.TOO_LATE)


def test_processing_starts_at_creation_or_with_the_due_date() -> None:
    later = date(2026, 3, 20)
    assert compute_first_due(a_definition(), "Europe/Berlin", later, NOW) == NOW
    settings = {**DOCUMENT["settings"], "processingStart": "DUE_DATE"}
    definition = a_definition(settings=settings)
    midnight = datetime(2026, 3, 19, 23, 0, tzinfo=UTC)
    assert compute_first_due(definition, "Europe/Berlin", later, NOW) == midnight
    assert compute_first_due(definition, "Europe/Berlin", date(2026, 1, 1), NOW) == NOW
    assert compute_first_due(definition, "Europe/Berlin", None, NOW) == NOW


_STEPS = st.lists(
    st.sampled_from(
        [
            {"kind": "COMMUNICATION", "channel": "EMAIL", "template": "reminder"},
            {"kind": "WAIT", "days": 3},
            {"kind": "WAIT", "businessDays": 2},
            {"kind": "FEE", "type": "DUNNING_FEE", "value": "250"},
            {"kind": "CHECKPOINT", "offset": 1, "message": "here"},
        ]
    ),
    min_size=1,
    max_size=8,
)
_INSTANTS = st.datetimes(datetime(2025, 1, 1), datetime(2030, 1, 1), timezones=st.just(UTC))


@given(_STEPS, _INSTANTS, st.integers(0, 400))
def test_every_process_moves_forward_and_ends(
    kinds: list[dict[str, Any]], start: datetime, late_minutes: int
) -> None:
    steps = [{"id": n, "name": f"Step {n}", **kind} for n, kind in enumerate(kinds, start=1)]
    workflow = prepare_workflow_for_timezone(a_definition(steps=steps), "Europe/Berlin")
    position, now = WorkflowPosition(workflow.id_at(0), start), start
    ran: list[StepOutcome] = []
    for _ in range(4 * len(steps) + 4):
        if position.due_at is not None:
            assert position.due_at >= start
            now = max(now, position.due_at) + timedelta(minutes=late_minutes)
        elif isinstance(ran[-1], ContactPlanned):
            index = workflow.index_of(position.next_step_id) + 1
            position = WorkflowPosition(workflow.id_at(index), now)
        else:
            break
        decision = decide_steps(workflow, position, the_facts(), now)
        ran += decision.outcomes
        position = decision.position
    assert isinstance(ran[-1], Archived)
    assert [o.step.id for o in ran if not isinstance(o, Archived)] == [s["id"] for s in steps]
