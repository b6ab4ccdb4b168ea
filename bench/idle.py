"""The processor time that an idle worker and its database use, with ten merchants and with ten
thousand."""

import asyncio

import psutil

from bench.children import child
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant
from bench.rounds import Scale

_FEW, _MANY = 10, 10_000
_COPY = """
INSERT INTO merchants (key, name, sandbox, switched_to_workflows, configuration, created_at)
SELECT key || '-' || n, name, sandbox, switched_to_workflows, configuration, created_at
FROM merchants, generate_series(1, $2) n
WHERE merchant_id = $1
"""
_REMOVE = """
DELETE FROM merchants
WHERE key LIKE (SELECT key FROM merchants WHERE merchant_id = $1) || '-%'
"""
_START_SECONDS = 3.0
# The system counts processor time in hundredths of a second, and each server process is rounded
# separately.
_SECONDS = 10


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    await ground.clear_claims()
    few, many = [], []
    for _ in range(scale.rounds):
        few.append(await _idle(ground, bench, _FEW, scale))
        many.append(await _idle(ground, bench, _MANY, scale))
    return [
        Line(
            work=f"idle worker and its database, {_MANY:,} merchants", unit="ms of CPU a second",
            ours=many, beside=f"{_FEW} merchants", reference=few, ratio_at_most=1.2,
        )
    ]  # fmt: skip


async def _idle(ground: Ground, bench: BenchMerchant, merchants: int, scale: Scale) -> float:
    async with ground.database.connection() as connection:
        await connection.execute(_COPY, bench.merchant.merchant_id, merchants)
    await ground.settle()
    try:
        async with child("dunwell", ["worker"], ground) as worker:
            await asyncio.sleep(_START_SECONDS)
            before = _read_cpu(ground, worker.pid)
            seconds = _SECONDS * scale.seconds / 2
            await asyncio.sleep(seconds)
            return (_read_cpu(ground, worker.pid) - before) * 1000 / seconds
    finally:
        async with ground.database.connection() as connection:
            await connection.execute(_REMOVE, bench.merchant.merchant_id)


def _read_cpu(ground: Ground, worker: int) -> float:
    """Return the seconds that the worker and all server processes have used."""
    server = psutil.Process(ground.server_pid)
    processes = [psutil.Process(worker), server, *server.children(recursive=True)]
    return sum(sum(each.cpu_times()[:2]) for each in processes)
