"""Transactions that have read rules, drafts or scenarios and write after these have changed."""

import asyncio
from typing import Any

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.rulebook import load_rulebook
from dunwell.cases.assignment.rules import RuleSet, parse_rules
from dunwell.cases.assignment.rules_draft import (
    discard_rules_draft,
    publish_rules,
    publish_rules_draft,
    save_rules_draft,
)
from dunwell.cases.assignment.store import find_rules_draft
from dunwell.cases.intake.create_claims import create_claims
from dunwell.cases.rollout.delete_workflow import delete_workflow
from dunwell.cases.rollout.scenarios.save_scenario import save_scenario
from dunwell.operations.claim_status.explain_claim import explain_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.engine.test_workflow_races import run_in_own_transaction
from tests.support.claims import a_submission
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.waiting import wait_until_blocked

_CLAIMS = """
SELECT workflow_id, workflow_major, run, next_step_id, due_at, rules_version
FROM claims WHERE merchant_id = $1
"""
_UNASSIGNED = (None, None, 0, None, None, None)


def a_draft(name: str) -> Any:
    return parse_rules({"rules": [{"name": name, "target": "Standard"}], "default": None})


async def draft_names(harness: Harness) -> list[str]:
    async with harness.work() as work:
        draft = await find_rules_draft(work.tx, work.merchant_id)
    return [] if draft is None else [rule.name for rule in draft.rules.rules]


async def remove_workflow_from_rules(harness: Harness, reader: Work) -> Any:
    """Load the rules for the reader, then remove the workflow from every rule; return the
    workflow's id."""
    workflow_id = (await load_rulebook(reader.tx, reader.merchant)).rules.default
    async with harness.work() as work:
        await publish_rules(work, RuleSet())
    return workflow_id


async def test_a_claim_stays_unassigned_when_the_rules_point_to_a_deleted_workflow(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    async with harness.work() as late:
        workflow_id = await remove_workflow_from_rules(harness, late)
        async with harness.work() as work:
            await delete_workflow(work, workflow_id)
        [created] = await create_claims(late, [a_submission("A")])
    assert created.error is None
    assert [tuple(row) for row in await harness.rows(_CLAIMS)] == [_UNASSIGNED]


async def test_a_claim_created_while_its_workflow_is_deleted_waits_and_stays_unassigned(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    async with harness.work() as late:
        workflow_id = await remove_workflow_from_rules(harness, late)
        async with harness.work() as work:
            await delete_workflow(work, workflow_id)
            creating = asyncio.create_task(create_claims(late, [a_submission("A")]))
            await wait_until_blocked(resources.database, creating)
        await creating
    assert [tuple(row) for row in await harness.rows(_CLAIMS)] == [_UNASSIGNED]


@pytest.mark.parametrize("end_draft", [publish_rules_draft, discard_rules_draft])
async def test_a_rules_draft_saved_while_another_is_discarded_becomes_the_draft(
    resources: Resources, clock: MovableClock, end_draft: Any
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    async with harness.work() as work:
        await save_rules_draft(work, a_draft("One"))
    async with harness.work() as work:
        await end_draft(work)
        saving = asyncio.create_task(
            run_in_own_transaction(harness, lambda w: save_rules_draft(w, a_draft("Two")))
        )
        await wait_until_blocked(resources.database, saving)
    await saving
    assert await draft_names(harness) == ["Two"]


async def test_publishing_a_rules_draft_does_not_delete_a_newer_draft(
    resources: Resources, clock: MovableClock
) -> None:
    """Publishing locks the setup from before it reads the draft until after it deletes it."""
    harness = await a_harness(resources, clock, a_definition())
    async with harness.work() as work:
        await save_rules_draft(work, a_draft("One"))
    async with harness.work() as work:
        await save_rules_draft(work, a_draft("Two"))
        publishing = asyncio.create_task(run_in_own_transaction(harness, publish_rules_draft))
        await wait_until_blocked(resources.database, publishing)
    published = await publishing
    assert 'rule "Two" added' in published.review.differences
    assert await draft_names(harness) == []


async def test_a_claim_created_during_a_scenario_edit_is_explained_by_the_new_first_step(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition(), switched_to_workflows=False)
    async with harness.work() as late:
        await load_rulebook(late.tx, late.merchant)
        async with harness.work() as work:
            await save_scenario(work, "Standard", a_definition(steps=DOCUMENT["steps"][1:]))
        [created] = await create_claims(late, [a_submission("A")])
    assert created.claim_id is not None
    async with harness.work() as work:
        explanation = await explain_claim(work, resources.keys, created.claim_id)
    assert explanation.next_step is not None
    assert (explanation.next_step.step_id, explanation.next_step.name) == (2, "Wait a week")
