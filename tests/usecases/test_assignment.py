"""Assigning claims to a workflow: assignable claims are assigned, and the others are unchanged and
have a reason."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.assignment.decision import AssignedWorkflow, AssignmentFailure, AssignmentOutcome
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.assignment.store import load_rules
from dunwell.contact.escalation.engine import Engine
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition, a_document
from tests.support.harness import Harness, a_harness

CLAIM = """
SELECT workflow_id, workflow_major, run, next_step_id, due_at, status
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
OTHER = a_definition(
    steps=[{"id": 40, "name": "Wait", "kind": "WAIT", "days": 3}, *a_document()["steps"]]
)


async def with_other(harness: Harness) -> Version:
    """Publish a second workflow; the default is unchanged."""
    async with harness.work() as work:
        rules = await load_rules(work.tx, work.merchant_id)
    other = await harness.publish(OTHER, "Other")
    async with harness.work() as work:
        await publish_rules(work, rules)
    return other


async def assign(harness: Harness, workflow_id: UUID, *claim_ids: int) -> AssignmentOutcome:
    async with harness.work() as work:
        return await assign_to_workflow(work, workflow_id, claim_ids)


async def load_position(harness: Harness, claim_id: int) -> dict[str, Any]:
    [row] = await harness.rows(CLAIM, claim_id)
    return dict(row)


async def test_claims_start_at_the_first_step_of_the_current_version(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    first, second = await harness.create("A", "B")
    version = await harness.publish(OTHER)
    clock.advance(timedelta(hours=1))
    outcome = await assign(harness, version.workflow_id, second, first, second)
    assert outcome == AssignmentOutcome(
        [
            AssignedWorkflow(second, version.workflow_id),
            AssignedWorkflow(first, version.workflow_id),
        ]
    )
    assert await load_position(harness, first) == {
        "workflow_id": version.workflow_id, "workflow_major": 1, "run": 1, "next_step_id": 40,
        "due_at": clock.now(), "status": "CREATED",
    }  # fmt: skip


async def test_another_workflow_ends_the_run_and_its_unsent_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await Engine(resources).run_once()
    other = await with_other(harness)
    await assign(harness, other.workflow_id, claim_id)
    [contact] = await harness.rows("SELECT state, run FROM communications WHERE merchant_id = $1")
    assert dict(contact) == {"state": "CANCELLED", "run": 1}
    after = await load_position(harness, claim_id)
    assert (after["workflow_id"], after["run"], after["next_step_id"]) == (
        other.workflow_id, 2, 40,
    )  # fmt: skip
    assert (after["status"], after["due_at"]) == ("IN_PROCESS", clock.now())


async def test_assigning_a_claim_to_its_present_workflow_changes_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    await harness.run()
    before = await load_position(harness, claim_id)
    outcome = await assign(harness, before["workflow_id"], claim_id)
    assert outcome == AssignmentOutcome([AssignedWorkflow(claim_id, before["workflow_id"])])
    assert await load_position(harness, claim_id) == before
    audited = await harness.rows(
        "SELECT 1 FROM audit_log WHERE merchant_id = $1 AND action = 'workflow.assign'"
    )
    assert audited == []


async def test_assignable_claims_are_assigned_and_the_others_have_a_reason(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    good, ended = await harness.create("A", "B")
    [swiss] = await harness.create("C", currency="CHF")
    await harness.rows(
        "UPDATE claims SET status = 'ARCHIVED' WHERE claim_id = $2 AND merchant_id = $1", ended
    )
    version = await harness.publish(OTHER)
    outcome = await assign(harness, version.workflow_id, swiss, good, 10**30, ended)
    assert outcome.assigned == [AssignedWorkflow(good, version.workflow_id)]
    assert outcome.failures == [
        AssignmentFailure(swiss, "The workflow accepts claims in EUR; this one is in CHF."),
        AssignmentFailure(10**30, "There is no such claim."),
        AssignmentFailure(ended, "The claim has ended (ARCHIVED); it cannot be assigned."),
    ]
    assert (await load_position(harness, good))["run"] == 1
    assert {(await load_position(harness, each))["run"] for each in (swiss, ended)} == {0}


async def test_a_deactivated_or_unpublished_workflow_accepts_no_claims(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    version = await harness.publish(OTHER)
    await harness.rows("UPDATE workflows SET assignment_enabled = false WHERE merchant_id = $1")
    async with harness.work() as work:
        draft = await save_draft(work, "Never published", OTHER)
    for workflow_id, message in (
        (version.workflow_id, "The workflow is deactivated; activate it first."),
        (draft.workflow_id, "The workflow was never published; publish it first."),
    ):
        outcome = await assign(harness, workflow_id, claim_id)
        assert outcome == AssignmentOutcome([], [AssignmentFailure(claim_id, message)])
    assert (await load_position(harness, claim_id))["run"] == 0


async def test_assignment_fails_for_every_claim_of_a_merchant_on_scenarios(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, switched_to_workflows=False)
    [claim_id] = await harness.create()
    outcome = await assign(harness, uuid4(), claim_id, 999, claim_id)
    assert outcome.assigned == []
    assert [failure.claim_id for failure in outcome.failures] == [claim_id, 999]


async def test_two_concurrent_assignments_start_one_run(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    claims = await harness.create("A", "B", "C")
    version = await harness.publish(OTHER)
    await asyncio.gather(
        assign(harness, version.workflow_id, *claims),
        assign(harness, version.workflow_id, *reversed(claims)),
    )
    assert [(await load_position(harness, each))["run"] for each in claims] == [1, 1, 1]


async def test_a_workflow_that_waits_for_the_due_date_starts_then(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    items = [
        {"reference": "fee", "type": "DUNNING_FEE", "value": "100", "dueDate": "2026-03-05"},
        {"reference": "one", "type": "PRIMARY", "value": "100", "dueDate": "2026-03-20"},
        {"reference": "two", "type": "PRIMARY", "value": "100", "dueDate": "2026-03-10"},
    ]
    [claim_id] = await harness.create(items=items)
    settings = a_document()["settings"] | {"processingStart": "DUE_DATE"}
    version = await harness.publish(a_definition(settings=settings))
    await assign(harness, version.workflow_id, claim_id)
    due_at = (await load_position(harness, claim_id))["due_at"]
    assert due_at.isoformat() == "2026-03-19T23:00:00+00:00"
