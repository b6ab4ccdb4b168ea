"""Start, list, retry and cancel background jobs, and read the file of an export.

The selection is fixed at the start, and a dry run shows beforehand what would happen to each claim.
Reading an export is audited.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_fields import redact
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.claim_jobs import decide_rows, load_action_target
from dunwell.operations.jobs.exported_lists import check_export, check_may_read
from dunwell.operations.jobs.job import (
    LIVE,
    MAX_LIVE,
    MAX_ROWS,
    Action,
    BackgroundJob,
    Export,
    JobKind,
    JobRow,
    JobState,
    JobTask,
    NotDone,
    Pause,
    PreviewDraft,
    Progress,
    RowOutcome,
    RowReason,
    compute_retention,
    count_progress,
)
from dunwell.operations.jobs.store import (
    count_reasons,
    insert_failed_rows,
    insert_job,
    insert_rows,
    list_files,
    list_rows,
    load_job_claims,
    load_jobs,
    save_cancellation,
    save_total,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import Fault, InvalidState, NotFound, ValidationError
from dunwell.platform.text.translation import LazyText


class TooManyJobs(InvalidState):
    """The merchant already has the maximum number of jobs, or of previews, that wait or run."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What a job would do now: the number of rows done, and the reasons for the others."""

    progress: Progress
    skipped: dict[RowReason, int]


async def preview_job(work: Work, action: Action, claim_ids: Sequence[int]) -> DryRun:
    """Decide all rows without changing anything. Raises ValidationError, and NotFound if there is
    no such workflow."""
    work.require(Right.CHANGE_CLAIMS)
    selected = _check_selection(work, action, claim_ids)
    target = await load_action_target(work, action)
    facts = await load_job_claims(work.tx, work.merchant_id, selected, work.now)
    decisions: list[NotDone | None] = list(decide_rows(action, selected, facts, target).values())
    skipped: dict[RowReason, int] = {}
    for each in decisions:
        if each is not None:
            skipped[each.reason] = skipped.get(each.reason, 0) + 1
    return DryRun(count_progress(len(selected), decisions), skipped)


async def start_job(work: Work, action: Action, claim_ids: Sequence[int]) -> BackgroundJob:
    """Start a job that applies the action to the claims. Raises ValidationError (no claims, too
    many claims, or an end in the past), NotFound and TooManyJobs."""
    work.require(Right.CHANGE_CLAIMS)
    selected = _check_selection(work, action, claim_ids)
    await load_action_target(work, action)
    job = _build_job(work, action, total=len(selected))
    await _insert(work, job)
    await insert_rows(work.tx, work.merchant_id, job.job_id, selected)
    await _audit_start(work, job)
    return job


async def start_export(work: Work, export: Export) -> BackgroundJob:
    """Start a job that exports a list. Raises ValidationError (the list has no such filter) and
    TooManyJobs."""
    work.require(Right.READ_CLAIMS)
    check_may_read(work, export.list)
    check_export(export)
    job = _build_job(work, export)
    await _insert(work, job)
    await _audit_start(work, job)
    return job


async def start_draft_preview(work: Work, task: PreviewDraft) -> BackgroundJob:
    """Start a job that previews a draft. Raises TooManyJobs, also if the merchant already has a
    preview that waits or runs."""
    work.require(Right.CONFIGURE)
    job = _build_job(work, task)
    await _insert(work, job)
    await _audit_start(work, job)
    return job


