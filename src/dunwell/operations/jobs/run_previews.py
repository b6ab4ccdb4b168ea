"""Compute in the worker what a draft does to running claims: which of them move, and the contacts,
fees and costs of the days to come. All claims are read at one instant; the progress is noted every
second. A worker that takes the job over from a dead one starts from the first claim, which is safe
because nothing is changed.
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime

import msgspec

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.rollout.effects import DEFAULT_DAYS, Asked
from dunwell.cases.rollout.effects_views import DraftEffectsView, view_draft_effects
from dunwell.cases.rollout.foresee_costs import foresee_costs_alone, prepare_costs
from dunwell.cases.rollout.preview_draft import preview_draft
from dunwell.operations.jobs.job import Job, JobKind, JobState, PreviewDraft, find_keeping
from dunwell.operations.jobs.starters import ask_rights_again
from dunwell.operations.jobs.store import LeasedJob, lease_job, load_jobs, lock_leased, save_end
from dunwell.operations.jobs.store_previews import note_progress, save_result
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.errors import InsufficientScope, Refusal
from dunwell.platform.heartbeat import LEASE, begin_lease, keep_lease
from dunwell.platform.resources import Resources

_LISTED = 50
_BEAT_SECONDS = 1.0
_GIVES_UP_FROM = 5
_GIVEN_UP = "The claims could not be counted. Begin anew; tell the operator if it fails again."
_RIGHT_LOST = "Whoever started it may not look at drafts any more."
_CHANGED = "The draft was changed or published meanwhile. Look at it again."


@dataclass(slots=True)
class _Progress:
    done: int = 0
    total: int = 0

    def note(self, done: int, total: int) -> None:
        self.done, self.total = done, total


async def run_previews(resources: Resources) -> int:
    """One preview, to its end; how many claims were looked at, 1 at least, 0: none was due."""
    now, lease = resources.clock.now(), begin_lease(resources)
    async with resources.database.transaction() as tx:
        leased = await lease_job(tx, now, lease, [JobKind.PREVIEW])
    if leased is None:
        return 0
    if leased.tries > _GIVES_UP_FROM:
        await _end(resources, leased, JobState.FAILED, _GIVEN_UP)
        return 1
    progress = _Progress()

    try:
        found = await _look_with_lease(resources, leased, progress)
    except InsufficientScope:
        await _end(resources, leased, JobState.FAILED, _RIGHT_LOST)
    except Refusal:
        await _end(resources, leased, JobState.FAILED, _CHANGED)
    else:
        if found is not None:
            await _save(resources, leased, found)
    return max(progress.done, 1)


async def _look_with_lease(
    resources: Resources, leased: LeasedJob, progress: _Progress
) -> DraftEffectsView | None:
    """None: the job was cancelled, or another worker has it. Then this one stops at once, as the
    merchant may have begun its next preview."""
    looking = asyncio.ensure_future(_look(resources, leased, progress))

    async def renew(connection: Connection, until: datetime) -> None:
        is_held = await note_progress(
            connection, leased, done=progress.done, total=progress.total, lease_until=until
        )
        if not is_held:
            looking.cancel()

    try:
        async with keep_lease(resources, renew, beat_seconds=_BEAT_SECONDS):
            await asyncio.wait([looking])
    finally:
        looking.cancel()
        await asyncio.wait([looking])
    return None if looking.cancelled() else looking.result()


async def _look(resources: Resources, leased: LeasedJob, progress: _Progress) -> DraftEffectsView:
    async with resources.database.connection() as connection, snapshot(connection):
        work, job = await _open(resources, connection, leased)
        assert isinstance(job.deed, PreviewDraft)
        asked = Asked(DEFAULT_DAYS, _LISTED, progress.note, costs=True)
        preview = await preview_draft(work, resources.keys, job.deed.workflow_id, asked)
        prepared = await prepare_costs(work, resources, preview)
    costs = None
    if prepared is not None:
        costs = await foresee_costs_alone(prepared, resources.settings.fonts)
    return view_draft_effects(preview.effects, preview.days, costs)


async def _save(resources: Resources, leased: LeasedJob, found: DraftEffectsView) -> None:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        job = await lock_leased(tx, leased)
        if job is None:
            return
        await note_progress(
            tx, leased, done=found.claims, total=found.claims, lease_until=now + LEASE
        )
        await save_result(tx, leased, msgspec.to_builtins(found))
        kept_until = now + find_keeping(job.deed)
        await save_end(tx, leased, JobState.DONE, now=now, kept_until=kept_until)


async def _end(resources: Resources, leased: LeasedJob, state: JobState, failure: str) -> None:
    now = resources.clock.now()
    async with resources.database.transaction() as tx:
        job = await lock_leased(tx, leased)
        if job is not None:
            kept_until = now + find_keeping(job.deed)
            await save_end(tx, leased, state, now=now, kept_until=kept_until, failure=failure)


async def _open(resources: Resources, tx: Connection, leased: LeasedJob) -> tuple[Work, Job]:
    merchant = await load_merchant(tx, leased.merchant_id)
    job = (await load_jobs(tx, leased.merchant_id, [leased.job_id])).get(leased.job_id)
    assert merchant is not None
    assert job is not None
    starter = await ask_rights_again(tx, leased.merchant_id, job.starter)
    return Work.open(resources, tx, merchant, starter), job
