"""Run the jobs that change each claim of a selection, and decide the rows of a dry run."""

import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.contact.escalation.end_claim import archive_claim
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.core.workflows.store import load_current, lock_workflows_for_reference
from dunwell.operations.jobs.job import (
    ROW_BY_ROW_KINDS,
    Action,
    ArchiveAction,
    Assign,
    Export,
    JobClaim,
    JobTarget,
    NotDone,
    Outcomes,
    Pause,
    PreviewDraft,
    RowOutcome,
    RowReason,
    count_progress,
    decide_row,
)
from dunwell.operations.jobs.runner import RunnableKind, RunningJob, run_due_job
from dunwell.operations.jobs.store import (
    list_waiting_rows,
    load_job_claims,
    lock_claims,
    save_outcomes,
    save_progress,
)
from dunwell.platform.database.database import savepoint
from dunwell.platform.errors import InsufficientScope, NotFound, Refusal, Unavailable
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources


async def act_on_claims(work: Work, action: Action, claim_ids: Sequence[int]) -> Outcomes:
    """Lock the claims and apply the action to them. Return the outcome of each."""
    target = await load_action_target(work, action)
    await lock_claims(work.tx, work.merchant_id, claim_ids)
    facts = await load_job_claims(work.tx, work.merchant_id, claim_ids, work.now)
    outcomes = decide_rows(action, claim_ids, facts, target)
    to_do = [claim_id for claim_id in claim_ids if outcomes[claim_id] is None]
    return {**outcomes, **(await _act_on_all(work, action, to_do))}


async def load_action_target(work: Work, action: Action) -> JobTarget | None:
    """Return the target of an assignment, or None for other actions. Raises NotFound."""
    if not isinstance(action, Assign):
        return None
    # Lock workflows before claims.
    locked = await lock_workflows_for_reference(work.tx, work.merchant_id, [action.workflow_id])
    version = await load_current(work.tx, work.merchant_id, action.workflow_id)
    if action.workflow_id not in locked or version is None:
        raise NotFound(f"There is no published workflow {action.workflow_id}.")
    merchant_currency = work.merchant.configuration.currency
    return JobTarget(action.workflow_id, version.definition.settings.currency or merchant_currency)


def decide_rows(
    action: Action, claim_ids: Sequence[int], facts: Mapping[int, JobClaim],
    target: JobTarget | None,
) -> dict[int, NotDone | None]:  # fmt: skip
    return {each: decide_row(action, facts.get(each), target) for each in claim_ids}


async def _act_on_all(work: Work, action: Action, claim_ids: Sequence[int]) -> Outcomes:
    if isinstance(action, Assign):
        return await _assign(work, action, claim_ids) if claim_ids else {}
    try:
        async with savepoint(work.tx):
            for claim_id in claim_ids:
                await _act_on_one(work, action, claim_id)
    except Unavailable:
        raise
    except Refusal:
        return {each: await _try_one(work, action, each) for each in claim_ids}
    return dict.fromkeys(claim_ids)


async def _try_one(work: Work, action: Action, claim_id: int) -> NotDone | None:
    try:
        async with savepoint(work.tx):
            await _act_on_one(work, action, claim_id)
    except Unavailable:
        raise
    except InsufficientScope:
        return NotDone(RowOutcome.FAILED, RowReason.RIGHT_LOST)
    except Refusal as refusal:
        return NotDone(RowOutcome.FAILED, RowReason.REFUSED, refusal.message)
    return None


async def _act_on_one(work: Work, action: Action, claim_id: int) -> None:
    if isinstance(action, Pause):
        await pause_claim(work, claim_id, until=action.until, reason=action.reason)
    elif isinstance(action, ArchiveAction):
        await archive_claim(work, claim_id)
    else:
        await resume_claim(work, claim_id)


async def _assign(work: Work, action: Assign, claim_ids: Sequence[int]) -> Outcomes:
    """Assign all claims with one call of the use case, which returns a reason for each claim that
    is not assigned."""
    try:
        async with savepoint(work.tx):
            done = await assign_to_workflow(work, action.workflow_id, claim_ids)
    except InsufficientScope:
        return dict.fromkeys(claim_ids, NotDone(RowOutcome.FAILED, RowReason.RIGHT_LOST))
    failures = {
        each.claim_id: NotDone(RowOutcome.FAILED, RowReason.REFUSED, each.message)
        for each in done.failures
    }
    return {each: failures.get(each) for each in claim_ids}


BATCH = 100
JOB_SECONDS = 0.5
_MAX_SLICE_SECONDS = 2.0
_PAUSE_AFTER_ERROR = timedelta(seconds=1)
# From the third lease without progress on, a job runs row by row. From the fifth on, it skips the
# row at which it stopped.
_ROW_BY_ROW_AFTER, _SKIP_ROW_AFTER = 3, 5
_INTERNAL_ERROR = NotDone(RowOutcome.FAILED, RowReason.ERROR)

log = structlog.get_logger(__name__)


async def run_jobs(resources: Resources, *, batch: int = BATCH) -> int:
    """Run one job for at most two seconds. Return the number of rows done (at least 1), or 0 if no
    job was due."""
    run = partial(_run_slice, batch=batch)
    kind = RunnableKind(ROW_BY_ROW_KINDS, run, pause_after_error=_PAUSE_AFTER_ERROR)
    return await run_due_job(resources, kind)


async def _run_slice(running: RunningJob, batch: int) -> None:
    attempts = running.leased.attempts
    ends_at = time.monotonic() + _MAX_SLICE_SECONDS
    limit = 1 if attempts >= _ROW_BY_ROW_AFTER else batch
    skips_first = attempts >= _SKIP_ROW_AFTER
    while time.monotonic() < ends_at:
        if await _run_batch(running, limit, skips_first=skips_first) == 0:
            return
        skips_first = False
    await running.release()


async def _run_batch(running: RunningJob, limit: int, *, skips_first: bool) -> int:
    """Run a batch and return its number of rows; 0 means that the job has ended. With
    `skips_first`, the first row, at which earlier workers failed, is recorded as FAILED."""
    async with running.step() as (tx, job):
        assert not isinstance(job.task, Export | PreviewDraft)
        work = await running.open_work(tx, job)
        claim_ids = await list_waiting_rows(tx, work.merchant_id, job.job_id, limit)
        if not claim_ids:
            await running.finish(tx, job)
            return 0
        if skips_first:
            log.error("job row skipped", claim_id=claim_ids[0])
            outcomes: Outcomes = {claim_ids[0]: _INTERNAL_ERROR}
        else:
            outcomes = await act_on_claims(work, job.task, claim_ids)
        await save_outcomes(tx, work.merchant_id, job.job_id, outcomes)
        progress = count_progress(0, list(outcomes.values()))
        await save_progress(tx, running.leased, progress, running.resources.clock.now() + LEASE)
    running.done += len(claim_ids)
    return len(claim_ids)
