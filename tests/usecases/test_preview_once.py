"""A preview of a draft is computed once at a time for each merchant, enforced by the database."""

import asyncio
from uuid import UUID

import pytest

from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.store import load_draft
from dunwell.operations.jobs.job import BackgroundJob
from dunwell.operations.jobs.previews import draft_previews as run_previews
from dunwell.operations.jobs.previews.draft_previews import PreviewRunning, start_preview
from dunwell.operations.jobs.start_job import cancel_job
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.house import House, a_house
from tests.usecases.test_jobs import STARTER

Draft = tuple[UUID, UUID]


async def a_draft(house: House, name: str) -> Draft:
    async with house.work(STARTER) as work:
        saved = await save_draft(work, name, a_definition())
        draft = await load_draft(work.tx, work.merchant_id, saved.workflow_id)
    assert draft is not None
    return saved.workflow_id, draft.version_id


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock)


async def start(house: House, draft: Draft) -> BackgroundJob:
    async with house.work(STARTER) as work:
        return await start_preview(work, *draft)


async def count_live(house: House) -> int:
    [[count]] = await house.rows(
        "SELECT count(*) FROM jobs WHERE merchant_id = $1 AND due_at IS NOT NULL"
    )
    assert isinstance(count, int)
    return count


async def test_a_second_preview_of_the_same_draft_is_the_first_one(house: House) -> None:
    draft = await a_draft(house, "One")
    first = await start(house, draft)

    assert (await start(house, draft)).job_id == first.job_id
    assert await count_live(house) == 1


async def test_one_draft_is_previewed_at_a_time(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    one, two = await a_draft(house, "One"), await a_draft(house, "Two")
    hansen = await a_house(resources, clock, key="hansen")
    first = await start(house, one)

    with pytest.raises(PreviewRunning, match="Wait until it is done"):
        await start(house, two)
    await start(hansen, await a_draft(hansen, "One"))
    async with house.work(STARTER) as work:
        await cancel_job(work, first.job_id)
    await start(house, two)
    while await run_previews.run_previews(resources):
        pass
    await start(house, one)


async def test_concurrent_starts_create_one_preview(house: House) -> None:
    drafts = [await a_draft(house, name) for name in ("One", "Two", "One", "Two")]

    begun = await asyncio.gather(*(start(house, each) for each in drafts), return_exceptions=True)

    jobs = {each.job_id for each in begun if isinstance(each, BackgroundJob)}
    refused = [each for each in begun if isinstance(each, InvalidState)]
    assert (len(jobs), len(refused)) == (1, 2)
    assert await count_live(house) == 1


async def test_a_cancelled_preview_stops_at_the_next_heartbeat(
    house: House, resources: Resources, monkeypatch: pytest.MonkeyPatch
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

    monkeypatch.setattr(run_previews, "_compute", look_for_ever)
    job = await start(house, await a_draft(house, "One"))
    running = asyncio.create_task(run_previews.run_previews(resources))
    await has_begun.wait()
    async with house.work(STARTER) as work:
        await cancel_job(work, job.job_id)

    async with asyncio.timeout(5):
        assert await running == 1
    assert was_stopped.is_set()
    [row] = await house.rows("SELECT state FROM jobs WHERE merchant_id = $1")
    assert row["state"] == "CANCELLED"
