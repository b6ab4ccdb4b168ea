"""Sweeps jobs that have ended long ago, with their rows and their files."""

from uuid import UUID

from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.store import find_old, load_files, remove_job
from dunwell.platform.resources import Resources

SWEEP_JOBS_SECONDS = 60.0
_AT_ONCE = 10


async def sweep_jobs(resources: Resources, storage: SealedFiles) -> int:
    """How many; 0: none is old."""
    async with resources.database.connection() as connection:
        old = await find_old(connection, resources.clock.now(), _AT_ONCE)
    for merchant_id, job_id in old:
        await _sweep(resources, storage, merchant_id, job_id)
    return len(old)


async def _sweep(
    resources: Resources, storage: SealedFiles, merchant_id: int, job_id: UUID
) -> None:
    """The files first: as long as they are there, their rows say where."""
    async with resources.database.connection() as connection:
        files = await load_files(connection, merchant_id, job_id)
    for each in files:
        await storage.remove(each.file_key)
    async with resources.database.transaction() as tx:
        await remove_job(tx, merchant_id, job_id)
