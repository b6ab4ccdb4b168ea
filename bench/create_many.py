"""Claims that are created over HTTP, 500 in a request, compared with COPY of the same rows into the
same tables."""

from functools import partial

from bench.children import put_load, web_processes
from bench.copying import copy_claims
from bench.environment import Ground
from bench.http_load import Job
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, obtain_token, start_intake
from bench.rounds import Scale, alternate

_CONNECTIONS = 4
_CLAIMS = 500
_ALL_CLAIMS = 100_000
_FIRST_NUMBER = 10_000_000


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    bench = await make_merchant(ground, "Messages", is_live=True)
    token = await obtain_token(bench)
    one, copy, two = await alternate(
        scale,
        [
            partial(_serve, ground, scale, (bench, token), 1),
            partial(_copy, ground, scale, bench),
            partial(_serve, ground, scale, (bench, token), 2),
        ],
    )
    return [
        Line(
            work=f"create claims, 500 a request, 4 connections, {name}", unit="claims/s",
            ours=ours, beside="COPY of the same rows, 4 connections", reference=copy,
            at_least=0.60,
        )
        for name, ours in (("1 web process", one), ("2 web processes", two))
    ]  # fmt: skip


async def _serve(
    ground: Ground, scale: Scale, caller: tuple[BenchMerchant, str], processes: int
) -> float:
    bench, token = caller
    await start_intake(ground, bench)
    async with web_processes(ground, processes) as ports:
        load = None
        warm_up = 2 * _CONNECTIONS * _CLAIMS
        for first_number, count in ((0, warm_up), (_FIRST_NUMBER, scale.rows(_ALL_CLAIMS))):
            load = await put_load(
                Job(
                    ports=ports, merchant_id=bench.merchant.merchant_id, token=token,
                    connections=_CONNECTIONS, claims=_CLAIMS, first_number=first_number,
                    requests=count // _CLAIMS,
                )
            )  # fmt: skip
    assert load is not None
    return load.rate


async def _copy(ground: Ground, scale: Scale, bench: BenchMerchant) -> float:
    await start_intake(ground, bench)
    end = _FIRST_NUMBER + scale.rows(_ALL_CLAIMS)
    batches = [range(start, start + _CLAIMS) for start in range(_FIRST_NUMBER, end, _CLAIMS)]
    return await copy_claims(ground, bench, batches, _CONNECTIONS)
