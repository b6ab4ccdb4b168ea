"""The engine over due claims, compared with queues whose jobs do nothing, with one worker each.
Claims are counted; a claim with a fee goes through two steps, the fee and the following wait."""

import time
from functools import partial

from bench.celery_queue import drain_celery, has_redis, open_redis
from bench.children import instant_receiver
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.pgqueuer_queue import drain_pgqueuer, enqueue_pgqueuer, install_pgqueuer
from bench.procrastinate_queue import (
    drain_procrastinate,
    enqueue_procrastinate,
    install_procrastinate,
)
from bench.rounds import Scale, alternate
from dunwell.contact.escalation.engine import Engine

_CLAIMS = 50_000
_PROCRASTINATE_JOBS = 5_000
_CELERY_JOBS = 5_000


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    count = scale.rows(_CLAIMS)
    pgqueuer_url = await ground.make_database("engine_pgqueuer")
    await install_pgqueuer(pgqueuer_url)
    procrastinate_url = await ground.make_database("engine_procrastinate")
    await install_procrastinate(procrastinate_url)
    async with instant_receiver(ground) as webhook:
        contacts = await make_merchant(ground, "Messages")
        fees = await make_merchant(ground, "Fees", webhook)
    messages, pgqueuer, with_events, procrastinate = await alternate(
        scale,
        [
            partial(_run_engine, ground, contacts, count),
            partial(_run_pgqueuer, ground, pgqueuer_url, count),
            partial(_run_engine, ground, fees, count),
            partial(_run_procrastinate, ground, procrastinate_url, scale),
        ],
    )
    return [
        Line(
            work="engine: due contacts decided and planned", unit="claims/s", ours=messages,
            beside="pgqueuer, no-op jobs, batches of 500", reference=pgqueuer,
            reference_unit="operations/jobs/s", at_least=0.6,
        ),
        Line(
            work="engine: fees added with an event for a webhook each, and waits begun",
            unit="claims/s", ours=with_events,
            beside="pgqueuer, no-op jobs, batches of 500", reference=pgqueuer,
            reference_unit="operations/jobs/s", at_least=0.6,
        ),
        Line(
            work="engine: due contacts decided and planned", unit="claims/s", ours=messages,
            beside="procrastinate, no-op jobs", reference=procrastinate,
            reference_unit="operations/jobs/s",
        ),
        *await _compare_celery(ground, messages, scale),
    ]  # fmt: skip


async def _compare_celery(ground: Ground, ours: list[float], scale: Scale) -> list[Line]:
    if not has_redis():
        print("  no redis on this machine: celery is left out")
        return []
    async with open_redis(ground.folder) as url:
        count = scale.rows(_CELERY_JOBS)
        reference = [await drain_celery(url, count) for _ in range(scale.rounds)]
    return [
        Line(
            work="engine: due contacts decided and planned", unit="claims/s", ours=ours,
            beside="celery with redis in memory, no-op jobs", reference=reference,
            reference_unit="operations/jobs/s",
        )
    ]  # fmt: skip


async def _run_engine(ground: Ground, bench: BenchMerchant, count: int) -> float:
    """Return the claims per second, until nothing is due any more."""
    await ground.clear_claims()
    await submit_claims(bench, count)
    await ground.settle()
    engine = Engine(bench.resources)
    started = time.perf_counter()
    while await engine.run_once():
        pass
    seconds = time.perf_counter() - started
    async with ground.database.connection() as connection:
        moved = await connection.fetchval("SELECT count(*) FROM claims WHERE status = 'IN_PROCESS'")
    assert moved == count
    return count / seconds


async def _run_pgqueuer(ground: Ground, url: str, count: int) -> float:
    await enqueue_pgqueuer(url, count)
    await ground.settle(url)
    return await drain_pgqueuer(url, count)


async def _run_procrastinate(ground: Ground, url: str, scale: Scale) -> float:
    count = scale.rows(_PROCRASTINATE_JOBS)
    await enqueue_procrastinate(url, count)
    await ground.settle(url)
    return await drain_procrastinate(url, count)
