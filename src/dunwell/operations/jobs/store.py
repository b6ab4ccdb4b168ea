"""The SQL of background jobs, their rows, and the files of exports."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.actor import Actor, ActorKind, parse_origin
from dunwell.accounts.merchants.rights import Right
from dunwell.core.claims.states import HoldKind, Status
from dunwell.operations.jobs.job import (
    BackgroundJob,
    JobClaim,
    JobKind,
    JobRow,
    JobState,
    Outcomes,
    Progress,
    RowOutcome,
    RowReason,
    decode_task,
    encode_task,
)
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import Lease, LeasedTable
from dunwell.platform.database.sql import compose

JOBS = LeasedTable("jobs", ("merchant_id", "job_id"), ends_at="due_at", held_state="RUNNING")
_COLUMNS = """
j.job_id, j.parameters, j.state, j.actor_kind, j.actor_id, j.actor_rights, j.actor_origin,
j.retry_of, j.total, j.done, j.skipped, j.failed, j.created_at, j.started_at, j.ended_at, j.failure,
j.kept_until
"""
# Uses jobs_live to find the first free slot. The second of two inserts for the same slot waits for
# the first and writes nothing. jobs_one_preview allows one live preview.
_INSERT = """
INSERT INTO jobs (merchant_id, job_id, kind, parameters, actor_kind, actor_id, actor_rights,
                  actor_origin, retry_of, total, created_at, due_at, live_slot, preview_slot)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11, free.place,
    CASE WHEN $13 THEN 1 END
FROM (
    SELECT min(place) AS place
    FROM generate_series(1, $12::smallint) AS places (place)
    WHERE NOT EXISTS (
        SELECT FROM jobs j
        WHERE j.merchant_id = $1 AND j.due_at IS NOT NULL AND j.live_slot = place)) free
WHERE free.place IS NOT NULL
ON CONFLICT DO NOTHING
RETURNING job_id
"""
# Uses the primary key.
_LOAD = compose(
    """
SELECT {columns}
FROM jobs j
WHERE j.merchant_id = $1 AND j.job_id = ANY($2::uuid[])
""",
    columns=_COLUMNS,
)
# Waits for the batch of rows that is being processed.
_CANCEL = """
UPDATE jobs
SET state = 'CANCELLED', ended_at = $3, due_at = NULL, lease_id = NULL, kept_until = $4
WHERE merchant_id = $1 AND job_id = $2 AND state IN ('WAITING', 'RUNNING')
RETURNING job_id
"""
# The job of these kinds that has waited longest, over all merchants. Uses jobs_due.
_LEASE = JOBS.lease(
    "kind = ANY($4::text[])",
    limit="$5",
    changes="state = 'RUNNING', started_at = coalesce(started_at, $1), attempts = attempts + 1",
    returning="leased.merchant_id, leased.job_id, leased.attempts",
)
# The job is locked before its claims. Nothing locks a job after a claim.
_LOCK_LEASED = compose(
    """
SELECT {columns}
FROM jobs j
WHERE j.merchant_id = $1 AND j.job_id = $2 AND {is_held}
FOR NO KEY UPDATE
""",
    columns=_COLUMNS,
    is_held=JOBS.is_held("$3", "j."),
)
# The job made progress, so its number of attempts starts again.
_SAVE_PROGRESS = """
UPDATE jobs
SET done = done + $3, skipped = skipped + $4, failed = failed + $5, due_at = $6, attempts = 0
WHERE merchant_id = $1 AND job_id = $2
"""
_SAVE_END = """
UPDATE jobs
SET state = $3, failure = $4, ended_at = $5, kept_until = $6, due_at = NULL, lease_id = NULL
WHERE merchant_id = $1 AND job_id = $2
"""
_SAVE_TOTAL = """
UPDATE jobs SET total = $3 WHERE merchant_id = $1 AND job_id = $2
"""
_RELEASE = JOBS.release()
# This statement, unlike JOBS.renew, also saves the progress of a job that counts while it runs. It
# waits for a running step, so False always means that the lease is lost.
_RENEW = compose(
    """
