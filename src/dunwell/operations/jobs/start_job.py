"""Starts, retries and cancels background jobs: what is selected is fixed at the start, and a dry
run says beforehand what would happen to each claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_fields import redact
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.jobs.claim_jobs import decide_rows, load_action_target
from dunwell.operations.jobs.exported_lists import check_export, check_may_read
from dunwell.operations.jobs.job import (
    MAX_LIVE,
    MAX_ROWS,
    Action,
    BackgroundJob,
    Export,
    JobState,
    JobTask,
    NotDone,
    Pause,
    PreviewDraft,
    Progress,
    RowReason,
    compute_retention,
    count_progress,
)
from dunwell.operations.jobs.store import (
    insert_failed_rows,
    insert_job,
    insert_rows,
    list_job_claims,
    load_jobs,
    save_cancellation,
    save_total,
)
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.lazy_text import LazyText


class TooManyJobs(InvalidState):
    """The merchant has as many jobs that wait or run as it may."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a job would do now: `progress.done` rows, and why not the others, by reason."""

    progress: Progress
    skipped: dict[RowReason, int]


async def preview_job(work: Work, action: Action, claim_ids: Sequence[int]) -> DryRun:
    """Without any effect, in one look at all of them. Raises ValidationError, NotFound (no such
    workflow)."""
    work.require(Right.CHANGE_CLAIMS)
    selected = _check(work, action, claim_ids)
    target = await load_action_target(work, action)
    facts = await list_job_claims(work.tx, work.merchant_id, selected, work.now)
    found: list[NotDone | None] = list(decide_rows(action, selected, facts, target).values())
    skipped: dict[RowReason, int] = {}
    for each in found:
        if each is not None:
            skipped[each.reason] = skipped.get(each.reason, 0) + 1
    return DryRun(count_progress(len(selected), found), skipped)


async def start_job(work: Work, action: Action, claim_ids: Sequence[int]) -> BackgroundJob:
    """Raises ValidationError (none or too many claims, an end that has come), NotFound and
    TooManyJobs."""
    work.require(Right.CHANGE_CLAIMS)
    selected = _check(work, action, claim_ids)
    await load_action_target(work, action)
    job = _build_job(work, action, total=len(selected))
    await _insert(work, job)
    await insert_rows(work.tx, work.merchant_id, job.job_id, selected)
    await _audit(work, job)
    return job


async def start_export(work: Work, export: Export) -> BackgroundJob:
    """Raises ValidationError (no such filter of the list), TooManyJobs."""
    work.require(Right.READ_CLAIMS)
    check_may_read(work, export.list)
    check_export(export)
    job = _build_job(work, export)
    await _insert(work, job)
    await _audit(work, job)
    return job


async def create_job(work: Work, task: PreviewDraft) -> BackgroundJob:
    """One without rows. Raises TooManyJobs."""
    work.require(Right.CONFIGURE)
    job = _build_job(work, task)
    await _insert(work, job)
    await _audit(work, job)
    return job


async def retry_failed(work: Work, job_id: UUID) -> BackgroundJob:
    """A new job of the rows that failed, in the name of whoever asks. Raises NotFound;
    InvalidState: it has not ended, or no row has failed;
    TooManyJobs."""
    work.require(Right.CHANGE_CLAIMS)
    earlier = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if earlier is None:
        raise NotFound(f"There is no job {job_id}.")
    if isinstance(earlier.task, Export | PreviewDraft):
        raise InvalidState(
            LazyText("An export has no rows to retry. Start a new export."),
            state=earlier.state,
        )
    if earlier.is_live:
        raise InvalidState(
            LazyText("The job has not ended yet. Wait for it, or cancel it."),
            state=earlier.state,
        )
    job = _build_job(work, earlier.task, retry_of=job_id)
    await _insert(work, job)
    failed = await insert_failed_rows(work.tx, work.merchant_id, job.job_id, job_id)
    if not failed:
        raise InvalidState(LazyText("Nothing to retry."), state=earlier.state)
    await save_total(work.tx, work.merchant_id, job.job_id, len(failed))
    await _audit(work, job)
    return (await load_jobs(work.tx, work.merchant_id, [job.job_id]))[job.job_id]


async def _insert(work: Work, job: BackgroundJob) -> None:
    """Raises TooManyJobs, also to the second of two that begin the last at once."""
    if not await insert_job(work.tx, work.merchant_id, job, most=MAX_LIVE):
        message = LazyText(
            "%(count)s background jobs are already queued or running. Wait until one is "
            "done, or cancel one.",
            count=MAX_LIVE,
        )
        raise TooManyJobs(message, state=JobState.WAITING)


def _check(work: Work, action: Action, claim_ids: Sequence[int]) -> list[int]:
    """Each once, in their order."""
    selected = list(dict.fromkeys(claim_ids))
    faults = []
    if not selected:
        faults.append(Fault("/claimIds", "Choose at least one claim.", "TOO_FEW"))
    if len(selected) > MAX_ROWS:
        message = f"Choose at most {MAX_ROWS} claims at a time."
        faults.append(Fault("/claimIds", message, "TOO_MANY"))
    if isinstance(action, Pause) and action.until is not None and action.until <= work.now:
        faults.append(Fault("/until", "The hold must end after it begins.", "WRONG_ORDER"))
    if faults:
        raise ValidationError(faults)
    return selected


def _build_job(
    work: Work, task: JobTask, *, total: int = 0, retry_of: UUID | None = None
) -> BackgroundJob:
    return BackgroundJob(
        job_id=work.ids.new(work.real_now),
        task=task,
        state=JobState.WAITING,
        starter=work.actor,
        progress=Progress(total),
        created_at=work.real_now,
        started_at=None,
        ended_at=None,
        failure=None,
        kept_until=None,
        retry_of=retry_of,
    )


async def _audit(work: Work, job: BackgroundJob) -> None:
    details: dict[str, Any] = {"kind": job.kind, "claims": job.progress.total}
    if isinstance(job.task, Export):
        details |= {"list": job.task.list, "wanted": redact(dict(job.task.wanted))}
    await save_audit(work, "job.start", f"job:{job.job_id}", after={"state": job.state}, **details)


async def cancel_job(work: Work, job_id: UUID) -> BackgroundJob:
    """An export is cancelled by whoever began it, and like other jobs by whoever may change claims.
    Cancelling what is cancelled changes nothing. Raises NotFound; InvalidState: it has ended."""
    work.require(Right.READ_CLAIMS)
    job = await _load(work, job_id)
    if not may_cancel(work.actor, job):
        work.require(Right.CHANGE_CLAIMS)
    kept_until = work.real_now + compute_retention(job.task)
    is_cancelled = await save_cancellation(
        work.tx, work.merchant_id, job_id, now=work.real_now, kept_until=kept_until
    )
    if is_cancelled:
        before, after = {"state": job.state}, {"state": JobState.CANCELLED}
        await save_audit(work, "job.cancel", f"job:{job_id}", before=before, after=after)
        return await _load(work, job_id)
    job = await _load(work, job_id)
    if job.state is not JobState.CANCELLED:
        raise InvalidState(LazyText("The job has already ended."), state=job.state)
    return job


def may_cancel(actor: Actor, job: BackgroundJob) -> bool:
    is_own = (job.starter.kind, job.starter.actor_id) == (actor.kind, actor.actor_id)
    only_reads = isinstance(job.task, Export | PreviewDraft)
    return Right.CHANGE_CLAIMS in actor.rights or (is_own and only_reads)


async def _load(work: Work, job_id: UUID) -> BackgroundJob:
    """Raises NotFound."""
    job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    return job
