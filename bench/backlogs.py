"""The engine with many dormant claims in the table, and with all of them due at once."""

import time
from collections.abc import Sequence
from datetime import timedelta

from bench.dormant import fill_dormant
from bench.environment import Ground
from bench.line import Line
from bench.merchant import BenchMerchant, make_merchant, submit_claims
from bench.rounds import Scale
from dunwell.contact.escalation.engine import Engine
from dunwell.platform.clock import MovableClock

_FEW, _SOME, _MANY = 10_000, 100_000, 1_000_000
_DUE = 10_000


async def measure(ground: Ground, scale: Scale) -> list[Line]:
    """The small number is measured before and after the large one, because inserting the claims
    takes too long to be repeated."""
    many = scale.rows(_MANY)
    due = scale.rows(_DUE)
    bench = await make_merchant(ground, "Messages")
    beside_few, backlog_few = await _measure(ground, bench, _FEW, due, scale)
    _, backlog_some = await _measure(ground, bench, scale.rows(_SOME), due, scale)
    beside_many, backlog_many = await _measure(ground, bench, many, due, scale)
    again, _ = await _measure(ground, bench, _FEW, due, scale)
    return [
        Line(
            work=f"engine: time a step, {many:,} dormant claims beside the due ones", unit="us",
            ours=beside_many, beside=f"{_FEW:,} dormant", reference=[*beside_few, *again],
            ratio_at_most=1.15,
        ),
        *(
            Line(
                work=f"engine: the first claims of a backlog of {size:,}", unit="claims/s",
                ours=reached, beside=f"a backlog of {_FEW:,}", reference=backlog_few,
            )
            for size, reached in ((scale.rows(_SOME), backlog_some), (many, backlog_many))
        ),
    ]  # fmt: skip


async def _measure(
    ground: Ground, bench: BenchMerchant, dormant: int, due: int, scale: Scale
) -> tuple[Sequence[float], Sequence[float]]:
    """Return the microseconds of a step while `dormant` claims are not due, and the steps per
    second once they are due."""
    wakes_at = await fill_dormant(ground, bench, dormant)
    beside = []
    for number in range(scale.rounds):
        await submit_claims(bench, due, number * due)
        await ground.settle()
        beside.append(1_000_000 / await _run(bench, due))
    clock = bench.resources.clock
    assert isinstance(clock, MovableClock)
    started_at = clock.now()
    clock.move_to(wakes_at + timedelta(minutes=1))
    backlog = [await _run(bench, min(dormant, due))]
    clock.move_to(started_at)
    return beside, backlog


async def _run(bench: BenchMerchant, count: int) -> float:
    """Return the steps per second, over at least `count` steps."""
    engine = Engine(bench.resources)
    done = 0
    started = time.perf_counter()
    while done < count:
        steps = await engine.run_once()
        assert steps > 0
        done += steps
    return done / (time.perf_counter() - started)
