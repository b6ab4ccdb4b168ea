"""Cancels a job: the batch that runs is finished, whole, and nothing is begun behind it. What was
done stays done.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.operations.jobs.job import Export, Job, JobState, PreviewDraft, find_keeping
from dunwell.operations.jobs.store import load_jobs, save_cancellation
from dunwell.platform.errors import InvalidState, NotFound
from dunwell.platform.text.lazy_text import LazyText


async def cancel_job(work: Work, job_id: UUID) -> Job:
    """An export is cancelled by whoever began it, and like other jobs by whoever may change claims.
    Cancelling what is cancelled changes nothing. Raises NotFound; InvalidState: it has ended."""
    work.need(Right.READ_CLAIMS)
    job = await _load(work, job_id)
    if not may_cancel(work.actor, job):
        work.need(Right.CHANGE_CLAIMS)
    kept_until = work.real_now + find_keeping(job.deed)
    is_cancelled = await save_cancellation(
        work.tx, work.merchant_id, job_id, now=work.real_now, kept_until=kept_until
    )
    if is_cancelled:
        before, after = {"state": job.state}, {"state": JobState.CANCELLED}
        await save_audit(work, "job.cancel", f"job:{job_id}", before=before, after=after)
        return await _load(work, job_id)
    job = await _load(work, job_id)
    if job.state is not JobState.CANCELLED:
        raise InvalidState(LazyText("The job has ended already."), state=job.state)
    return job


def may_cancel(actor: Actor, job: Job) -> bool:
    is_own = (job.starter.kind, job.starter.actor_id) == (actor.kind, actor.actor_id)
    only_reads = isinstance(job.deed, Export | PreviewDraft)
    return Right.CHANGE_CLAIMS in actor.rights or (is_own and only_reads)


async def _load(work: Work, job_id: UUID) -> Job:
    """Raises NotFound."""
    job = (await load_jobs(work.tx, work.merchant_id, [job_id])).get(job_id)
    if job is None:
        raise NotFound(f"There is no job {job_id}.")
    return job
