"""The SQL of a line's pace, shared by all workers: what it may be given in the next moment."""

from datetime import datetime

from dunwell.platform.database.database import Connection

# Room for one second ahead is given out; the rest waits for its time.
# The row is held to the end of the transaction: two workers share the room, none counts it twice.
_LOCK = """
INSERT INTO line_paces (line, free_at) VALUES ($1, $2)
ON CONFLICT (line) DO UPDATE SET free_at = greatest(line_paces.free_at, $2)
RETURNING greatest(0, floor(extract(epoch FROM $2 + interval '1 second' - free_at) * $3))::integer
"""
_TAKE = "UPDATE line_paces SET free_at = free_at + $2 * interval '1 second' WHERE line = $1"


async def lock_room(tx: Connection, line: str, per_second: float, real_now: datetime) -> int:
    """How many messages it takes now."""
    room: int = await tx.fetchval(_LOCK, line, real_now, per_second)
    return room


async def take_room(tx: Connection, line: str, per_second: float, messages: int) -> None:
    """Of a line that is locked."""
    await tx.execute(_TAKE, line, messages / per_second)
