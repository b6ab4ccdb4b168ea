"""Exports of a list as CSV: in parts, complete after any crash, kept for a week."""

import csv
import io
from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import (
    Interface,
    Origin,
    build_operator_actor,
    build_user_actor,
)
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Role
from dunwell.core.files.storage import ContentMissing, SealedFiles
from dunwell.operations.jobs import run_exports as running
from dunwell.operations.jobs.job import BackgroundJob, Export, ExportedList, JobState
from dunwell.operations.jobs.jobs import JobView, cancel_job, get_job, open_export, start_export
from dunwell.operations.jobs.run_exports import run_exports
from dunwell.operations.jobs.runner import sweep_jobs
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.errors import InsufficientScope, NotFound, ValidationError
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.harness import ERP, Harness, a_harness
from tests.support.modalities import OFFERING, Arrangement

STARTER = build_operator_actor("a test")
WEEK = timedelta(days=7)


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, configuration=OFFERING)


@pytest.fixture
def storage(resources: Resources, settings: Settings) -> SealedFiles:
    return SealedFiles.open(resources)


async def start(harness: Harness, exported: ExportedList, **wanted: Any) -> BackgroundJob:
    async with harness.work(STARTER) as work:
        return await start_export(work, Export(exported, wanted))


async def load_view(harness: Harness, job: BackgroundJob) -> JobView:
    async with harness.work(STARTER) as work:
        return await get_job(work, job.job_id)


async def read(
    harness: Harness, storage: SealedFiles, job: BackgroundJob
) -> tuple[bytes, list[list[str]]]:
    async with harness.work(STARTER) as work:
        parts = await open_export(work, storage, job.job_id)
    content = b"".join([part async for part in parts])
    assert content.startswith("\ufeff".encode())
    return content, list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline="")))


async def test_a_list_is_written_in_parts_and_read_as_one(
    harness: Harness, storage: SealedFiles
) -> None:
    references = [f"A-{n}" for n in range(7)]
    await harness.create(*references)
    job = await start(harness, ExportedList.CLAIMS)
    assert await run_exports(harness.resources, storage, part_rows=200) == 7
    content, [head, *rows] = await read(harness, storage, job)
    assert head[:3] == ["claimId", "referenceNumber", "customerNumber"]
    assert [row[1] for row in rows] == references[::-1]
    assert (rows[0][8], rows[0][9], rows[0][3]) == ("EUR", "102.40", "CREATED")
    view = await load_view(harness, job)
    assert (view.job.state, view.job.progress.done) == (JobState.DONE, 7)
    assert view.file_bytes == len(content)


async def test_an_export_contains_only_the_filtered_rows(
    harness: Harness, storage: SealedFiles
) -> None:
    [paid, _] = await harness.create("A-1", "A-2")
    await harness.pay(paid, 10240)
    job = await start(harness, ExportedList.CLAIMS, statuses=["COLLECTED"])
    await run_exports(harness.resources, storage)
    _, rows = await read(harness, storage, job)
    assert [row[1] for row in rows[1:]] == ["A-1"]
    with pytest.raises(ValidationError):
        await start(harness, ExportedList.PAYMENTS, is_reversed="perhaps")


@pytest.mark.parametrize("exported", ExportedList)
async def test_each_list_can_be_exported(
    harness: Harness, storage: SealedFiles, exported: ExportedList
) -> None:
    [claim_id] = await harness.create()
    await dispute(harness, claim_id, actor=ERP)
    await Arrangement(harness, claim_id).ask()
    await harness.pay(claim_id, 100)
    job = await start(harness, exported)
    await run_exports(harness.resources, storage)
    _, rows = await read(harness, storage, job)
    assert {len(row) for row in rows} == {len(rows[0])}
    is_filled = {"claims", "disputes", "payment-modalities", "payments"}
    if exported is ExportedList.AUDIT:
        assert {"claims.create", "dispute.open", "job.start"} <= {row[3] for row in rows[1:]}
    else:
        assert len(rows) == (2 if exported in is_filled else 1)


async def test_exporting_the_audit_log_requires_the_right_to_read_it(
    harness: Harness, storage: SealedFiles
) -> None:
    origin = Origin(Interface.PORTAL)
    staff = build_user_actor("u-1", ROLE_RIGHTS[Role.MERCHANT_USER], origin)
    async with harness.work(staff) as work:
        with pytest.raises(InsufficientScope, match="AUDIT"):
            await start_export(work, Export(ExportedList.AUDIT, {}))
    job = await start(harness, ExportedList.AUDIT)
    await run_exports(harness.resources, storage)
    async with harness.work(staff) as work:
        with pytest.raises(InsufficientScope, match="AUDIT"):
            await open_export(work, storage, job.job_id)
    await read(harness, storage, job)
    [read_row] = await harness.rows(
        "SELECT details FROM audit_log WHERE merchant_id = $1 AND action = 'export.read'"
    )
    assert read_row["details"]["list"] == "audit-log"
    assert read_row["details"]["rows"] >= 1


async def test_an_export_is_audited_with_its_filter(harness: Harness) -> None:
    await start(harness, ExportedList.CLAIMS, statuses=["COLLECTED"])
    [row] = await harness.rows(
        "SELECT details FROM audit_log WHERE merchant_id = $1 AND action = 'job.start'"
    )
    assert row["details"]["list"] == "claims"
    assert row["details"]["wanted"] == {"statuses": ["COLLECTED"]}


