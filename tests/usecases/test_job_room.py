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
from dunwell.operations.jobs.start_job import (
    TooManyJobs,
    cancel_job,
    retry_failed,
    start_export,
    start_job,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.house import House, a_house
from tests.usecases.test_jobs import STARTER, run, start


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock, a_definition())


async def test_a_merchant_has_at_most_ten_waiting_or_running_jobs(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    [claim_id] = await house.create()
    hansen = await a_house(resources, clock, key="hansen")
    ended = await start(house, Pause(), [claim_id])
    await run(house)
    jobs = [await start(house, Resume(), [claim_id]) for _ in range(MAX_LIVE)]

    async with house.work(STARTER) as work:
        with pytest.raises(TooManyJobs, match="cancel one"):
            await start_job(work, Pause(), [claim_id])
        with pytest.raises(TooManyJobs):
            await start_export(work, Export(ExportedList.CLAIMS))
        with pytest.raises(TooManyJobs):
            await retry_failed(work, ended.job_id)
    await start(hansen, Pause(), [claim_id])
    async with house.work(STARTER) as work:
        await cancel_job(work, jobs[0].job_id)
    await start(house, Pause(), [claim_id])


async def test_concurrent_starts_do_not_exceed_the_limit_of_jobs(house: House) -> None:
    [claim_id] = await house.create()
    for _ in range(MAX_LIVE - 1):
        await start(house, Resume(), [claim_id])
    outcomes = await asyncio.gather(
        *(start(house, Resume(), [claim_id]) for _ in range(4)), return_exceptions=True
    )
    assert sum(isinstance(each, BackgroundJob) for each in outcomes) == 1
    assert sum(isinstance(each, TooManyJobs) for each in outcomes) == 3
    [[live]] = await house.rows(
        "SELECT count(*) FROM jobs WHERE merchant_id = $1 AND due_at IS NOT NULL"
    )
    assert live == MAX_LIVE


async def test_concurrent_starts_each_count_towards_the_limit(house: House) -> None:
    [claim_id] = await house.create()
    await asyncio.gather(*(start(house, Resume(), [claim_id]) for _ in range(4)))
    places = await house.rows("SELECT live_slot FROM jobs WHERE merchant_id = $1 ORDER BY 1")
    assert [row[0] for row in places] == [1, 2, 3, 4]
