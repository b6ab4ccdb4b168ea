"""Begin to count which claims a draft moves, and find what was counted: a job for the worker, as
very many claims take their time. A merchant has one such job at a time.
"""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects_views import DraftEffectsView
from dunwell.core.workflows.store import load_draft
from dunwell.operations.jobs.job import BackgroundJob, JobState, PreviewDraft
from dunwell.operations.jobs.previews.store import find_live_preview, find_preview, insert_preview
from dunwell.operations.jobs.start_job import TooManyJobs, begin_job
from dunwell.operations.jobs.store import load_jobs
from dunwell.platform.errors import EditConflict
from dunwell.platform.text.lazy_text import LazyText


@dataclass(frozen=True, slots=True)
class PreviewOfDraft:
    """found: None: it has not ended."""

    job: BackgroundJob
    found: DraftEffectsView | None


class PreviewRuns(TooManyJobs):
    """The merchant's preview of another draft waits or runs."""


async def start_preview(work: Work, workflow_id: UUID, draft_id: UUID) -> BackgroundJob:
    """The draft's preview, which may have been started before. Raises InvalidState (the draft is
    another one by now), TooManyJobs and PreviewRuns."""
    work.need(Right.CONFIGURE)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None or draft.version_id != draft_id:
        raise EditConflict("The draft was changed meanwhile. Look at it again.", state="DRAFT")
    running = await _find_running(work, draft_id)
    if running is not None:
        return running
    try:
        job = await begin_job(work, PreviewDraft(workflow_id, draft_id))
    except TooManyJobs:
        # Another one that began at the same time is seen by now.
        running = await _find_running(work, draft_id)
        if running is None:
            raise
        return running
    await insert_preview(work.tx, work.merchant_id, job.job_id, draft_id)
    return job


async def _find_running(work: Work, draft_id: UUID) -> BackgroundJob | None:
    """Raises PreviewRuns."""
    live = await find_live_preview(work.tx, work.merchant_id)
    if live is None:
        return None
    job_id, draft_of_job = live
    if draft_of_job != draft_id:
        message = LazyText(
            "Another preview is being calculated. Wait until it is done, or cancel it."
        )
        raise PreviewRuns(message, state=JobState.RUNNING)
    return (await load_jobs(work.tx, work.merchant_id, [job_id]))[job_id]


async def read_preview(work: Work, draft_id: UUID) -> PreviewOfDraft | None:
    """The newest of a draft; None: nobody has asked for one."""
    work.need(Right.CONFIGURE)
    stored = await find_preview(work.tx, work.merchant_id, draft_id)
    if stored is None:
        return None
    job = (await load_jobs(work.tx, work.merchant_id, [stored.job_id]))[stored.job_id]
    found = None
    if stored.result is not None:
        found = msgspec.convert(stored.result, DraftEffectsView)
    return PreviewOfDraft(job, found)
