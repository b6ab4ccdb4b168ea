"""Claims created one a request over HTTP, beside pgbench with the same statements and commits."""

from functools import partial

from bench.captured import capture_access, capture_creation
from bench.children import put_load, web_processes
from bench.claims import reference_of
from bench.ground import Ground
from bench.http_load import Job
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, obtain_token, start_intake
from bench.pgbench import Run, run_pgbench
from bench.rounds import Scale, alternate

_CONNECTIONS = 16
_WARM_UP_SECONDS = 1.0
_REFERENCE = "pgbench, same statements and commits"


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    token = await obtain_token(bench)
    one, pgbench, two = await alternate(
        scale,
        [
            partial(_serve, ground, scale, (bench, token), 1),
            partial(_run_reference, ground, scale, (bench, token)),
            partial(_serve, ground, scale, (bench, token), 2),
        ],
    )
    return [
        *_compare(one, pgbench, "1 web process"),
        *_compare(two, pgbench, "2 web processes"),
    ]


def _compare(ours: list[Run], reference: list[Run], name: str) -> list[Line]:
    return [
        Line(
            work=f"create claims, 1 a request, 16 connections, {name}", unit="claims/s",
            ours=[run.rate for run in ours], beside=_REFERENCE,
            reference=[run.rate for run in reference], at_least=0.33,
        ),
        Line(
            work=f"99 % of these requests answered within (p99), {name}", unit="ms",
            ours=[run.p99_ms for run in ours], beside=_REFERENCE,
            reference=[run.p99_ms for run in reference], at_most=12,
        ),
    ]  # fmt: skip


async def _serve(
    ground: Ground, scale: Scale, caller: tuple[BenchMerchant, str], processes: int
) -> Run:
    bench, token = caller
    await start_intake(ground, bench)
    async with web_processes(ground, processes) as ports:
        load = None
        for first_number, seconds in ((0, _WARM_UP_SECONDS), (10_000_000, scale.seconds)):
            load = await put_load(
                Job(
                    ports=ports, merchant_id=bench.merchant.merchant_id, token=token,
                    connections=_CONNECTIONS, claims=1, first_number=first_number, seconds=seconds,
                )
            )  # fmt: skip
    assert load is not None
    return Run(load.rate, load.p99_ms)


async def _run_reference(ground: Ground, scale: Scale, caller: tuple[BenchMerchant, str]) -> Run:
    bench, token = caller
    await start_intake(ground, bench)
    statements = [
        await capture_access(bench, token),
        await capture_creation(bench, range(1, 2)),
    ]
    return await run_pgbench(
        ground, statements, reference_of(1), clients=_CONNECTIONS, seconds=scale.seconds
    )