UPDATE jobs
SET due_at = $4, done = coalesce($5, done), total = coalesce($6, total)
WHERE merchant_id = $1 AND job_id = $2 AND {is_held}
RETURNING true
""",
    is_held=JOBS.is_held("$3"),
)
# Uses jobs_kept.
_LIST_EXPIRED = """
SELECT merchant_id, job_id
FROM jobs
WHERE kept_until <= $1
ORDER BY kept_until
LIMIT $2
"""
_REMOVE = """
DELETE FROM jobs
WHERE merchant_id = $1 AND job_id = $2
"""


@dataclass(frozen=True, slots=True)
class LeasedJob:
    """A job that this worker has leased. `attempts` counts the leases since the job last made
    progress, including this one."""

    merchant_id: int
    job_id: UUID
    lease_id: UUID
    attempts: int


async def insert_job(
    tx: Connection, merchant_id: int, job: BackgroundJob, *, max_live: int
) -> bool:
    """Insert a job that is due at once. Return False if the merchant has too many live jobs or,
    for a preview, a live preview."""
    # If the insert writes nothing, another job took the slot, which the next attempt sees.
    for _ in range(max_live):
        if await _insert(tx, merchant_id, job, max_live):
            return True
    return False


async def _insert(tx: Connection, merchant_id: int, job: BackgroundJob, max_live: int) -> bool:
    starter = job.starter
    inserted_id = await tx.fetchval(
        _INSERT, merchant_id, job.job_id, job.kind, encode_task(job.task), starter.kind,
        starter.actor_id, sorted(starter.rights),
        None if starter.origin is None else dict(starter.origin.as_json()),
        job.retry_of, job.progress.total, job.created_at, max_live, job.kind is JobKind.PREVIEW,
    )  # fmt: skip
    return inserted_id is not None


async def load_jobs(
    tx: Connection, merchant_id: int, job_ids: Sequence[UUID]
) -> dict[UUID, BackgroundJob]:
    """Return the jobs by id."""
    rows = await tx.fetch(_LOAD, merchant_id, list(job_ids))
    return {row["job_id"]: _build_job(row) for row in rows}


async def save_cancellation(
    tx: Connection, merchant_id: int, job_id: UUID, now: datetime, kept_until: datetime
) -> bool:
    """Cancel the job. Return False if it has ended already."""
    found = await tx.fetchval(_CANCEL, merchant_id, job_id, now, kept_until)
    return found is not None


async def lease_job(
    tx: Connection, now: datetime, lease: Lease, kinds: Sequence[JobKind]
) -> LeasedJob | None:
    row = await tx.fetchrow(_LEASE, now, lease.until, lease.lease_id, list(kinds), 1)
    if row is None:
        return None
    return LeasedJob(row["merchant_id"], row["job_id"], lease.lease_id, row["attempts"])


async def lock_leased(tx: Connection, leased: LeasedJob) -> BackgroundJob | None:
    """Lock the job. Return None if it was cancelled or another worker has leased it."""
    row = await tx.fetchrow(_LOCK_LEASED, leased.merchant_id, leased.job_id, leased.lease_id)
    return None if row is None else _build_job(row)


async def save_progress(
    tx: Connection, leased: LeasedJob, progress: Progress, lease_until: datetime
) -> None:
    """Add these numbers of rows to the job's progress, and renew its lease."""
    await tx.execute(
        _SAVE_PROGRESS, leased.merchant_id, leased.job_id, progress.done, progress.skipped,
        progress.failed, lease_until,
    )  # fmt: skip


async def save_end(
    tx: Connection, leased: LeasedJob, state: JobState, now: datetime, kept_until: datetime,
    *, failure: str | None = None,
) -> None:  # fmt: skip
    """End the job, which must be locked."""
    await tx.execute(_SAVE_END, leased.merchant_id, leased.job_id, state, failure, now, kept_until)


async def save_total(tx: Connection, merchant_id: int, job_id: UUID, total: int) -> None:
    await tx.execute(_SAVE_TOTAL, merchant_id, job_id, total)


async def release_job(tx: Connection, leased: LeasedJob, due_at: datetime) -> None:
    """Let another worker lease the job from `due_at` on."""
    await tx.execute(_RELEASE, leased.merchant_id, leased.job_id, leased.lease_id, due_at)


async def renew_job(
    tx: Connection, leased: LeasedJob, until: datetime, *, done: int | None, total: int | None
) -> bool:
    """Renew the lease and save the progress. Return False if the job was cancelled or another
    worker has leased it."""
    renewed: bool | None = await tx.fetchval(
        _RENEW, leased.merchant_id, leased.job_id, leased.lease_id, until, done, total
    )
    return renewed is True


async def list_expired_jobs(
    tx: Connection, now: datetime, limit: int
) -> Sequence[tuple[int, UUID]]:
    """Return merchant and job ids, over all merchants."""
    rows = await tx.fetch(_LIST_EXPIRED, now, limit)
    return [(row["merchant_id"], row["job_id"]) for row in rows]


