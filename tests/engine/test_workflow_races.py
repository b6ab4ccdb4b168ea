"""Two people, or a person and a program, change a workflow at once on two connections."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.store import lock_merchant
from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.assignment.rules import RuleSet
from dunwell.cases.assignment.rules_draft import publish_rules
from dunwell.cases.rollout.delete_workflow import delete_workflow, discard_draft_or_workflow
from dunwell.core.workflows.change_workflow import (
    activate_workflow,
    deactivate_workflow,
    rename_workflow,
)
from dunwell.core.workflows.drafts.edit_draft import create_draft, save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.core.workflows.store import load_draft
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, a_harness
from tests.support.waiting import wait_until_blocked

Operation = Callable[[Work], Awaitable[Any]]
FIRST = a_definition()
MINOR = a_definition(snippets={"signature": {"de": "Gruß", "en": "Regards"}})
MAJOR = a_definition(steps=DOCUMENT["steps"][:2])


async def run_blocked_by_first(harness: Harness, first: Operation, second: Operation) -> list[Any]:
    """Start the second when the first is done but not committed, so that it must wait."""
    async with harness.work() as work:
        one = await first(work)
        waiting = asyncio.create_task(run_in_own_transaction(harness, second))
        await wait_until_blocked(harness.resources.database, waiting)
    return [one, await waiting]


async def run_in_own_transaction(harness: Harness, operation: Operation) -> Any:
    """Return the result of the operation, or its refusal."""
    try:
        async with harness.work() as work:
            return await operation(work)
    except (InvalidState, NotFound, ValidationError) as refusal:
        return refusal


async def a_workflow(harness: Harness) -> UUID:
    """Create a published workflow that no rule uses, with a draft that differs."""
    async with harness.work() as work:
        draft = await save_draft(work, "Other", FIRST)
        await publish_draft(work, draft.workflow_id)
        await save_draft(work, "Other", MINOR)
    return draft.workflow_id


async def names(harness: Harness) -> list[tuple[str, bool]]:
    rows = await harness.rows(
        "SELECT name, deleted_at IS NULL AS is_there FROM workflows WHERE merchant_id = $1"
        " ORDER BY created_at, workflow_id"
    )
    return [(row["name"], row["is_there"]) for row in rows]


async def workflow_of(harness: Harness, claim_id: int) -> UUID | None:
    [row] = await harness.rows(
        "SELECT workflow_id FROM claims WHERE merchant_id = $1 AND claim_id = $2", claim_id
    )
    found: UUID | None = row["workflow_id"]
    return found


async def versions(harness: Harness) -> list[tuple[int, int]]:
    rows = await harness.rows(
        "SELECT major, minor FROM workflow_versions WHERE merchant_id = $1 AND major IS NOT NULL"
        " ORDER BY 1, 2"
    )
    return [(row["major"], row["minor"]) for row in rows]


async def test_two_concurrent_publications_make_one_version(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    one, other = await run_blocked_by_first(
        harness, *[lambda work: publish_draft(work, workflow_id)] * 2
    )
    assert one.name == "v1.1"
    assert isinstance(other, InvalidState)
    assert "has no draft" in other.message
    assert await versions(harness) == [(1, 0), (1, 1)]


async def test_a_draft_saved_while_another_is_published_becomes_the_next_draft(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    published, saved = await run_blocked_by_first(
        harness,
        lambda work: publish_draft(work, workflow_id),
        lambda work: save_draft(work, "Other", MAJOR),
    )
    async with harness.work() as work:
        draft = await load_draft(work.tx, work.merchant_id, workflow_id)
        assert draft is not None
        assert (draft.version_id, draft.definition) == (saved.version_id, MAJOR)
        assert (await publish_draft(work, workflow_id)).name == "v2.0"
    assert published.definition == MINOR


async def test_publishing_is_refused_when_the_draft_has_changed(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    async with harness.work() as work:
        seen = await load_draft(work.tx, work.merchant_id, workflow_id)
    assert seen is not None
    _, refused = await run_blocked_by_first(
        harness,
        lambda work: save_draft(work, "Other", MAJOR),
        lambda work: publish_draft(work, workflow_id, expected_id=seen.version_id),
    )
    assert isinstance(refused, InvalidState)
    assert await versions(harness) == [(1, 0)]


async def test_two_editors_of_one_version_do_not_overwrite_each_other(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    async with harness.work() as work:
        seen = await load_draft(work.tx, work.merchant_id, workflow_id)
    assert seen is not None
    mine, theirs = await run_blocked_by_first(
        harness,
        lambda work: save_draft(work, "Other", MAJOR, expected_id=seen.version_id),
        lambda work: save_draft(work, "Other", FIRST, expected_id=seen.version_id),
    )
    assert isinstance(theirs, InvalidState)
    assert str(mine.version_id) in theirs.message


async def test_publishing_by_merchant_file_and_by_a_person_does_not_deadlock(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    async with harness.work() as work:
        await lock_merchant(work.tx, work.merchant_id)
        waiting = asyncio.create_task(
            run_in_own_transaction(harness, lambda work: publish_draft(work, workflow_id))
        )
        await wait_until_blocked(resources.database, waiting)
        assert (await publish_draft(work, workflow_id)).name == "v1.1"
    assert isinstance(await waiting, InvalidState)


async def test_claims_assigned_to_a_workflow_that_is_being_deleted_keep_theirs(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    [claim_id] = await harness.create()
    before = await workflow_of(harness, claim_id)
    workflow_id = await a_workflow(harness)
    _, refused = await run_blocked_by_first(
        harness,
        lambda work: delete_workflow(work, workflow_id),
        lambda work: assign_to_workflow(work, workflow_id, [claim_id]),
    )
    assert isinstance(refused, NotFound)
    assert await workflow_of(harness, claim_id) == before
    assert await names(harness) == [("Standard", True), ("Other", False)]


async def test_a_workflow_that_is_being_assigned_is_not_deleted(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    [claim_id] = await harness.create()
    workflow_id = await a_workflow(harness)
    _, refused = await run_blocked_by_first(
        harness,
        lambda work: assign_to_workflow(work, workflow_id, [claim_id]),
        lambda work: delete_workflow(work, workflow_id),
    )
    assert isinstance(refused, InvalidState)
    assert "1 claim is in process on v1" in refused.message
    assert await workflow_of(harness, claim_id) == workflow_id
    assert await names(harness) == [("Standard", True), ("Other", True)]


async def test_a_workflow_is_not_deleted_while_a_claim_is_created_for_it(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)

    async def insert(work: Work) -> None:
        await work.tx.execute(
            "INSERT INTO claims (merchant_id, reference_number, currency, workflow_id,"
            " workflow_major, created_at, updated_at) VALUES ($1, 'A', 'EUR', $2, 1, $3, $3)",
            work.merchant_id, workflow_id, work.now,
        )  # fmt: skip

    _, refused = await run_blocked_by_first(
        harness, insert, lambda work: delete_workflow(work, workflow_id)
    )
    assert isinstance(refused, InvalidState)


async def test_rules_published_while_their_target_is_deleted_are_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    _, refused = await run_blocked_by_first(
        harness,
        lambda work: delete_workflow(work, workflow_id),
        lambda work: publish_rules(work, RuleSet(default=workflow_id)),
    )
    assert isinstance(refused, ValidationError)
    assert await harness.rows("SELECT 1 FROM assignment_rules WHERE merchant_id = $1") == []


@pytest.mark.parametrize(
    "operation",
    [
        publish_draft, discard_draft_or_workflow, deactivate_workflow, activate_workflow,
        delete_workflow,
        create_draft, lambda work, workflow_id: rename_workflow(work, workflow_id, "Another"),
    ],
)  # fmt: skip
async def test_a_workflow_that_is_being_deleted_cannot_be_changed(
    resources: Resources, clock: MovableClock, operation: Callable[[Work, UUID], Awaitable[Any]]
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    _, refused = await run_blocked_by_first(
        harness,
        lambda work: delete_workflow(work, workflow_id),
        lambda work: operation(work, workflow_id),
    )
    assert isinstance(refused, NotFound)
    assert await versions(harness) == [(1, 0)]


async def test_a_draft_saved_while_its_workflow_is_deleted_makes_a_new_one(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    workflow_id = await a_workflow(harness)
    _, saved = await run_blocked_by_first(
        harness,
        lambda work: delete_workflow(work, workflow_id),
        lambda work: save_draft(work, "Other", FIRST),
    )
    assert saved.workflow_id != workflow_id
    assert sorted(await names(harness)) == [("Other", False), ("Other", True)]


async def test_two_workflows_do_not_get_the_same_name(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, FIRST)
    workflow_id = await a_workflow(harness)
    _, refused = await run_blocked_by_first(
        harness,
        lambda work: save_draft(work, "New", FIRST),
        lambda work: rename_workflow(work, workflow_id, "New"),
    )
    assert isinstance(refused, ValidationError)
    assert await names(harness) == [("Standard", True), ("Other", True), ("New", True)]
