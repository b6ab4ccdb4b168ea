"""The runner of jobs. Each kind of job is declared as a `RunnableKind`; the runner does the rest.

1. Lease: the job that has waited longest is leased for some seconds, and a heartbeat renews
   the lease.
2. Run: the kind works on the job in steps. A step is a transaction in which the job is locked
   and still leased by this worker.
3. End: the job ends as DONE or FAILED, or is released and continues after the other jobs.

The lease of a worker that stops expires. What it committed stays, and the next worker continues
from there. Cancelling a job waits for the current step and prevents all later ones.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import Actor, ActorKind
from dunwell.accounts.merchants.rights import ROLE_RIGHTS, Right, rights_of_scopes
from dunwell.accounts.merchants.store import load_merchant
from dunwell.accounts.users.store import load_user
from dunwell.core.files.storage import SealedFiles
from dunwell.operations.jobs.job import BackgroundJob, JobKind, JobState, compute_retention
from dunwell.operations.jobs.store import (
    LeasedJob,
    delete_job,
    lease_job,
    list_expired_jobs,
    list_files,
    load_jobs,
    lock_leased,
    release_job,
    renew_job,
    save_end,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import InsufficientScope, Refusal, Unavailable
from dunwell.platform.heartbeat import HEARTBEAT_SECONDS, keep_lease, start_lease
from dunwell.platform.resources import Resources

# Uses the unique key on client ids.
_FIND_SCOPES = """
SELECT r.scopes
FROM credentials c
JOIN credential_grants r ON r.owner_id = c.merchant_id AND r.credential_id = c.credential_id
WHERE r.merchant_id = $1 AND c.client_id = $2 AND c.revoked_at IS NULL
"""


async def load_current_rights(tx: Connection, merchant_id: int, starter: Actor) -> Actor:
    """Return the actor that started a job, with those rights that the actor had at the start and
    still has."""
    if starter.kind is ActorKind.CREDENTIAL:
        scopes = await tx.fetchval(_FIND_SCOPES, merchant_id, starter.actor_id)
        current = frozenset() if scopes is None else rights_of_scopes(tuple(scopes))
    elif starter.kind is ActorKind.USER:
        assert starter.actor_id is not None
        current = await list_rights(tx, UUID(starter.actor_id), merchant_id)
    else:
        return starter
    return replace(starter, rights=starter.rights & current)


async def list_rights(tx: Connection, user_id: UUID, merchant_id: int) -> frozenset[Right]:
    """List the user's rights at the merchant. The set is empty if the user was deactivated or has
    no access to the merchant."""
    user = await load_user(tx, user_id)
    if user is None or user.ended_at is not None:
        return frozenset()
    roles = (user.roles.global_role, user.roles.memberships.get(merchant_id))
    return frozenset(right for role in roles if role is not None for right in ROLE_RIGHTS[role])


# A job that is leased more often than this without progress fails.
_MAX_ATTEMPTS = 5


class LeaseLostError(Exception):
    """The job was cancelled, or another worker has leased it."""


class RunningJob:
    """A job that this worker has leased. `done` counts the rows that were done. A kind that counts
    its rows while it runs also sets `total`; the heartbeat then saves both."""

    def __init__(self, resources: Resources, leased: LeasedJob) -> None:
        self.resources = resources
        self.leased = leased
        self.done = 0
        self.total: int | None = None

    @asynccontextmanager
    async def step(self) -> AsyncIterator[tuple[Connection, BackgroundJob]]:
        """Open a transaction in which the job is locked. Raises LeaseLostError."""
        async with self.resources.database.transaction() as tx:
            job = await lock_leased(tx, self.leased)
            if job is None:
                raise LeaseLostError
            yield tx, job

    async def load(self, tx: Connection) -> BackgroundJob:
        """Load the job without a lock, for reading its merchant's rows for a longer time."""
        merchant_id, job_id = self.leased.merchant_id, self.leased.job_id
        return (await load_jobs(tx, merchant_id, [job_id]))[job_id]

    async def open_work(self, tx: Connection, job: BackgroundJob) -> Work:
        """Open work on behalf of the user who started the job, with the rights that the user still
        has, at the merchant's time."""
        merchant = await load_merchant(tx, self.leased.merchant_id)
        assert merchant is not None
        starter = await load_current_rights(tx, self.leased.merchant_id, job.starter)
        return Work.open(self.resources, tx, merchant, starter)

    async def finish(self, tx: Connection, job: BackgroundJob) -> None:
        """End the job as DONE, within a step."""
        await self._end(tx, job, JobState.DONE)

    async def fail(self, failure: str) -> None:
        """End the job as FAILED. `failure` explains the reason to the user who started it."""
        async with self.step() as (tx, job):
            await self._end(tx, job, JobState.FAILED, failure)

    async def release(self, pause: timedelta = timedelta()) -> None:
        """Release the job, so that any worker can continue it after a pause."""
        async with self.resources.database.transaction() as tx:
            await release_job(tx, self.leased, self.resources.clock.now() + pause)

    async def renew(self, tx: Connection, until: datetime) -> bool:
        """Renew the lease, and save `done` and `total` if `total` is set. Return False if the lease
        is lost."""
        done = None if self.total is None else self.done
        return await renew_job(tx, self.leased, until, done=done, total=self.total)

    async def _end(
        self, tx: Connection, job: BackgroundJob, state: JobState, failure: str | None = None
    ) -> None:
        now = self.resources.clock.now()
        kept_until = now + compute_retention(job.task)
        await save_end(tx, self.leased, state, now=now, kept_until=kept_until, failure=failure)


