"""Claims that are created over HTTP, one in a request, compared with pgbench and plain INSERTs of
the same rows."""

from functools import partial
from uuid import uuid4

from bench.captured import capture_creation
from bench.children import put_load, web_processes
from bench.claims import reference_of
from bench.environment import Ground
from bench.http_load import Job
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, obtain_token, start_intake
from bench.pgbench import Run, run_pgbench
from bench.rounds import Scale, alternate
from bench.stored_rows import list_tables

_WARM_UP_SECONDS = 1.0
_REFERENCE = "pgbench, plain INSERTs of the same rows"
# Connections -> the goal for each single web process.
_GOALS = {16: 0.70, 64: 1.10}


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    caller = (bench, await obtain_token(bench))
    lines = []
    for connections, goal in _GOALS.items():
        serve = partial(_serve, ground, scale, caller, connections)
        one, pgbench, two, keyed = await alternate(
            scale,
            [
                partial(serve, 1),
                partial(_run_reference, ground, scale, bench, connections),
                partial(serve, 2),
                partial(serve, 1, has_keys=True),
            ],
        )
        lines += _compare(one, pgbench, f"{connections} connections, 1 web process", goal)
        lines += _compare(two, pgbench, f"{connections} connections, 2 web processes", goal)
        lines += _compare(keyed, pgbench, f"{connections} connections, Idempotency-Key", None)
    return lines


def _compare(ours: list[Run], reference: list[Run], name: str, goal: float | None) -> list[Line]:
    return [
        Line(
            work=f"create claims, 1 a request, {name}", unit="claims/s",
            ours=[run.rate for run in ours], beside=_REFERENCE,
            reference=[run.rate for run in reference], at_least=goal,
        ),
        Line(
            work=f"99 % of these requests answered within (p99), {name}", unit="ms",
            ours=[run.p99_ms for run in ours], beside=_REFERENCE,
            reference=[run.p99_ms for run in reference],
        ),
    ]  # fmt: skip


async def _serve(
    ground: Ground, scale: Scale, caller: tuple[BenchMerchant, str], connections: int,
    processes: int, *, has_keys: bool = False,
) -> Run:  # fmt: skip
    bench, token = caller
    await start_intake(ground, bench)
    async with web_processes(ground, processes) as ports:
        load = None
        for first_number, seconds in ((0, _WARM_UP_SECONDS), (10_000_000, scale.seconds)):
            load = await put_load(
                Job(
                    ports=ports, merchant_id=bench.merchant.merchant_id, token=token,
                    connections=connections, claims=1, first_number=first_number, seconds=seconds,
                    keys=uuid4().hex if has_keys else "",
                )
            )  # fmt: skip
    assert load is not None
    return Run(load.rate, load.p99_ms)


async def _run_reference(
    ground: Ground, scale: Scale, bench: BenchMerchant, connections: int
) -> Run:
    await start_intake(ground, bench)
    tables = list_tables(await capture_creation(bench, range(1, 2)), 1)
    return await run_pgbench(
        ground, tables, reference_of(1), clients=connections, seconds=scale.seconds
    )
