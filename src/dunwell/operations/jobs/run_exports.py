"""Writes exports in the worker: a list, page by page, into files of some thousand rows.

A part is recorded before its file is kept, and once more, with where the next begins, when
it is. So whoever goes on for a dead worker begins at the last whole part, and no file is forgotten.
No transaction is open while a file is kept.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.core.files.sealed_files import SealedFiles
from dunwell.operations.jobs.cells import MARK, render_rows
from dunwell.operations.jobs.exported_lists import EXPORTED, check_export, check_readable
from dunwell.operations.jobs.job import Export, Job, JobKind, JobState, Progress, find_keeping
from dunwell.operations.jobs.starters import ask_rights_again
from dunwell.operations.jobs.store import (
    LeasedJob,
    lease_job,
    load_jobs,
    lock_leased,
    renew_job,
    save_end,
    save_progress,
)
from dunwell.operations.jobs.store_files import (
    FilePart,
    insert_file,
    load_files,
    remove_file,
    save_written,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InsufficientScope
from dunwell.platform.heartbeat import LEASE, begin_lease, keep_lease
from dunwell.platform.resources import Resources

_PAGE, _PART = 200, 5_000
_GIVES_UP_FROM = 5
_GIVEN_UP = "The list could not be written. Start the export anew; tell the operator if it fails."
_RIGHT_LOST = "Whoever started it may not read this any more."


@dataclass(frozen=True, slots=True)
class _Written:
    content: bytes
    rows: int
    next_cursor: str | None


async def run_exports(resources: Resources, storage: SealedFiles, *, part_rows: int = _PART) -> int:
    """One export, to its end; how many rows were written, 1 at least, 0: none was due."""
    now, lease = resources.clock.now(), begin_lease(resources)
    async with resources.database.transaction() as tx:
        leased = await lease_job(tx, now, lease, [JobKind.EXPORT])
    if leased is None:
        return 0

    async def renew(connection: Connection, until: datetime) -> None:
        await renew_job(connection, leased, until)

    writer = _Writer(resources, storage, leased, part_rows)
    async with keep_lease(resources, renew):
        return await writer.write()


class _Writer:
    def __init__(
        self, resources: Resources, storage: SealedFiles, leased: LeasedJob, part_rows: int
    ) -> None:
        self._resources = resources
        self._storage = storage
        self._leased = leased
        self._part_rows = part_rows

    async def write(self) -> int:
        written = 0
        if self._leased.tries > _GIVES_UP_FROM:
            await self._end(JobState.FAILED, _GIVEN_UP)
            return 1
        try:
            async for rows in self._write_parts():
                written += rows
        except InsufficientScope:
            await self._end(JobState.FAILED, _RIGHT_LOST)
        return max(written, 1)

    async def _write_parts(self) -> AsyncIterator[int]:
        """The rows of each part; it ends where the job is no more this worker's."""
        while (part := await self._begin_part()) is not None:
            written = await self._read_part(part)
            await self._storage.save(part.file_key, written.content)
            if not await self._save_part(part, written):
                return
            yield written.rows
            if written.next_cursor is None:
                return

    async def _begin_part(self) -> FilePart | None:
        """The next part, recorded. None: it is not this worker's, or nothing is left."""
        leased = self._leased
        async with self._resources.database.transaction() as tx:
            job = await lock_leased(tx, leased)
            if job is None:
                return None
            parts = [*await load_files(tx, leased.merchant_id, leased.job_id)]
            unwritten = [each for each in parts if each.size_bytes is None]
            for each in unwritten:
                await remove_file(tx, leased.merchant_id, leased.job_id, each.part)
            whole = [each for each in parts if each.size_bytes is not None]
            number = len(whole) + 1
            key = f"{leased.merchant_id}/exports/{leased.job_id}/{leased.lease_id}-{number}"
            part = FilePart(number, key, next_cursor=whole[-1].next_cursor if whole else None)
            await insert_file(tx, leased.merchant_id, leased.job_id, part)
        for each in unwritten:
            if each.file_key != part.file_key:
                await self._storage.remove(each.file_key)
        return part

    async def _read_part(self, part: FilePart) -> _Written:
        """Behind `part.next_cursor`: where the part before ended."""
        async with self._resources.database.connection() as connection:
            work, job = await self._open(connection)
            work.need(Right.READ_CLAIMS)
            assert isinstance(job.deed, Export)
            check_readable(work, job.deed.list)
            exported, wanted = EXPORTED[job.deed.list], check_export(job.deed)
            content = MARK + render_rows([exported.columns]) if part.part == 1 else b""
            cursor, rows = part.next_cursor, 0
            while True:
                page, cursor = await exported.find(work, wanted, _PAGE, cursor)
                content += render_rows(page)
                rows += len(page)
                if cursor is None or rows >= self._part_rows:
                    return _Written(content, rows, cursor)

    async def _save_part(self, part: FilePart, written: _Written) -> bool:
        """False: the job is not this worker's any more."""
        leased, now = self._leased, self._resources.clock.now()
        whole = replace(part, size_bytes=len(written.content), next_cursor=written.next_cursor)
        async with self._resources.database.transaction() as tx:
            job = await lock_leased(tx, leased)
            if job is None:
                return False
            await save_written(tx, leased.merchant_id, leased.job_id, whole)
            await save_progress(tx, leased, Progress(0, done=written.rows), now + LEASE)
            if written.next_cursor is None:
                kept_until = now + find_keeping(job.deed)
                await save_end(tx, leased, JobState.DONE, now=now, kept_until=kept_until)
        return True

    async def _end(self, state: JobState, failure: str) -> None:
        now = self._resources.clock.now()
        async with self._resources.database.transaction() as tx:
            job = await lock_leased(tx, self._leased)
            if job is not None:
                kept_until = now + find_keeping(job.deed)
                await save_end(
                    tx, self._leased, state, now=now, kept_until=kept_until, failure=failure
                )

    async def _open(self, tx: Connection) -> tuple[Work, Job]:
        merchant_id, job_id = self._leased.merchant_id, self._leased.job_id
        merchant = await load_merchant(tx, merchant_id)
        job = (await load_jobs(tx, merchant_id, [job_id])).get(job_id)
        assert merchant is not None
        assert job is not None
        starter = await ask_rights_again(tx, merchant_id, job.starter)
        return Work.open(self._resources, tx, merchant, starter), job
