"""The limit on waiting or running jobs of a merchant, enforced by the database."""

import asyncio

import pytest

from dunwell.operations.jobs.job import (
    MAX_LIVE,
    BackgroundJob,
    Export,
    ExportedList,
    Pause,
    Resume,
)
from dunwell.operations.jobs.jobs import (
    TooManyJobs,
    cancel_job,
    retry_failed,
    start_export,
    start_job,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.usecases.test_jobs import STARTER, run, start


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def test_a_merchant_has_at_most_ten_waiting_or_running_jobs(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    hansen = await a_harness(resources, clock, key="hansen")
    ended = await start(harness, Pause(), [claim_id])
    await run(harness)
    jobs = [await start(harness, Resume(), [claim_id]) for _ in range(MAX_LIVE)]

    async with harness.work(STARTER) as work:
        with pytest.raises(TooManyJobs, match="cancel one"):
            await start_job(work, Pause(), [claim_id])
        with pytest.raises(TooManyJobs):
            await start_export(work, Export(ExportedList.CLAIMS))
        with pytest.raises(TooManyJobs):
            await retry_failed(work, ended.job_id)
    await start(hansen, Pause(), [claim_id])
    async with harness.work(STARTER) as work:
        await cancel_job(work, jobs[0].job_id)
    await start(harness, Pause(), [claim_id])


async def test_concurrent_starts_do_not_exceed_the_limit_of_jobs(harness: Harness) -> None:
    [claim_id] = await harness.create()
    for _ in range(MAX_LIVE - 1):
        await start(harness, Resume(), [claim_id])
    outcomes = await asyncio.gather(
        *(start(harness, Resume(), [claim_id]) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(each, BackgroundJob) for each in outcomes) == 1
    assert sum(isinstance(each, TooManyJobs) for each in outcomes) == 3
    [[live]] = await harness.rows(
        "SELECT count(*) FROM jobs WHERE merchant_id = $1 AND due_at IS NOT NULL"
    )
    assert live == MAX_LIVE


async def test_concurrent_starts_each_count_towards_the_limit(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await asyncio.gather(*(start(harness, Resume(), [claim_id]) for _ in range(4)))
    places = await harness.rows("SELECT live_slot FROM jobs WHERE merchant_id = $1 ORDER BY 1")
    assert [row[0] for row in places] == [1, 2, 3, 4]
