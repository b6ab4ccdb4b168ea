"""Plays a world to its end: lifts, settles and sends all there is, until nothing falls due."""

from datetime import datetime

from dunwell.core.claims.states import Status
from dunwell.operations.sandbox.store import load_due_times
from tests.support.process_world import World


async def play_out(world: World) -> None:
    """Lift, settle and send all there is, instant by instant, until nothing falls due."""
    for claim_id in world.claim_ids:
        await world.lift(claim_id)
    for _ in range(300):
        for which in range(2):
            await world.finish_dispatch(which)
        await world.run_all()
        if await world.list_contacts("UNKNOWN"):
            await world.settle(0, was_sent=True)
            continue
        following = await _find_next(world)
        if following is None:
            return
        world.house.clock.move_to(max(world.house.clock.now(), following))
    raise AssertionError("nothing ends")


async def _find_next(world: World) -> datetime | None:
    """A lease's end counts too: what a dispatcher left is taken up then."""
    async with world.house.resources.database.connection() as connection:
        due = (await load_due_times(connection, world.merchant_id)).next_at
    rows = await world.house.rows(
        "SELECT min(lease_until) AS at FROM communications"
        " WHERE merchant_id = $1 AND state = 'HANDED_OVER'"
    )
    return min((at for at in (due, rows[0]["at"]) if at is not None), default=None)


async def list_active(world: World) -> list[int]:
    """Claims whose process has not ended; those without one never began."""
    rows = await world.house.rows(
        "SELECT claim_id FROM claims WHERE merchant_id = $1 AND status = ANY($2) AND run > 0",
        [Status.CREATED, Status.IN_PROCESS],
    )
    return [row["claim_id"] for row in rows]