async def retry_failed(work: Work, job_id: UUID) -> BackgroundJob:
    """Start a new job for the failed rows, on behalf of the present user. Raises NotFound,
    InvalidState (it has not ended, or no row has failed) and TooManyJobs."""
    work.require(Right.CHANGE_CLAIMS)
    earlier = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if earlier is None:
        raise NotFound(f"There is no job {job_id}.")
    if isinstance(earlier.task, Export | PreviewDraft):
        raise InvalidState(
            LazyText("This job has no rows to retry. Start a new job."),
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
    await _audit_start(work, job)
    return (await load_jobs(work.tx, work.merchant_id, [job.job_id]))[job.job_id]


async def _insert(work: Work, job: BackgroundJob) -> None:
    """Insert the job. Raises TooManyJobs, also for the second of two jobs that are started at the
    same time when only one more is allowed."""
    if not await insert_job(work.tx, work.merchant_id, job, max_live=MAX_LIVE):
        message = LazyText(
            "%(count)s background jobs are already queued or running. Wait until one is "
            "done, or cancel one.",
            count=MAX_LIVE,
        )
        raise TooManyJobs(message, state=JobState.WAITING)


def _check_selection(work: Work, action: Action, claim_ids: Sequence[int]) -> list[int]:
    """Check the selection and the action. Return the claim ids without repetitions, in their
    order."""
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


async def _audit_start(work: Work, job: BackgroundJob) -> None:
    details: dict[str, Any] = {"kind": job.kind, "claims": job.progress.total}
    if isinstance(job.task, Export):
        details |= {"list": job.task.list, "wanted": redact(dict(job.task.wanted))}
    await save_audit(work, "job.start", f"job:{job.job_id}", after={"state": job.state}, **details)


async def cancel_job(work: Work, job_id: UUID) -> BackgroundJob:
    """Cancel the job. Cancelling it again changes nothing. The user who started an export or a
    preview can cancel it; otherwise the right to change claims is required. Raises NotFound, and
    InvalidState if the job has ended."""
    work.require(Right.READ_CLAIMS)
    job = await _get_job(work, job_id)
    if not may_cancel(work.actor, job):
        work.require(Right.CHANGE_CLAIMS)
    kept_until = work.real_now + compute_retention(job.task)
    is_cancelled = await save_cancellation(
        work.tx, work.merchant_id, job_id, now=work.real_now, kept_until=kept_until
    )
    if is_cancelled:
        before, after = {"state": job.state}, {"state": JobState.CANCELLED}
        await save_audit(work, "job.cancel", f"job:{job_id}", before=before, after=after)
        return await _get_job(work, job_id)
    job = await _get_job(work, job_id)
    if job.state is not JobState.CANCELLED:
        raise InvalidState(LazyText("The job has already ended."), state=job.state)
    return job


def may_cancel(actor: Actor, job: BackgroundJob) -> bool:
    is_own = (job.starter.kind, job.starter.actor_id) == (actor.kind, actor.actor_id)
    only_reads = isinstance(job.task, Export | PreviewDraft)
    return Right.CHANGE_CLAIMS in actor.rights or (is_own and only_reads)


async def _get_job(work: Work, job_id: UUID) -> BackgroundJob:
    """Return the job. Raises NotFound."""
    job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    return job


@dataclass(frozen=True, slots=True)
class JobView:
    """A job with its figures. `reasons` counts the rows that were not done, by outcome and reason.
    `file_bytes` is set for a finished export."""

    job: BackgroundJob
    reasons: Mapping[tuple[RowOutcome, RowReason], int]
    file_bytes: int | None


@dataclass(frozen=True, slots=True)
class JobFilter:
    kind: JobKind | None = None
    state: JobState | None = None
    # True for jobs that have not ended.
    is_live: bool | None = None
    # The user who started the job.
    actor_id: str | None = None


JOBS: ListedTable[JobFilter, UUID, BackgroundJob] = ListedTable(
    name="jobs",
    table="jobs",
    key="job_id",
    key_type="uuid",
    index="jobs_list",
    filter=JobFilter,
    filters={
        "kind": "l.kind = {}",
        "state": "l.state = {}",
        "is_live": lambda is_live, _: [("(l.state = ANY({}::text[])) = {}", (list(LIVE), is_live))],
        "actor_id": "l.actor_id = {}",
    },
    load=load_jobs,
)
EVERY_JOB = JobFilter()


async def get_job(work: Work, job_id: UUID) -> JobView:
    """Return the job with its figures. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        reasons = await count_reasons(work.tx, work.merchant_id, job_id)
        files = await list_files(work.tx, work.merchant_id, job_id)
    is_finished_export = job.kind is JobKind.EXPORT and job.state is JobState.DONE
    file_bytes = sum(each.size_bytes or 0 for each in files) if is_finished_export else None
    return JobView(job, reasons, file_bytes)


async def list_job_rows(
    work: Work, job_id: UUID, *, outcome: RowOutcome | None = None, after: int = 0, limit: int
) -> Sequence[JobRow]:
    """List the rows after the position `after`, in the order of the selection. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        if not await load_jobs(work.tx, work.merchant_id, [job_id]):
            raise NotFound(f"There is no job {job_id}.")
        return await list_rows(work.tx, work.merchant_id, job_id, outcome, after=after, limit=limit)


async def list_jobs(
    work: Work, *, limit: int, cursor: str | None = None, wanted: JobFilter = EVERY_JOB
) -> ListPage[BackgroundJob]:
    """List the merchant's jobs, newest first. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(work.scope(), JOBS, wanted, limit=limit, cursor=cursor)


async def open_export(work: Work, storage: SealedFiles, job_id: UUID) -> AsyncIterator[bytes]:
    """Return the file's parts one by one. Raises NotFound if there is none or it was deleted."""
    work.require(Right.READ_CLAIMS)
    job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if job is None or job.kind is not JobKind.EXPORT or job.state is not JobState.DONE:
        raise NotFound(f"There is no file of a job {job_id}.")
    assert isinstance(job.task, Export)
    check_may_read(work, job.task.list)
    parts = await list_files(work.tx, work.merchant_id, job_id)
    await save_audit(
        work, "export.read", f"job:{job_id}", list=job.task.list, rows=job.progress.done
    )
    return _load_parts(storage, [each.file_key for each in parts])


async def _load_parts(storage: SealedFiles, keys: Sequence[str]) -> AsyncIterator[bytes]:
    for key in keys:
        yield await storage.load(key)
