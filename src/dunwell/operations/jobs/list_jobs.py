"""List background jobs with their results, and read the file of an export, which is audited."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.exported_lists import check_may_read
from dunwell.operations.jobs.job import (
    LIVE,
    BackgroundJob,
    Export,
    JobKind,
    JobRow,
    JobState,
    RowOutcome,
    RowReason,
)
from dunwell.operations.jobs.store import count_reasons, list_files, list_rows, load_jobs
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class JobView:
    """`reasons` counts the rows that were not done, by outcome and reason. `file_bytes` is set for
    a finished export."""

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
    """Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        reasons = await count_reasons(work.tx, work.merchant_id, job_id)
        files = await list_files(work.tx, work.merchant_id, job_id)
    is_whole = job.kind is JobKind.EXPORT and job.state is JobState.DONE
    file_bytes = sum(each.size_bytes or 0 for each in files) if is_whole else None
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
    """Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(work.scope(), JOBS, wanted, limit=limit, cursor=cursor)


async def open_export(work: Work, storage: SealedFiles, job_id: UUID) -> AsyncIterator[bytes]:
    """Yield the file part by part. Raises NotFound if there is none or it was deleted."""
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
