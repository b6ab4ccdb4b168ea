"""Compute in the worker what a draft does to running claims: which of them move, and the contacts,
fees and costs of the days to come. All claims are read at one instant; the progress is noted every
second. A worker that takes the job over from a dead one starts from the first claim, which is safe
because nothing is changed.
"""

import msgspec

from dunwell.cases.rollout.preview.effects import DEFAULT_PREVIEW_DAYS, PreviewScope
from dunwell.cases.rollout.preview.effects_views import DraftEffectsView, build_draft_effects_view
from dunwell.cases.rollout.preview.preview_costs import (
    compute_preview_costs_with_own_printer,
    prepare_costs,
)
from dunwell.cases.rollout.preview.preview_draft import preview_draft
from dunwell.operations.jobs.job import JobKind, PreviewDraft
from dunwell.operations.jobs.previews.store import save_result
from dunwell.operations.jobs.runner import RunnableKind, RunningJob, run_due_job
from dunwell.platform.database.database import snapshot
from dunwell.platform.heartbeat import LEASE
from dunwell.platform.resources import Resources

_LISTED = 50
_BEAT_SECONDS = 1.0
_GIVEN_UP = "The claims could not be counted. Begin anew; tell the operator if it fails again."
_RIGHT_LOST = "Whoever started it may not look at drafts any more."
_CHANGED = "The draft was changed or published meanwhile. Look at it again."


async def run_previews(resources: Resources) -> int:
    """One preview, to its end; the number of claims, at least 1, or 0 if none was due."""
    kind = RunnableKind(
        [JobKind.PREVIEW],
        _run,
        given_up=_GIVEN_UP,
        right_lost=_RIGHT_LOST,
        refused=_CHANGED,
        heartbeat_seconds=_BEAT_SECONDS,
    )
    return await run_due_job(resources, kind)


async def _run(running: RunningJob) -> None:
    found = await _compute(running)
    running.done = running.total = found.claims
    async with running.step() as (tx, job):
        await running.renew(tx, running.resources.clock.now() + LEASE)
        await save_result(tx, running.leased, msgspec.to_builtins(found))
        await running.finish(tx, job)


async def _compute(running: RunningJob) -> DraftEffectsView:
    resources = running.resources

    def note(done: int, total: int) -> None:
        running.done, running.total = done, total

    async with resources.database.connection() as connection, snapshot(connection):
        job = await running.load(connection)
        work = await running.open_work(connection, job)
        assert isinstance(job.deed, PreviewDraft)
        asked = PreviewScope(DEFAULT_PREVIEW_DAYS, _LISTED, note, costs=True)
        preview = await preview_draft(work, resources.keys, job.deed.workflow_id, asked)
        prepared = await prepare_costs(work, resources, preview)
    costs = None
    if prepared is not None:
        costs = await compute_preview_costs_with_own_printer(prepared, resources.settings.fonts)
    return build_draft_effects_view(preview.effects, preview.days, costs)
