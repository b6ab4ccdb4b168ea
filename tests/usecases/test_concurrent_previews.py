"""A preview of a draft is computed once at a time for each merchant, enforced by the database."""

import asyncio
from uuid import UUID

import pytest

from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.store import load_draft
from dunwell.operations.jobs.job import BackgroundJob
from dunwell.operations.jobs.jobs import cancel_job
from dunwell.operations.jobs.previews import draft_previews as run_previews
from dunwell.operations.jobs.previews.draft_previews import PreviewRunning, start_preview
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.usecases.test_jobs import STARTER

Draft = tuple[UUID, UUID]


async def a_draft(harness: Harness, name: str) -> Draft:
    async with harness.work(STARTER) as work:
        saved = await save_draft(work, name, a_definition())
        draft = await load_draft(work.tx, work.merchant_id, saved.workflow_id)
    assert draft is not None
    return saved.workflow_id, draft.version_id


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def start(harness: Harness, draft: Draft) -> BackgroundJob:
    async with harness.work(STARTER) as work:
        return await start_preview(work, *draft)


async def count_live(harness: Harness) -> int:
    [[count]] = await harness.rows(
        "SELECT count(*) FROM jobs WHERE merchant_id = $1 AND due_at IS NOT NULL"
    )
    assert isinstance(count, int)
    return count


async def test_a_second_preview_of_the_same_draft_is_the_first_one(harness: Harness) -> None:
    draft = await a_draft(harness, "One")
    first = await start(harness, draft)

    assert (await start(harness, draft)).job_id == first.job_id
    assert await count_live(harness) == 1


async def test_one_draft_is_previewed_at_a_time(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    one, two = await a_draft(harness, "One"), await a_draft(harness, "Two")
    hansen = await a_harness(resources, clock, key="hansen")
    first = await start(harness, one)

    with pytest.raises(PreviewRunning, match="Wait until it is done"):
        await start(harness, two)
    await start(hansen, await a_draft(hansen, "One"))
    async with harness.work(STARTER) as work:
        await cancel_job(work, first.job_id)
    await start(harness, two)
    while await run_previews.run_previews(resources):
        pass
    await start(harness, one)


async def test_concurrent_starts_create_one_preview(harness: Harness) -> None:
    drafts = [await a_draft(harness, name) for name in ("One", "Two", "One", "Two")]

    outcomes = await asyncio.gather(
        *(start(harness, each) for each in drafts), return_exceptions=True
    )

    jobs = {each.job_id for each in outcomes if isinstance(each, BackgroundJob)}
    refused = [each for each in outcomes if isinstance(each, InvalidState)]
    assert (len(jobs), len(refused)) == (1, 2)
    assert await count_live(harness) == 1


async def test_a_cancelled_preview_stops_at_the_next_heartbeat(
    harness: Harness, resources: Resources, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merchant may start the next one at once, so the first must not continue."""
    monkeypatch.setattr(run_previews, "_HEARTBEAT_SECONDS", 0.02)
    was_stopped, has_begun = asyncio.Event(), asyncio.Event()

    async def look_for_ever(*_: object) -> None:
        has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            was_stopped.set()

    monkeypatch.setattr(run_previews, "_compute_effects", look_for_ever)
    job = await start(harness, await a_draft(harness, "One"))
    running = asyncio.create_task(run_previews.run_previews(resources))
    await has_begun.wait()
    async with harness.work(STARTER) as work:
        await cancel_job(work, job.job_id)

    async with asyncio.timeout(5):
        assert await running == 1
    assert was_stopped.is_set()
    [row] = await harness.rows("SELECT state FROM jobs WHERE merchant_id = $1")
    assert row["state"] == "CANCELLED"
