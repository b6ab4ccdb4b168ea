"""Write exports in the worker: read a list page by page and write files of some thousand rows.

Each part is recorded before its file is stored, and again afterwards with the position at which the
next part begins. A worker that takes over therefore continues after the last complete part, and no
file is left without a record. No transaction is open while a file is being stored.
"""

from dataclasses import dataclass, replace
from functools import partial

from dunwell.accounts.merchants.rights import Right
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.exported_lists import (
    BYTE_ORDER_MARK,
    EXPORTED,
    check_export,
    check_may_read,
    render_rows,
)
from dunwell.operations.jobs.job import Export, JobKind, Progress
from dunwell.operations.jobs.runner import RunnableKind, RunningJob, run_due_job
from dunwell.operations.jobs.store import (
    FilePart,
    delete_file,
    insert_file,
    list_files,
    save_progress,
    save_written,
)
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources

_PAGE_SIZE, _PART_SIZE = 200, 5_000
_GIVEN_UP = (
    "The list could not be written. Start the export again; contact the operator if it fails."
)
_RIGHT_LOST = "The user who started it no longer has permission to read this list."


@dataclass(frozen=True, slots=True)
class _RenderedPart:
    content: bytes
    rows: int
    next_cursor: str | None


async def run_exports(
    resources: Resources, storage: SealedFiles, *, part_rows: int = _PART_SIZE
) -> int:
    """Run one export to its end. Return the number of rows written (at least 1), or 0 if no export
    was due."""
    run = partial(_write_parts, storage=storage, part_rows=part_rows)
    kind = RunnableKind(
        [JobKind.EXPORT], run, gave_up_failure=_GIVEN_UP, right_lost_failure=_RIGHT_LOST
    )
    return await run_due_job(resources, kind)


async def _write_parts(running: RunningJob, storage: SealedFiles, part_rows: int) -> None:
    is_last = False
    while not is_last:
        part = await _start_part(running, storage)
        rendered = await _render_part(running, part, part_rows)
        await storage.save(part.file_key, rendered.content)
        await _save_part(running, part, rendered)
        running.done += rendered.rows
        is_last = rendered.next_cursor is None


async def _start_part(running: RunningJob, storage: SealedFiles) -> FilePart:
    """Record the next part and delete files of parts that another worker did not finish."""
    leased = running.leased
    async with running.step() as (tx, _):
        parts = [*await list_files(tx, leased.merchant_id, leased.job_id)]
        unfinished = [each for each in parts if each.size_bytes is None]
        for each in unfinished:
            await delete_file(tx, leased.merchant_id, leased.job_id, each.part)
        complete = [each for each in parts if each.size_bytes is not None]
        number = len(complete) + 1
        key = f"{leased.merchant_id}/exports/{leased.job_id}/{leased.lease_id}-{number}"
        part = FilePart(number, key, next_cursor=complete[-1].next_cursor if complete else None)
        await insert_file(tx, leased.merchant_id, leased.job_id, part)
    for each in unfinished:
        if each.file_key != part.file_key:
            await storage.remove(each.file_key)
    return part


async def _render_part(running: RunningJob, part: FilePart, part_rows: int) -> _RenderedPart:
    """Render the rows after `part.next_cursor`, which is where the previous part ended."""
    async with running.resources.database.connection() as connection:
        job = await running.load(connection)
        work = await running.open_work(connection, job)
        work.require(Right.READ_CLAIMS)
        assert isinstance(job.task, Export)
        check_may_read(work, job.task.list)
        exported, wanted = EXPORTED[job.task.list], check_export(job.task)
        content = BYTE_ORDER_MARK + render_rows([list(exported.columns)]) if part.part == 1 else b""
        cursor, rows = part.next_cursor, 0
        while True:
            page, cursor = await exported.load_rows(work, wanted, _PAGE_SIZE, cursor)
            content += render_rows(page)
            rows += len(page)
            if cursor is None or rows >= part_rows:
                return _RenderedPart(content, rows, cursor)


async def _save_part(running: RunningJob, part: FilePart, rendered: _RenderedPart) -> None:
    leased, until = running.leased, running.resources.clock.now() + LEASE
    complete = replace(part, size_bytes=len(rendered.content), next_cursor=rendered.next_cursor)
    async with running.step() as (tx, job):
        await save_written(tx, leased.merchant_id, leased.job_id, complete)
        await save_progress(tx, leased, Progress(0, done=rendered.rows), until)
        if rendered.next_cursor is None:
            await running.finish(tx, job)
