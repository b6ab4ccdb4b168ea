"""Runs a simulation to its end: ends holds, records results and sends messages until nothing is
due."""

from datetime import datetime

from dunwell.core.claims.states import Status
from dunwell.operations.sandbox.store import load_due_times
from tests.support.process_simulation import ProcessSimulation


async def run_to_the_end(simulation: ProcessSimulation) -> None:
    """End holds, record results and send messages at each due instant until nothing is due."""
    for claim_id in simulation.claim_ids:
        await simulation.lift(claim_id)
    for _ in range(300):
        for which in range(2):
            await simulation.finish_dispatch(which)
        await simulation.run_all()
        if await simulation.list_contacts("UNKNOWN"):
            await simulation.settle(0, was_sent=True)
            continue
        following = await _find_next(simulation)
        if following is None:
            return
        simulation.harness.clock.move_to(max(simulation.harness.clock.now(), following))
    raise AssertionError("nothing ends")


async def _find_next(simulation: ProcessSimulation) -> datetime | None:
    """Return the next instant at which something is due. Ends of leases count too, because messages
    of a stopped dispatcher are then taken over."""
    async with simulation.harness.resources.database.connection() as connection:
        due = (await load_due_times(connection, simulation.merchant_id)).next_at
    rows = await simulation.harness.rows(
        "SELECT min(lease_until) AS at FROM communications"
        " WHERE merchant_id = $1 AND state = 'HANDED_OVER'"
    )
    return min((at for at in (due, rows[0]["at"]) if at is not None), default=None)


async def list_active(simulation: ProcessSimulation) -> list[int]:
    """Return the claims whose workflow has started and has not ended."""
    rows = await simulation.harness.rows(
        "SELECT claim_id FROM claims WHERE merchant_id = $1 AND status = ANY($2) AND run > 0",
        [Status.CREATED, Status.IN_PROCESS],
    )
    return [row["claim_id"] for row in rows]
