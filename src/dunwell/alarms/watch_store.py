"""The SQL of looking for alarms: whose turn it is, and what was told."""

from collections.abc import Sequence
from datetime import datetime

from dunwell.alarms.mail_words import Telling
from dunwell.kit.db import Connection

# Whoever looks at this moment holds the row; the others wait for it, and then it is no turn.
_TAKE_TURN = """
INSERT INTO alarm_watch AS w (watch, looked_at) VALUES (1, $1)
ON CONFLICT (watch) DO UPDATE SET looked_at = excluded.looked_at
WHERE w.looked_at <= $2
RETURNING true
"""
_LOAD = "SELECT looked_at FROM alarm_watch WHERE watch = 1"
# Each once: by the primary key, and of an end by alarm_tellings_over.
_SAVE = """
INSERT INTO alarm_tellings (alarm_id, number, phase, told_at)
SELECT n.alarm_id, n.number, n.phase, $4
FROM unnest($1::uuid[], $2::integer[], $3::text[]) AS n (alarm_id, number, phase)
"""


async def take_turn(tx: Connection, now: datetime, last_before: datetime) -> bool:
    """False: somebody has looked since then."""
    return bool(await tx.fetchval(_TAKE_TURN, now, last_before))


async def load_looked_at(tx: Connection) -> datetime | None:
    """None: nobody has ever looked."""
    looked_at: datetime | None = await tx.fetchval(_LOAD)
    return looked_at


async def save_tellings(tx: Connection, tellings: Sequence[Telling], now: datetime) -> None:
    await tx.execute(
        _SAVE, [each.alarm.alarm_id for each in tellings],
        [each.alarm.tellings + 1 for each in tellings], [each.phase for each in tellings], now,
    )  # fmt: skip