async def delete_job(tx: Connection, merchant_id: int, job_id: UUID) -> None:
    """Delete the job with its rows."""
    await tx.execute(_REMOVE, merchant_id, job_id)


def _build_job(row: Row) -> BackgroundJob:
    origin = row["actor_origin"]
    return BackgroundJob(
        job_id=row["job_id"],
        task=decode_task(row["parameters"]),
        state=JobState(row["state"]),
        starter=Actor(
            ActorKind(row["actor_kind"]),
            row["actor_id"],
            rights=frozenset(map(Right, row["actor_rights"])),
            origin=None if origin is None else parse_origin(origin),
        ),
        progress=Progress(row["total"], row["done"], row["skipped"], row["failed"]),
        created_at=row["created_at"],
        started_at=row["started_at"],
        ended_at=row["ended_at"],
        failure=row["failure"],
        kept_until=row["kept_until"],
        retry_of=row["retry_of"],
    )


_INSERT_ROWS = """
INSERT INTO job_rows (merchant_id, job_id, position, claim_id)
SELECT $1, $2, position, claim_id
FROM unnest($3::bigint[]) WITH ORDINALITY AS selected (claim_id, position)
"""
_COPY_FAILED_ROWS = """
INSERT INTO job_rows (merchant_id, job_id, position, claim_id)
SELECT $1, $2, row_number() OVER (ORDER BY position), claim_id
FROM job_rows
WHERE merchant_id = $1 AND job_id = $3 AND outcome = 'FAILED'
RETURNING claim_id
"""
# Uses job_rows_waiting; the job is locked.
_LIST_WAITING_ROWS = """
SELECT claim_id
FROM job_rows
WHERE merchant_id = $1 AND job_id = $2 AND outcome = 'WAITING'
ORDER BY position
LIMIT $3
"""
_SAVE_OUTCOMES = """
UPDATE job_rows
SET outcome = o.outcome, reason = o.reason, message = o.message
FROM unnest($3::bigint[], $4::text[], $5::text[], $6::text[])
    AS o (claim_id, outcome, reason, message)
WHERE job_rows.merchant_id = $1 AND job_rows.job_id = $2 AND job_rows.claim_id = o.claim_id
"""
# Uses the primary key, or job_rows_by_outcome for rows with an outcome other than DONE.
_LIST_ROWS = """
SELECT position, claim_id, outcome, reason, message
FROM job_rows
WHERE merchant_id = $1 AND job_id = $2 AND position > $3
    AND ($4::text IS NULL OR outcome = $4)
ORDER BY position
LIMIT $5
"""
# Uses job_rows_by_outcome.
_COUNT_REASONS = """
SELECT outcome, reason, count(*) AS number
FROM job_rows
WHERE merchant_id = $1 AND job_id = $2 AND outcome IN ('SKIPPED', 'FAILED')
GROUP BY outcome, reason
ORDER BY number DESC, reason
"""
# Uses the primary key. Locks the claims in the order of their ids before anything else. It is a
# separate statement, so that the next one sees what was committed while this one waited.
_LOCK_CLAIMS = """
SELECT FROM claims
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
ORDER BY claim_id
FOR NO KEY UPDATE
"""
_LIST_CLAIMS = """
SELECT c.claim_id, c.status, c.currency, c.workflow_id, h.kinds, h.are_own_pauses, h.untils,
h.reasons FROM claims c
LEFT JOIN LATERAL (
    SELECT array_agg(kind) AS kinds, array_agg(until) AS untils, array_agg(reason) AS reasons,
           array_agg(kind = 'PAUSE' AND actor_kind <> 'DEBTOR') AS are_own_pauses
    FROM holds
    WHERE merchant_id = $1 AND claim_id = c.claim_id AND c.held AND lifted_at IS NULL
      AND (until IS NULL OR until > $3)
) h ON true
WHERE c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
"""


async def insert_rows(
    tx: Connection, merchant_id: int, job_id: UUID, claim_ids: Sequence[int]
) -> None:
    """Insert the claims as rows, in their order."""
    await tx.execute(_INSERT_ROWS, merchant_id, job_id, list(claim_ids))


async def insert_failed_rows(
    tx: Connection, merchant_id: int, job_id: UUID, of_job: UUID
) -> Sequence[int]:
    """Copy the failed rows of another job, and return their claims."""
    rows = await tx.fetch(_COPY_FAILED_ROWS, merchant_id, job_id, of_job)
    return [row["claim_id"] for row in rows]


