"""Claims created one a request over HTTP, beside pgbench with the same statements and commits."""

from functools import partial

from bench.captured import capture_access, capture_creation
from bench.children import put_load, web_processes
from bench.claims import reference_of
from bench.ground import Ground
from bench.http_load import Job, Load
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, obtain_token, start_intake
from bench.pgbench import run_pgbench
from bench.rounds import Scale, alternate

_CONNECTIONS = 16
_WARM_UP_SECONDS = 1.0
_REFERENCE = "pgbench, same statements and commits"


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    token = await obtain_token(bench)
    loads: dict[int, list[Load]] = {1: [], 2: []}

    async def serve(processes: int) -> float:
        load = await _serve(ground, scale, (bench, token), processes)
        loads[processes].append(load)
        return load.rate

    one, pgbench, two = await alternate(
        scale,
        [
            partial(serve, 1),
            partial(_run_reference, ground, scale, (bench, token)),
            partial(serve, 2),
        ],
    )
    return [*_compare(one, pgbench, loads[1], 1), *_compare(two, pgbench, loads[2], 2)]


def _compare(
    ours: list[float], reference: list[float], loads: list[Load], processes: int
) -> list[Line]:
    name = f"{processes} web process{'es' if processes > 1 else ''}"
    return [
        Line(
            work=f"create claims, 1 a request, 16 connections, {name}", unit="claims/s",
            ours=ours, beside=_REFERENCE, reference=reference, at_least=0.33,
        ),
        Line(
            work=f"the slowest 1 % of these requests (p99), {name}", unit="ms",
            ours=[load.p99_ms for load in loads], at_most=12,
        ),
    ]  # fmt: skip


async def _serve(
    ground: Ground, scale: Scale, caller: tuple[BenchMerchant, str], processes: int
) -> Load:
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
    return load


async def _run_reference(
    ground: Ground, scale: Scale, caller: tuple[BenchMerchant, str]
) -> float:
    bench, token = caller
    await start_intake(ground, bench)
    statements = [
        await capture_access(bench, token),
        await capture_creation(bench, range(1, 2)),
    ]
    return await run_pgbench(
        ground, statements, reference_of(1), clients=_CONNECTIONS, seconds=scale.seconds
    )