async def test_no_cell_is_a_formula(harness: Harness, storage: SealedFiles) -> None:
    evil = ["=1+1", "+49", "-2", "@SUM(A1)"]
    for number, text in enumerate(evil):
        await harness.create(f"A-{number}", debtorLastName=text, email=f"{number}@example.org")
    job = await start(harness, ExportedList.CLAIMS)
    await run_exports(harness.resources, storage)
    _, [_, *rows] = await read(harness, storage, job)
    assert [row[6] for row in rows] == [f"'{each}" for each in reversed(evil)]


async def test_an_export_of_a_dead_worker_continues_after_its_last_complete_part(
    harness: Harness, storage: SealedFiles, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    references = [f"A-{n}" for n in range(6)]
    await harness.create(*references)
    job = await start(harness, ExportedList.CLAIMS)
    monkeypatch.setattr(running, "_PAGE_SIZE", 2)
    real, saved = storage.save, 0

    async def die_after_two(key: str, content: bytes) -> None:
        nonlocal saved
        saved += 1
        await real(key, content)
        if saved == 2:
            raise _Killed

    monkeypatch.setattr(storage, "save", die_after_two)
    with pytest.raises(_Killed):
        await run_exports(harness.resources, storage, part_rows=2)
    lost = await keys(harness, job.job_id)
    clock.advance(LEASE)
    assert await run_exports(harness.resources, storage, part_rows=2) == 4
    _, [_, *rows] = await read(harness, storage, job)
    assert [row[1] for row in rows] == references[::-1]
    # The incomplete part is deleted from the storage.
    with pytest.raises(ContentMissing):
        await storage.load(lost[-1])


async def test_job_and_file_are_deleted_after_a_week(
    harness: Harness, storage: SealedFiles, clock: MovableClock
) -> None:
    await harness.create()
    job = await start(harness, ExportedList.CLAIMS)
    await run_exports(harness.resources, storage)
    [key] = await keys(harness, job.job_id)
    clock.advance(WEEK - timedelta(seconds=1))
    assert await sweep_jobs(harness.resources, storage) == 0
    clock.advance(timedelta(seconds=1))
    assert await sweep_jobs(harness.resources, storage) == 1
    with pytest.raises(ContentMissing):
        await storage.load(key)
    with pytest.raises(NotFound):
        await load_view(harness, job)


async def test_a_file_of_another_merchant_is_not_found(
    harness: Harness, storage: SealedFiles, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_harness(resources, clock, key="hansen")
    job = await start(harness, ExportedList.CLAIMS)
    with pytest.raises(NotFound):
        await read(harness, storage, job)
    await run_exports(harness.resources, storage)
    with pytest.raises(NotFound):
        await read(hansen, storage, job)


async def test_an_export_can_be_cancelled_by_its_starter_or_by_who_may_change_claims(
    harness: Harness,
) -> None:
    auditor, other = (
        build_user_actor(name, ROLE_RIGHTS[Role.AUDITOR], Origin(Interface.PORTAL))
        for name in ("a", "b")
    )
    async with harness.work(auditor) as work:
        own, another = [await start_export(work, Export(ExportedList.CLAIMS)) for _ in "12"]

    async with harness.work(other) as work:
        with pytest.raises(InsufficientScope):
            await cancel_job(work, own.job_id)

    async with harness.work(auditor) as work:
        assert (await cancel_job(work, own.job_id)).state is JobState.CANCELLED
    async with harness.work(STARTER) as work:
        assert (await cancel_job(work, another.job_id)).state is JobState.CANCELLED


async def keys(harness: Harness, job_id: UUID) -> Sequence[str]:
    rows = await harness.rows(
        "SELECT file_key FROM job_files WHERE merchant_id = $1 AND job_id = $2 ORDER BY part",
        job_id,
    )
    return [row["file_key"] for row in rows]


class _Killed(Exception):  # noqa: N818 - as a signal would
    """Simulates the death of the process."""


async def test_an_export_that_cannot_be_written_fails_at_the_sixth_attempt(
    harness: Harness, storage: SealedFiles, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = await start(harness, ExportedList.CLAIMS)

    async def fail(_key: str, _content: bytes) -> None:
        raise _Killed

    monkeypatch.setattr(storage, "save", fail)
    for _ in range(5):
        with pytest.raises(_Killed):
            await run_exports(harness.resources, storage)
        clock.advance(LEASE)
    assert (await load_view(harness, job)).job.state is JobState.RUNNING
    assert await run_exports(harness.resources, storage) == 1
    found = (await load_view(harness, job)).job
    assert (found.state, found.failure) == (
        JobState.FAILED,
        "The list could not be written. Start the export again; contact the operator if it fails.",
    )
    assert await run_exports(harness.resources, storage) == 0


async def test_an_export_fails_when_its_starter_has_lost_the_right_to_read_the_list(
    harness: Harness, storage: SealedFiles
) -> None:
    starter = build_user_actor(
        str(UUID(int=1)), ROLE_RIGHTS[Role.AUDITOR], Origin(Interface.PORTAL)
    )
    async with harness.work(starter) as work:
        job = await start_export(work, Export(ExportedList.CLAIMS))
    assert await run_exports(harness.resources, storage) == 1
    found = (await load_view(harness, job)).job
    assert (found.state, found.failure) == (
        JobState.FAILED,
        "The user who started it no longer has permission to read this list.",
    )
