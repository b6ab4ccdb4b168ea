"""Preview what publishing a draft does to running claims: started by a clerk, computed by the
worker as a background job.
"""

from dataclasses import dataclass
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.rollout.preview.effects import DEFAULT_PREVIEW_DAYS, PreviewScope
from dunwell.cases.rollout.preview.effects_views import DraftEffectsView, build_draft_effects_view
from dunwell.cases.rollout.preview.preview_costs import (
    compute_preview_costs_with_own_printer,
    prepare_costs,
)
from dunwell.cases.rollout.preview.preview_draft import preview_draft
from dunwell.core.workflows.store import load_draft
from dunwell.operations.jobs.job import BackgroundJob, JobKind, JobState, PreviewDraft
from dunwell.operations.jobs.jobs import TooManyJobs, start_draft_preview
from dunwell.operations.jobs.previews.store import (
    find_live_preview,
    find_preview,
    insert_preview,
    save_result,
)
from dunwell.operations.jobs.runner import RunnableKind, RunningJob, run_due_job
from dunwell.operations.jobs.store import load_jobs
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import EditConflict
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources
from dunwell.platform.text.translation import LazyText


@dataclass(frozen=True, slots=True)
class PreviewJobState:
    """A preview's job and its result. `effects` is None until the result is computed."""

    job: BackgroundJob
    effects: DraftEffectsView | None


class PreviewRunning(TooManyJobs):
    """A preview of another draft of the merchant waits or runs."""


async def start_preview(work: Work, workflow_id: UUID, draft_id: UUID) -> BackgroundJob:
    """Start a preview of the draft, or return the one that waits or runs. Raises EditConflict if
    the draft has changed, PreviewRunning, and TooManyJobs."""
    work.require(Right.CONFIGURE)
    draft = await load_draft(work.tx, work.merchant_id, workflow_id)
    if draft is None or draft.version_id != draft_id:
        raise EditConflict(
            "The draft has been changed in the meantime. Load it again.", state="DRAFT"
        )
    live_job = await _find_live_job(work, draft_id)
    if live_job is not None:
        return live_job
    try:
        job = await start_draft_preview(work, PreviewDraft(workflow_id, draft_id))
    except TooManyJobs:
        # A preview that was started at the same time is visible now.
        live_job = await _find_live_job(work, draft_id)
        if live_job is None:
            raise
        return live_job
    await insert_preview(work.tx, work.merchant_id, job.job_id, draft_id)
    return job


async def _find_live_job(work: Work, draft_id: UUID) -> BackgroundJob | None:
    """Return the waiting or running preview of this draft, or None. Raises PreviewRunning if a
    preview of another draft is waiting or running."""
    live = await find_live_preview(work.tx, work.merchant_id)
    if live is None:
        return None
    job_id, draft_of_job = live
    if draft_of_job != draft_id:
        message = LazyText("Another preview is in progress. Wait until it is done, or cancel it.")
        raise PreviewRunning(message, state=JobState.RUNNING)
    return (await load_jobs(work.tx, work.merchant_id, [job_id]))[job_id]


async def find_draft_preview(work: Work, draft_id: UUID) -> PreviewJobState | None:
    """Return the newest preview of the draft, if any."""
    work.require(Right.CONFIGURE)
    stored = await find_preview(work.tx, work.merchant_id, draft_id)
    if stored is None:
        return None
    job = (await load_jobs(work.tx, work.merchant_id, [stored.job_id]))[stored.job_id]
    effects = None
    if stored.result is not None:
        effects = msgspec.convert(stored.result, DraftEffectsView)
    return PreviewJobState(job, effects)


_MAX_LISTED = 50
_HEARTBEAT_SECONDS = 1.0
_GIVEN_UP_FAILURE = (
    "The claims could not be counted. Start again, and contact the operator if it fails again."
)
_RIGHT_LOST_FAILURE = "The user who started it no longer has permission to view drafts."
_CHANGED_FAILURE = "The draft has been changed or published in the meantime. Load it again."


async def run_previews(resources: Resources) -> int:
    """Run one preview to its end. Return the number of claims (at least 1), or 0 if no preview was
    due."""
    kind = RunnableKind(
        [JobKind.PREVIEW],
        _run_preview,
        gave_up_failure=_GIVEN_UP_FAILURE,
        right_lost_failure=_RIGHT_LOST_FAILURE,
        refused_failure=_CHANGED_FAILURE,
        heartbeat_seconds=_HEARTBEAT_SECONDS,
    )
    return await run_due_job(resources, kind)


async def _run_preview(running: RunningJob) -> None:
    effects = await _compute_effects(running)
    running.done = running.total = effects.claims
    async with running.step() as (tx, job):
        await running.renew(tx, running.resources.clock.now() + LEASE)
        await save_result(tx, running.leased, msgspec.to_builtins(effects))
        await running.finish(tx, job)


async def _compute_effects(running: RunningJob) -> DraftEffectsView:
    resources = running.resources

    def record_progress(done: int, total: int) -> None:
        running.done, running.total = done, total

    async with resources.database.connection() as connection, snapshot(connection):
        job = await running.load(connection)
        work = await running.open_work(connection, job)
        assert isinstance(job.task, PreviewDraft)
        scope = PreviewScope(DEFAULT_PREVIEW_DAYS, _MAX_LISTED, record_progress, costs=True)
        preview = await preview_draft(work, resources.keys, job.task.workflow_id, scope)
        prepared = await prepare_costs(work, resources, preview)
    costs = None
    if prepared is not None:
        costs = await compute_preview_costs_with_own_printer(prepared, resources.settings.fonts)
    return build_draft_effects_view(preview.effects, preview.days, costs)
