"""Hands out what an export has written, part by part; that it was read is audited."""

from collections.abc import AsyncIterator, Sequence
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.exported_lists import check_readable
from dunwell.operations.jobs.job import Export, JobKind, JobState
from dunwell.operations.jobs.store import load_jobs
from dunwell.operations.jobs.store_files import load_files
from dunwell.platform.errors import NotFound


async def open_export(work: Work, storage: SealedFiles, job_id: UUID) -> AsyncIterator[bytes]:
    """The file, part by part. Raises NotFound: there is none, or none any more."""
    work.need(Right.READ_CLAIMS)
    job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if job is None or job.kind is not JobKind.EXPORT or job.state is not JobState.DONE:
        raise NotFound(f"There is no file of a job {job_id}.")
    assert isinstance(job.deed, Export)
    check_readable(work, job.deed.list)
    parts = await load_files(work.tx, work.merchant_id, job_id)
    await save_audit(
        work, "export.read", f"job:{job_id}", list=job.deed.list, rows=job.progress.done
    )
    return _load_parts(storage, [each.file_key for each in parts])


async def _load_parts(storage: SealedFiles, keys: Sequence[str]) -> AsyncIterator[bytes]:
    for key in keys:
        yield await storage.load(key)
