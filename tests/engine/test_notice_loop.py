"""A worker with its real loops sends what a debtor requests while they wait."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime

from dunwell.interfaces.landing.sign_in.store import LinkRequest, insert_link_request
from dunwell.interfaces.wiring import open_loops
from dunwell.interfaces.worker.loops import run_loops
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.resources import Resources
from tests.support.notices import NoticeHarness, a_notice_harness


async def test_a_worker_sends_a_code_within_seconds(
    resources: Resources, clock: MovableClock
) -> None:
    notice_harness = await _a_notice_harness_of_today(resources, clock)
    await notice_harness.request()

    await _run_until_sent(notice_harness)

    assert await notice_harness.states() == [("ACCEPTED", None)]


async def test_a_worker_sends_a_requested_link(resources: Resources, clock: MovableClock) -> None:
    notice_harness = await _a_notice_harness_of_today(resources, clock)
    over = notice_harness.harness.resources
    asked = LinkRequest("INV-1001", "erika@example.org", over.clock.now())
    async with over.database.transaction() as tx:
        await insert_link_request(tx, over.ids.new(asked.requested_at), asked)

    await _run_until_sent(notice_harness)

    assert [(row["kind"], row["state"]) for row in await notice_harness.rows()] == [
        ("LINK", "ACCEPTED")
    ]


async def _a_notice_harness_of_today(resources: Resources, clock: MovableClock) -> NoticeHarness:
    clock.move_to(datetime.now(UTC))
    return await a_notice_harness(replace(resources, clock=SystemClock()), clock)


async def _run_until_sent(notice_harness: NoticeHarness) -> None:
    """Run the loops as a worker does."""
    stop = asyncio.Event()
    async with open_loops(notice_harness.harness.resources, stop) as loops:
        running = asyncio.create_task(run_loops(loops, stop))
        try:
            async with asyncio.timeout(10):
                while await notice_harness.states() in ([], [("PLANNED", None)]):
                    pass  # Each query yields to the loops.
        finally:
            stop.set()
            await running
