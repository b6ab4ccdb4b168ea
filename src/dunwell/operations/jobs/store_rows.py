"""The SQL of jobs' rows, and of what is asked of their claims: rows in, values out, no rules."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.states import Status
from dunwell.operations.jobs.decision import ClaimFacts
from dunwell.operations.jobs.job import JobRow, Outcomes, Reason, RowOutcome
from dunwell.platform.database.database import Connection, Row

_SAVE = """
INSERT INTO job_rows (merchant_id, job_id, position, claim_id)
SELECT $1, $2, position, claim_id
FROM unnest($3::bigint[]) WITH ORDINALITY AS selected (claim_id, position)
"""
_SAVE_FAILED = """
INSERT INTO job_rows (merchant_id, job_id, position, claim_id)
SELECT $1, $2, row_number() OVER (ORDER BY position), claim_id
FROM job_rows
WHERE merchant_id = $1 AND job_id = $3 AND outcome = 'FAILED'
RETURNING claim_id
"""
# Rides on job_rows_waiting; the job is locked.
_LOAD_WAITING = """
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
# By primary key; of one outcome that was not done, by job_rows_by_outcome.
_LIST = """
SELECT position, claim_id, outcome, reason, message
FROM job_rows
WHERE merchant_id = $1 AND job_id = $2 AND position > $3
    AND ($4::text IS NULL OR outcome = $4)
ORDER BY position
LIMIT $5
"""
# Rides on job_rows_by_outcome.
_COUNT = """
SELECT outcome, reason, count(*) AS number
FROM job_rows
WHERE merchant_id = $1 AND job_id = $2 AND outcome IN ('SKIPPED', 'FAILED')
GROUP BY outcome, reason
ORDER BY number DESC, reason
"""
# Before all else, in the order of ids; a statement of its own, so that the next sees what was
# committed while this one waited. By primary keys, as the next.
_LOCK_CLAIMS = """
SELECT FROM claims
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
ORDER BY claim_id
FOR NO KEY UPDATE
"""
_LOAD_FACTS = """
SELECT c.claim_id, c.status, c.currency, c.workflow_id, h.kinds, h.own, h.untils, h.reasons
FROM claims c
LEFT JOIN LATERAL (
    SELECT array_agg(kind) AS kinds, array_agg(until) AS untils, array_agg(reason) AS reasons,
           array_agg(kind = 'PAUSE' AND actor_kind <> 'DEBTOR') AS own
    FROM holds
    WHERE merchant_id = $1 AND claim_id = c.claim_id AND c.held AND lifted_at IS NULL
      AND (until IS NULL OR until > $3)
) h ON true
WHERE c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
"""


async def save_rows(
    tx: Connection, merchant_id: int, job_id: UUID, claim_ids: Sequence[int]
) -> None:
    """In their order, each once."""
    await tx.execute(_SAVE, merchant_id, job_id, list(claim_ids))


async def save_failed_rows(
    tx: Connection, merchant_id: int, job_id: UUID, of_job: UUID
) -> Sequence[int]:
    """The failed rows of another job as those of this one; their claims."""
    rows = await tx.fetch(_SAVE_FAILED, merchant_id, job_id, of_job)
    return [row["claim_id"] for row in rows]


async def load_waiting(tx: Connection, merchant_id: int, job_id: UUID, limit: int) -> Sequence[int]:
    """The next claims whose turn it is."""
    rows = await tx.fetch(_LOAD_WAITING, merchant_id, job_id, limit)
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
    rows = await tx.fetch(_LIST, merchant_id, job_id, after, outcome, limit)
    return [_read(row) for row in rows]


async def count_reasons(
    tx: Connection, merchant_id: int, job_id: UUID
) -> Mapping[tuple[RowOutcome, Reason], int]:
    """How many rows were not done, by outcome and reason, the most frequent first."""
    rows = await tx.fetch(_COUNT, merchant_id, job_id)
    return {(RowOutcome(row["outcome"]), Reason(row["reason"])): row["number"] for row in rows}


async def lock_claims(tx: Connection, merchant_id: int, claim_ids: Sequence[int]) -> None:
    await tx.execute(_LOCK_CLAIMS, merchant_id, list(claim_ids))


async def load_facts(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], now: datetime
) -> Mapping[int, ClaimFacts]:
    """By claim; those that there are."""
    rows = await tx.fetch(_LOAD_FACTS, merchant_id, list(claim_ids), now)
    return {row["claim_id"]: _read_facts(row) for row in rows}


def _read(row: Row) -> JobRow:
    reason = row["reason"]
    return JobRow(
        row["position"], row["claim_id"], outcome=RowOutcome(row["outcome"]),
        reason=None if reason is None else Reason(reason), message=row["message"],
    )  # fmt: skip


def _read_facts(row: Row) -> ClaimFacts:
    own = zip(row["own"] or (), row["untils"] or (), row["reasons"] or (), strict=True)
    return ClaimFacts(
        claim_id=row["claim_id"],
        status=Status(row["status"]),
        currency=row["currency"],
        workflow_id=row["workflow_id"],
        holds=[HoldKind(each) for each in row["kinds"] or ()],
        pauses=[(until, reason) for is_own, until, reason in own if is_own],
    )
