"""A job that pauses ten thousand claims, run by one worker, and the same job cancelled half-way.
After that every claim must be either fully paused or unchanged."""

import asyncio
import time
from collections.abc import Sequence
from uuid import UUID

from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale
from dunwell.operations.jobs.claim_jobs import run_jobs
from dunwell.operations.jobs.job import Pause
from dunwell.operations.jobs.jobs import cancel_job, start_job

_CLAIMS, _MAX_SECONDS = 10_000, 30
_SELECT = "SELECT claim_id FROM claims WHERE merchant_id = $1 ORDER BY claim_id"
# A claim's mark, its hold, its row of the audit log and its row of the job: either all of them or
# none.
_COUNT = """
SELECT count(*) FILTER (WHERE parts = 4) AS whole, count(*) FILTER (WHERE parts BETWEEN 1 AND 3)
       AS torn
FROM claims c
CROSS JOIN LATERAL (
    SELECT c.held::integer
        + (SELECT count(*) FROM holds h
           WHERE h.merchant_id = $1 AND h.claim_id = c.claim_id AND h.kind = 'PAUSE')
        + (SELECT count(*) FROM audit_log a
           WHERE a.merchant_id = $1 AND a.subject = 'claim:' || c.claim_id
             AND a.action <> 'claims.create')
        + (SELECT count(*) FROM job_rows r
           WHERE r.merchant_id = $1 AND r.job_id = $2 AND r.claim_id = c.claim_id
             AND r.outcome = 'DONE') AS parts) counted
WHERE c.merchant_id = $1
"""


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    count = scale.rows(_CLAIMS)
    seconds, share = list[float](), list[float]()
    for _ in range(scale.rounds):
        claim_ids = await _prepare(ground, bench, count)
        seconds.append(await _pause(bench, claim_ids))
        claim_ids = await _prepare(ground, bench, count)
        share.append(await _cancel_half_way(bench, claim_ids))
    await ground.clear_claims()
    return [
        Line(
            work=f"bulk pause of {count:,} claims, one worker", unit="s", ours=seconds,
            at_most=_MAX_SECONDS * count / _CLAIMS,
        ),
        Line(
            work="bulk pause cancelled half-way: claims paused, each of them whole", unit="claims",
            ours=share,
        ),
    ]  # fmt: skip


async def _prepare(ground: Ground, bench: BenchMerchant, count: int) -> list[int]:
    await ground.clear_claims()
    await submit_claims(bench, count)
    await ground.settle()
    async with ground.database.connection() as connection:
        rows = await connection.fetch(_SELECT, bench.merchant.merchant_id)
    return [row["claim_id"] for row in rows]


async def _pause(bench: BenchMerchant, claim_ids: Sequence[int]) -> float:
    """Return the seconds from the start of the job to its end."""
    started = time.perf_counter()
    job_id = await _start(bench, claim_ids)
    while await run_jobs(bench.resources):
        pass
    seconds = time.perf_counter() - started
    assert await _count(bench, job_id) == len(claim_ids)
    return seconds


async def _cancel_half_way(bench: BenchMerchant, claim_ids: Sequence[int]) -> float:
    """Return how many claims were paused. A partly paused claim is an error."""
    job_id = await _start(bench, claim_ids)
    worker = asyncio.create_task(_work(bench))
    while await _count_done(bench, job_id) < len(claim_ids) / 2:  # noqa: ASYNC110 - a row tells
        await asyncio.sleep(0.05)
    async with bench.resources.database.transaction() as tx:
        await cancel_job(bench.work(tx), job_id)
    await worker
    paused = await _count(bench, job_id)
    assert paused < len(claim_ids), "it was cancelled too late"
    return paused


async def _work(bench: BenchMerchant) -> None:
    while await run_jobs(bench.resources):
        pass


async def _start(bench: BenchMerchant, claim_ids: Sequence[int]) -> UUID:
    async with bench.resources.database.transaction() as tx:
        return (await start_job(bench.work(tx), Pause(reason="Bench"), claim_ids)).job_id


async def _count_done(bench: BenchMerchant, job_id: UUID) -> int:
    async with bench.resources.database.connection() as connection:
        done: int = await connection.fetchval(
            "SELECT done FROM jobs WHERE merchant_id = $1 AND job_id = $2",
            bench.merchant.merchant_id, job_id,
        )  # fmt: skip
    return done


async def _count(bench: BenchMerchant, job_id: UUID) -> int:
    async with bench.resources.database.connection() as connection:
        row = await connection.fetchrow(_COUNT, bench.merchant.merchant_id, job_id, timeout=120)
    assert row is not None
    if row["torn"]:
        raise RuntimeError(f"{row['torn']} claims were paused in part")
    whole: int = row["whole"]
    return whole
