"""Assigning claims to a workflow: assignable claims are assigned, and the others are unchanged and
have a reason."""

import asyncio
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.assignment.decision import AssignedWorkflow, AssignmentFailure, AssignmentOutcome
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.assignment.store import load_rules
from dunwell.contact.escalation.engine import Engine
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.versions.versions import Version
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import NotFound
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition, a_document
from tests.support.house import House, a_house

CLAIM = """
SELECT workflow_id, workflow_major, run, next_step_id, due_at, status
FROM claims
WHERE merchant_id = $1 AND claim_id = $2
"""
OTHER = a_definition(
    steps=[{"id": 40, "name": "Wait", "kind": "WAIT", "days": 3}, *a_document()["steps"]]
)


async def with_other(house: House) -> Version:
    """Publish a second workflow; the default is unchanged."""
    async with house.work() as work:
        rules = await load_rules(work.tx, work.merchant_id)
    other = await house.publish(OTHER, "Other")
    async with house.work() as work:
        await publish_rules(work, rules)
    return other


async def assign(house: House, workflow_id: UUID, *claim_ids: int) -> AssignmentOutcome:
    async with house.work() as work:
        return await assign_to_workflow(work, workflow_id, claim_ids)


async def standing(house: House, claim_id: int) -> dict[str, Any]:
    [row] = await house.rows(CLAIM, claim_id)
    return dict(row)


async def test_claims_start_at_the_first_step_of_the_current_version(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock)
    first, second = await house.create("A", "B")
    version = await house.publish(OTHER)
    clock.advance(timedelta(hours=1))
    outcome = await assign(house, version.workflow_id, second, first, second)
    assert outcome == AssignmentOutcome(
        [
            AssignedWorkflow(second, version.workflow_id),
            AssignedWorkflow(first, version.workflow_id),
        ]
    )
    assert await standing(house, first) == {
        "workflow_id": version.workflow_id, "workflow_major": 1, "run": 1, "next_step_id": 40,
        "due_at": clock.now(), "status": "CREATED",
    }  # fmt: skip


async def test_another_workflow_ends_the_run_and_its_unsent_contacts(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock, a_definition())
    [claim_id] = await house.create()
    await Engine(resources).run_once()
    other = await with_other(house)
    await assign(house, other.workflow_id, claim_id)
    [contact] = await house.rows("SELECT state, run FROM communications WHERE merchant_id = $1")
    assert dict(contact) == {"state": "CANCELLED", "run": 1}
    after = await standing(house, claim_id)
    assert (after["workflow_id"], after["run"], after["next_step_id"]) == (
        other.workflow_id, 2, 40,
    )  # fmt: skip
    assert (after["status"], after["due_at"]) == ("IN_PROCESS", clock.now())


async def test_assigning_a_claim_to_its_present_workflow_changes_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock, a_definition())
    [claim_id] = await house.create()
    await house.run()
    before = await standing(house, claim_id)
    outcome = await assign(house, before["workflow_id"], claim_id)
    assert outcome == AssignmentOutcome([AssignedWorkflow(claim_id, before["workflow_id"])])
    assert await standing(house, claim_id) == before
    audited = await house.rows(
        "SELECT 1 FROM audit_log WHERE merchant_id = $1 AND action = 'workflow.assign'"
    )
    assert audited == []


async def test_assignable_claims_are_assigned_and_the_others_have_a_reason(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock)
    good, ended = await house.create("A", "B")
    [swiss] = await house.create("C", currency="CHF")
    await house.rows(
        "UPDATE claims SET status = 'ARCHIVED' WHERE claim_id = $2 AND merchant_id = $1", ended
    )
    version = await house.publish(OTHER)
    outcome = await assign(house, version.workflow_id, swiss, good, 10**30, ended)
    assert outcome.assigned == [AssignedWorkflow(good, version.workflow_id)]
    assert outcome.failures == [
        AssignmentFailure(swiss, "The workflow takes claims in EUR; this one is in CHF."),
        AssignmentFailure(10**30, "There is no such claim."),
        AssignmentFailure(ended, "The claim has ended (ARCHIVED); it cannot be assigned."),
    ]
    assert (await standing(house, good))["run"] == 1
    assert {(await standing(house, each))["run"] for each in (swiss, ended)} == {0}


async def test_claims_and_workflows_of_another_merchant_are_not_found(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock, OTHER)
    other = await a_house(resources, clock, OTHER, key="hansen")
    [theirs] = await other.create()
    [own] = await house.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    before = await standing(other, theirs)
    outcome = await assign(house, own["workflow_id"], theirs)
    assert outcome.failures == [AssignmentFailure(theirs, "There is no such claim.")]
    with pytest.raises(NotFound):
        await assign(house, before["workflow_id"], theirs)
    assert await standing(other, theirs) == before


async def test_a_deactivated_or_unpublished_workflow_accepts_no_claims(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock)
    [claim_id] = await house.create()
    version = await house.publish(OTHER)
    await house.rows("UPDATE workflows SET assignment_enabled = false WHERE merchant_id = $1")
    async with house.work() as work:
        draft = await save_draft(work, "Never published", OTHER)
    for workflow_id, message in (
        (version.workflow_id, "The workflow is deactivated; activate it first."),
        (draft.workflow_id, "The workflow was never published; publish it first."),
    ):
        outcome = await assign(house, workflow_id, claim_id)
        assert outcome == AssignmentOutcome([], [AssignmentFailure(claim_id, message)])
    assert (await standing(house, claim_id))["run"] == 0


async def test_assignment_fails_for_every_claim_of_a_merchant_on_scenarios(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock, switched_to_workflows=False)
    [claim_id] = await house.create()
    outcome = await assign(house, uuid4(), claim_id, 999, claim_id)
    assert outcome.assigned == []
    assert [failure.claim_id for failure in outcome.failures] == [claim_id, 999]


async def test_an_unknown_workflow_is_not_found(resources: Resources, clock: MovableClock) -> None:
    house = await a_house(resources, clock)
    [claim_id] = await house.create()
    with pytest.raises(NotFound):
        await assign(house, uuid4(), claim_id)
    assert (await standing(house, claim_id))["run"] == 0


async def test_two_concurrent_assignments_start_one_run(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock)
    claims = await house.create("A", "B", "C")
    version = await house.publish(OTHER)
    await asyncio.gather(
        assign(house, version.workflow_id, *claims),
        assign(house, version.workflow_id, *reversed(claims)),
    )
    assert [(await standing(house, each))["run"] for each in claims] == [1, 1, 1]


async def test_a_process_that_waits_for_the_due_date_starts_then(
    resources: Resources, clock: MovableClock
) -> None:
    house = await a_house(resources, clock)
    items = [
        {"reference": "fee", "type": "DUNNING_FEE", "value": "100", "dueDate": "2026-03-05"},
        {"reference": "one", "type": "PRIMARY", "value": "100", "dueDate": "2026-03-20"},
        {"reference": "two", "type": "PRIMARY", "value": "100", "dueDate": "2026-03-10"},
    ]
    [claim_id] = await house.create(items=items)
    settings = a_document()["settings"] | {"processingStart": "DUE_DATE"}
    version = await house.publish(a_definition(settings=settings))
    await assign(house, version.workflow_id, claim_id)
    due_at = (await standing(house, claim_id))["due_at"]
    assert due_at.isoformat() == "2026-03-19T23:00:00+00:00"
