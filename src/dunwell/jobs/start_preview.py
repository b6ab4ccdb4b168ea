"""Begin to count which claims a draft moves, and find what was counted: a job for the worker, as
very many claims take their time."""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from dunwell.errors import InvalidState
from dunwell.jobs.job import Job, PreviewDraft
from dunwell.jobs.start_job import begin_job
from dunwell.jobs.store import load_jobs
from dunwell.jobs.store_previews import find_preview, insert_preview
from dunwell.merchants.account import Work
from dunwell.merchants.rights import Right
from dunwell.rollout.effects_views import NextContactsView
from dunwell.workflows.store import load_draft


@dataclass(frozen=True, slots=True)
class PreviewOfDraft:
    """found: None: it has not ended."""

    job: Job
    found: NextContactsView | None


async def start_preview(work: Work, workflow_id: UUID, draft_id: UUID) -> Job:
    """Raises InvalidState (the draft is another one by now) and TooManyJobs."""
    work.need(Right.CONFIGURE)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None or draft.version_id != draft_id:
        raise InvalidState("The draft was changed meanwhile. Look at it again.", state="DRAFT")
    job = await begin_job(work, PreviewDraft(workflow_id, draft_id))
    await insert_preview(work.tx, work.merchant_id, job.job_id, draft_id)
    return job


async def read_preview(work: Work, draft_id: UUID) -> PreviewOfDraft | None:
    """The newest of a draft; None: nobody has asked for one."""
    work.need(Right.CONFIGURE)
    stored = await find_preview(work.tx, work.merchant_id, draft_id)
    if stored is None:
        return None
    job = (await load_jobs(work.tx, work.merchant_id, [stored.job_id]))[stored.job_id]
    found = None
    if stored.result is not None:
        found = msgspec.convert(stored.result, NextContactsView)
    return PreviewOfDraft(job, found)
