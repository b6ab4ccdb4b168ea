"""Runs jobs in the worker: some seconds of one, then of the one that has waited longest.

1. take      A job is leased for seconds. Every batch keeps the lease.
2. batch     One transaction: the job is locked and still this worker's; the next rows are done, and
             their outcomes, the job's counts and the lease are written with them.
3. let go    When its seconds are over it is due again, behind the others.

A worker that dies leaves a lease that runs out. What it had committed is not done again, for the
outcome is committed with it; of what it had not committed nothing is there. Cancelling waits for
the batch that runs, and finds whole claims only.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.store import load_merchant
from dunwell.operations.jobs.act import act_on_claims
from dunwell.operations.jobs.job import (
    KINDS_OF_ROWS,
    Action,
    Export,
    Job,
    JobState,
    NotDone,
    Outcomes,
    PreviewDraft,
    Reason,
    RowOutcome,
    count_progress,
    find_keeping,
)
from dunwell.operations.jobs.starters import ask_rights_again
from dunwell.operations.jobs.store import (
    LeasedJob,
    lease_job,
    lock_leased,
    release_job,
    save_end,
    save_progress,
)
from dunwell.operations.jobs.store_rows import load_waiting, save_outcomes
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Unavailable
from dunwell.platform.heartbeat import LEASE, begin_lease
from dunwell.platform.resources import Resources

BATCH = 100
JOB_SECONDS = 0.5
_SLICE_SECONDS = 2.0
_PAUSE = timedelta(seconds=1)
# Leased so often without progress, it goes row by row, and then leaves the row out.
_CAREFUL_FROM, _GIVES_UP_ROW_FROM = 3, 5
_NO_MESSAGE = NotDone(RowOutcome.FAILED, Reason.ERROR)

log = structlog.get_logger(__name__)


async def run_jobs(resources: Resources, *, batch: int = BATCH) -> int:
    """Some seconds of one job; how many rows were done with, 1 for a job that ended, 0: none was
    due."""
    leased = await _take(resources)
    if leased is None:
        return 0
    runner = _Runner(resources, leased, batch)
    try:
        return await runner.run_slice()
    except Exception:
        # Whoever takes it next goes on behind what was committed.
        with suppress(Unavailable):
            await runner.let_go(_PAUSE)
        raise


async def _take(resources: Resources) -> LeasedJob | None:
    async with resources.database.transaction() as tx:
        return await lease_job(tx, resources.clock.now(), begin_lease(resources), KINDS_OF_ROWS)


class _Runner:
    def __init__(self, resources: Resources, leased: LeasedJob, batch: int) -> None:
        self._resources = resources
        self._leased = leased
        self._batch = 1 if leased.tries >= _CAREFUL_FROM else batch
        self._leaves_out = leased.tries >= _GIVES_UP_ROW_FROM

    async def run_slice(self) -> int:
        ends_at = time.monotonic() + _SLICE_SECONDS
        done = 0
        while time.monotonic() < ends_at:
            rows = await self._run_batch()
            if rows is None:
                return max(done, 1)
            done += rows
        await self.let_go(timedelta())
        return done

    async def let_go(self, pause: timedelta) -> None:
        async with self._resources.database.transaction() as tx:
            await release_job(tx, self._leased, self._resources.clock.now() + pause)

    async def _run_batch(self) -> int | None:
        """How many rows it did; None: the job is over, or no more this worker's."""
        async with self._resources.database.transaction() as tx:
            job = await lock_leased(tx, self._leased)
            if job is None:
                return None
            assert not isinstance(job.deed, Export | PreviewDraft)
            work = await self._open(tx, job)
            claim_ids = await load_waiting(tx, work.merchant_id, job.job_id, self._batch)
            if not claim_ids:
                kept_until = work.real_now + find_keeping(job.deed)
                await save_end(
                    tx, self._leased, JobState.DONE, now=work.real_now, kept_until=kept_until
                )
                return None
            outcomes = await self._act(work, job.deed, claim_ids)
            await save_outcomes(tx, work.merchant_id, job.job_id, outcomes)
            progress = count_progress(0, list(outcomes.values()))
            await save_progress(tx, self._leased, progress, self._resources.clock.now() + LEASE)
        return len(claim_ids)

    async def _act(self, work: Work, action: Action, claim_ids: Sequence[int]) -> Outcomes:
        if not self._leaves_out:
            return await act_on_claims(work, action, claim_ids)
        # The row that it could not pass.
        self._leaves_out = False
        log.error("job row given up", claim_id=claim_ids[0])
        return {claim_ids[0]: _NO_MESSAGE}

    async def _open(self, tx: Connection, job: Job) -> Work:
        """In the starter's name, with what is left of the starter's rights, at the merchant's
        time."""
        merchant = await load_merchant(tx, self._leased.merchant_id)
        assert merchant is not None
        starter = await ask_rights_again(tx, self._leased.merchant_id, job.starter)
        return Work.open(self._resources, tx, merchant, starter)