async def list_waiting_rows(
    tx: Connection, merchant_id: int, job_id: UUID, limit: int
) -> Sequence[int]:
    """Return the next claims to process."""
    rows = await tx.fetch(_LIST_WAITING_ROWS, merchant_id, job_id, limit)
    return [row["claim_id"] for row in rows]


async def save_outcomes(tx: Connection, merchant_id: int, job_id: UUID, outcomes: Outcomes) -> None:
    columns = zip(
        *(
            (claim_id, RowOutcome.DONE, None, None)
            if each is None
            else (claim_id, each.outcome, each.reason, each.message)
            for claim_id, each in outcomes.items()
        ),
        strict=True,
    )
    await tx.execute(_SAVE_OUTCOMES, merchant_id, job_id, *map(list, columns))


async def list_rows(
    tx: Connection, merchant_id: int, job_id: UUID, outcome: RowOutcome | None,
    *, after: int, limit: int,
) -> Sequence[JobRow]:  # fmt: skip
    rows = await tx.fetch(_LIST_ROWS, merchant_id, job_id, after, outcome, limit)
    return [_build_row(row) for row in rows]


async def count_reasons(
    tx: Connection, merchant_id: int, job_id: UUID
) -> Mapping[tuple[RowOutcome, RowReason], int]:
    """Count the skipped and failed rows by outcome and reason, most frequent first."""
    rows = await tx.fetch(_COUNT_REASONS, merchant_id, job_id)
    return {(RowOutcome(row["outcome"]), RowReason(row["reason"])): row["number"] for row in rows}


async def lock_claims(tx: Connection, merchant_id: int, claim_ids: Sequence[int]) -> None:
    await tx.execute(_LOCK_CLAIMS, merchant_id, list(claim_ids))


async def load_job_claims(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], now: datetime
) -> Mapping[int, JobClaim]:
    """Return the existing claims by id."""
    rows = await tx.fetch(_LIST_CLAIMS, merchant_id, list(claim_ids), now)
    return {row["claim_id"]: _build_claim(row) for row in rows}


def _build_row(row: Row) -> JobRow:
    reason = row["reason"]
    return JobRow(
        row["position"], row["claim_id"], outcome=RowOutcome(row["outcome"]),
        reason=None if reason is None else RowReason(reason), message=row["message"],
    )  # fmt: skip


def _build_claim(row: Row) -> JobClaim:
    holds = zip(row["are_own_pauses"] or (), row["untils"] or (), row["reasons"] or (), strict=True)
    return JobClaim(
        claim_id=row["claim_id"],
        status=Status(row["status"]),
        currency=row["currency"],
        workflow_id=row["workflow_id"],
        holds=[HoldKind(each) for each in row["kinds"] or ()],
        pauses=[(until, reason) for is_own_pause, until, reason in holds if is_own_pause],
    )


# Uses the primary key, like the statements below.
_LOAD_FILES = """
SELECT part, file_key, size_bytes, next_cursor
FROM job_files
WHERE merchant_id = $1 AND job_id = $2
ORDER BY part
"""
_INSERT_FILE = """
INSERT INTO job_files (merchant_id, job_id, part, file_key)
VALUES ($1, $2, $3, $4)
"""
_SAVE_WRITTEN = """
UPDATE job_files
SET size_bytes = $4, next_cursor = $5
WHERE merchant_id = $1 AND job_id = $2 AND part = $3
"""
_REMOVE_FILE = """
DELETE FROM job_files
WHERE merchant_id = $1 AND job_id = $2 AND part = $3
"""


@dataclass(frozen=True, slots=True)
class FilePart:
    part: int
    file_key: str
    # None while the part is being written.
    size_bytes: int | None = None
    # Where the next part starts. None for the last part. Of a part that is not written yet, this is
    # where the part itself starts.
    next_cursor: str | None = None


async def list_files(tx: Connection, merchant_id: int, job_id: UUID) -> Sequence[FilePart]:
    """Return the parts in order."""
    return [FilePart(*row) for row in await tx.fetch(_LOAD_FILES, merchant_id, job_id)]


async def insert_file(tx: Connection, merchant_id: int, job_id: UUID, part: FilePart) -> None:
    await tx.execute(_INSERT_FILE, merchant_id, job_id, part.part, part.file_key)


async def save_written(tx: Connection, merchant_id: int, job_id: UUID, part: FilePart) -> None:
    await tx.execute(
        _SAVE_WRITTEN, merchant_id, job_id, part.part, part.size_bytes, part.next_cursor
    )


async def delete_file(tx: Connection, merchant_id: int, job_id: UUID, part: int) -> None:
    await tx.execute(_REMOVE_FILE, merchant_id, job_id, part)
