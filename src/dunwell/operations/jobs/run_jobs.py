"""Runs the jobs that do something to each claim of a selection: two seconds of one job at a time.

Every batch is one step, and its outcomes are committed with it. So nothing is done twice after a
crash, and a cancelled job leaves whole claims only.
"""

import time
from datetime import timedelta
from functools import partial

import structlog

from dunwell.operations.jobs.act import act_on_claims
from dunwell.operations.jobs.job import (
    KINDS_OF_ROWS,
    Export,
    NotDone,
    Outcomes,
    PreviewDraft,
    RowOutcome,
    RowReason,
    count_progress,
)
from dunwell.operations.jobs.runner import RunnableKind, RunningJob, run_due_job
from dunwell.operations.jobs.store import load_waiting, save_outcomes, save_progress
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources

BATCH = 100
JOB_SECONDS = 0.5
_SLICE_SECONDS = 2.0
_PAUSE = timedelta(seconds=1)
# Leased so often without progress, it goes row by row, and then leaves the row out.
_CAREFUL_FROM, _GIVES_UP_ROW_FROM = 3, 5
_NO_MESSAGE = NotDone(RowOutcome.FAILED, RowReason.ERROR)

log = structlog.get_logger(__name__)


async def run_jobs(resources: Resources, *, batch: int = BATCH) -> int:
    """A slice of one job; the number of rows that were done, at least 1, or 0 if none was due."""
    run = partial(_run_slice, batch=batch)
    kind = RunnableKind(KINDS_OF_ROWS, run, pause_after_error=_PAUSE)
    return await run_due_job(resources, kind)


async def _run_slice(running: RunningJob, batch: int) -> None:
    tries = running.leased.tries
    ends_at = time.monotonic() + _SLICE_SECONDS
    limit = 1 if tries >= _CAREFUL_FROM else batch
    leaves_out = tries >= _GIVES_UP_ROW_FROM
    while time.monotonic() < ends_at:
        if await _run_batch(running, limit, leaves_out=leaves_out) == 0:
            return
        leaves_out = False
    await running.release()


async def _run_batch(running: RunningJob, limit: int, *, leaves_out: bool) -> int:
    """The number of rows; after 0 the job has ended. With `leaves_out`, the row at which earlier
    workers failed is recorded as FAILED instead."""
    async with running.step() as (tx, job):
        assert not isinstance(job.deed, Export | PreviewDraft)
        work = await running.open_work(tx, job)
        claim_ids = await load_waiting(tx, work.merchant_id, job.job_id, limit)
        if not claim_ids:
            await running.finish(tx, job)
            return 0
        if leaves_out:
            log.error("job row given up", claim_id=claim_ids[0])
            outcomes: Outcomes = {claim_ids[0]: _NO_MESSAGE}
        else:
            outcomes = await act_on_claims(work, job.deed, claim_ids)
        await save_outcomes(tx, work.merchant_id, job.job_id, outcomes)
        progress = count_progress(0, list(outcomes.values()))
        await save_progress(tx, running.leased, progress, running.resources.clock.now() + LEASE)
    running.done += len(claim_ids)
    return len(claim_ids)
