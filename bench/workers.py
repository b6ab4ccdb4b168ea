"""The engine in 1, 2 and 4 worker processes over the same due claims of several merchants."""

import asyncio
import time
from contextlib import AsyncExitStack
from functools import partial

from bench.children import child
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale, alternate

_CLAIMS = 20_000
_MERCHANTS = 8
_COUNTS = (1, 2, 4)


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    merchants = [await make_merchant(ground, "Messages") for _ in range(_MERCHANTS)]
    claims_per_merchant = scale.rows(_CLAIMS) // _MERCHANTS
    reached = await alternate(
        scale, [partial(_drain, ground, merchants, claims_per_merchant, count) for count in _COUNTS]
    )
    return [
        Line(
            work=f"engine: {count} worker processes, {_MERCHANTS} merchants", unit="claims/s",
            ours=rates, beside="1 worker process", reference=reached[0],
        )
        for count, rates in zip(_COUNTS[1:], reached[1:], strict=True)
    ]  # fmt: skip


async def _drain(
    ground: Ground, merchants: list[BenchMerchant], claims_per_merchant: int, workers: int
) -> float:
    await ground.clear_claims()
    for place, bench in enumerate(merchants):
        await submit_claims(bench, claims_per_merchant, place * claims_per_merchant)
    await ground.settle()
    now = merchants[0].resources.clock.now()
    async with AsyncExitStack() as stack:
        engines = [
            await stack.enter_async_context(
                child("bench.engine_process", [now.isoformat()], ground)
            )
            for _ in range(workers)
        ]
        for engine in engines:
            assert engine.stdout is not None
            await engine.stdout.readline()
        started = time.perf_counter()
        for engine in engines:
            assert engine.stdin is not None
            engine.stdin.write(b"go\n")
        await asyncio.gather(*(engine.wait() for engine in engines))
        seconds = time.perf_counter() - started
    async with ground.database.connection() as connection:
        left = await connection.fetchval("SELECT count(*) FROM claims WHERE status = 'CREATED'")
    assert left == 0
    return len(merchants) * claims_per_merchant / seconds
