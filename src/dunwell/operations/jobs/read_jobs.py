"""Reads jobs: a single one with what became of its rows, and all of a merchant's, newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.jobs.job import LIVE, Job, JobKind, JobRow, JobState, Reason, RowOutcome
from dunwell.operations.jobs.store import load_jobs
from dunwell.operations.jobs.store_files import load_files
from dunwell.operations.jobs.store_rows import count_reasons, list_rows
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import ListedTable, Page
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound


@dataclass(frozen=True, slots=True)
class JobView:
    """`reasons`: how many rows were not done, by outcome and reason. `file_bytes`: of an export
    that is done."""

    job: Job
    reasons: Mapping[tuple[RowOutcome, Reason], int]
    file_bytes: int | None


@dataclass(frozen=True, slots=True)
class JobFilter:
    kind: JobKind | None = None
    state: JobState | None = None
    # Whether they have not ended yet.
    is_live: bool | None = None
    # Whoever started them.
    actor_id: str | None = None


JOBS: ListedTable[JobFilter, UUID, Job] = ListedTable(
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


async def read_job(work: Work, job_id: UUID) -> JobView:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
        if job is None:
            raise NotFound(f"There is no job {job_id}.")
        reasons = await count_reasons(work.tx, work.merchant_id, job_id)
        files = await load_files(work.tx, work.merchant_id, job_id)
    is_whole = job.kind is JobKind.EXPORT and job.state is JobState.DONE
    file_bytes = sum(each.size_bytes or 0 for each in files) if is_whole else None
    return JobView(job, reasons, file_bytes)


async def list_job_rows(
    work: Work, job_id: UUID, *, outcome: RowOutcome | None = None, after: int = 0, limit: int
) -> Sequence[JobRow]:
    """In the order of the selection, behind the position `after`. Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        if not await load_jobs(work.tx, work.merchant_id, [job_id]):
            raise NotFound(f"There is no job {job_id}.")
        return await list_rows(work.tx, work.merchant_id, job_id, outcome, after=after, limit=limit)


async def list_jobs(
    work: Work, *, limit: int, cursor: str | None = None, wanted: JobFilter = EVERY_JOB
) -> Page[Job]:
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    return await list_page(work.scope(), JOBS, wanted, limit=limit, cursor=cursor)