@dataclass(frozen=True, slots=True)
class RunnableKind:
    """How the worker runs one or several kinds of jobs.

    `run` works on the job until it ends or is released. Failures are shown to the user who started
    the job. Without `gave_up_failure`, the kind itself makes sure that every job ends.
    """

    kinds: Sequence[JobKind]
    run: Callable[[RunningJob], Awaitable[None]]
    # The failure of a job that was leased too often without progress.
    gave_up_failure: str | None = None
    # The failure of a job whose starter has lost the right.
    right_lost_failure: str | None = None
    # The failure of a job that a use case refused.
    refused_failure: str | None = None
    # The delay after an error. If it is None, the job continues when the lease ends.
    pause_after_error: timedelta | None = None
    heartbeat_seconds: float = HEARTBEAT_SECONDS


async def run_due_job(resources: Resources, kind: RunnableKind) -> int:
    """Run the due job of this kind that has waited longest. Return the number of rows done, at
    least 1, or 0 if no job was due."""
    async with resources.database.transaction() as tx:
        leased = await lease_job(tx, resources.clock.now(), start_lease(resources), kind.kinds)
    if leased is None:
        return 0
    running = RunningJob(resources, leased)
    with suppress(LeaseLostError):
        if kind.gave_up_failure is not None and leased.attempts > _MAX_ATTEMPTS:
            await running.fail(kind.gave_up_failure)
        else:
            await _run_until_end(running, kind)
    return max(running.done, 1)


async def _run_until_end(running: RunningJob, kind: RunnableKind) -> None:
    try:
        await _run_with_lease(running, kind)
    except LeaseLostError:
        raise
    except Exception as error:
        failure = _find_failure(kind, error)
        if failure is not None:
            await running.fail(failure)
            return
        if kind.pause_after_error is not None:
            # If the database is not available, the job continues when its lease ends.
            with suppress(Unavailable):
                await running.release(kind.pause_after_error)
        raise


def _find_failure(kind: RunnableKind, error: Exception) -> str | None:
    match error:
        case Unavailable():
            return None
        case InsufficientScope():
            return kind.right_lost_failure
        case Refusal():
            return kind.refused_failure
    return None


async def _run_with_lease(running: RunningJob, kind: RunnableKind) -> None:
    """Run the job and renew its lease. If the lease is lost, the job is stopped at the next
    heartbeat, because its merchant may have started another one. Raises LeaseLostError."""
    task = asyncio.ensure_future(kind.run(running))

    async def renew(connection: Connection, until: datetime) -> None:
        if not await running.renew(connection, until):
            task.cancel()

    try:
        async with keep_lease(running.resources, renew, heartbeat_seconds=kind.heartbeat_seconds):
            await asyncio.wait([task])
    finally:
        task.cancel()
        await asyncio.wait([task])
    if task.cancelled():
        raise LeaseLostError
    task.result()


SWEEP_JOBS_SECONDS = 60.0
_SWEEP_SIZE = 10


async def sweep_jobs(resources: Resources, storage: SealedFiles) -> int:
    """Delete expired jobs with their files. Return the number of deleted jobs."""
    async with resources.database.connection() as connection:
        old = await list_expired_jobs(connection, resources.clock.now(), _SWEEP_SIZE)
    for merchant_id, job_id in old:
        await _delete_job_with_files(resources, storage, merchant_id, job_id)
    return len(old)


async def _delete_job_with_files(
    resources: Resources, storage: SealedFiles, merchant_id: int, job_id: UUID
) -> None:
    """Delete the files first and then the rows, because the rows say where the files are."""
    async with resources.database.connection() as connection:
        files = await list_files(connection, merchant_id, job_id)
    for each in files:
        await storage.remove(each.file_key)
    async with resources.database.transaction() as tx:
        await delete_job(tx, merchant_id, job_id)
