"""A worker as it is wired sends what a debtor asks for while they wait."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from dunwell.kit.clock import MovableClock, SystemClock
from dunwell.kit.resources import Resources
from dunwell.wiring import open_loops
from dunwell.worker.loops import run_loops
from tests.support.notices import an_asker


async def test_a_workers_loops_send_a_code_within_seconds(
    resources: Resources, clock: MovableClock
) -> None:
    clock.move_to(datetime.now(UTC))
    resources = replace(resources, clock=SystemClock())
    asker, stop = await an_asker(resources, clock), asyncio.Event()
    await asker.planned()
    async with open_loops(resources, stop) as loops:
        running = asyncio.create_task(run_loops(loops, stop))
        try:
            async with asyncio.timeout(5):
                while await asker.states() == [("PLANNED", None)]:
                    pass  # each look gives way to the loops
        finally:
            stop.set()
            await running
    assert await asker.states() == [("ACCEPTED", None)]
