"""Counts what somebody may do only so often, in the database, so over all processes.

Whoever or whatever it is about is known by a keyed digest alone, which the caller makes. Rules of
how often are the callers'; instants are real time.
"""

from datetime import datetime, timedelta

import msgspec

from dunwell.platform.database.database import Connection

# The longest that any caller looks back; older ones are swept.
LOOKED_BACK = timedelta(hours=1)
_ROWS_AT_ONCE = 5000
# Attempts of one subject take turns, also the first ones, which have no row to lock.
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 12))"
# By primary key, as the next.
_LOAD = "SELECT count, first_at, last_at FROM attempts WHERE subject_digest = $1"
_SAVE = """
INSERT INTO attempts (subject_digest, count, first_at, last_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (subject_digest) DO UPDATE
SET count = excluded.count, first_at = excluded.first_at, last_at = excluded.last_at
"""
# By primary key.
_GIVE_BACK = "UPDATE attempts SET count = count - 1 WHERE subject_digest = $1 AND count > 0"
# Rides on attempts_last.
_REMOVE = """
DELETE FROM attempts
WHERE subject_digest IN (SELECT subject_digest FROM attempts WHERE last_at < $1 LIMIT $2)
"""


class Attempts(msgspec.Struct, frozen=True, gc=False):
    """Of one subject: how many, the first and the last of those that count together."""

    count: int
    first_at: datetime
    last_at: datetime


async def load_attempts(tx: Connection, subject: bytes) -> Attempts | None:
    """Others of this subject wait until the transaction ends."""
    await tx.execute(_TAKE_TURN, subject)
    row = await tx.fetchrow(_LOAD, subject)
    return None if row is None else Attempts(**row)


async def count_attempt(
    tx: Connection, subject: bytes, known: Attempts | None, now: datetime
) -> Attempts:
    """One more than those known; none: those before count no more. The subject's turn is taken."""
    attempts = Attempts(1, now, now)
    if known is not None:
        attempts = Attempts(known.count + 1, known.first_at, now)
    await tx.execute(_SAVE, subject, attempts.count, attempts.first_at, attempts.last_at)
    return attempts


async def uncount_attempt(tx: Connection, subject: bytes) -> None:
    """One that was counted turned out not to count."""
    await tx.execute(_GIVE_BACK, subject)


async def remove_attempts(tx: Connection, now: datetime) -> int:
    """Those nobody looks back at; how many, as many as _ROWS_AT_ONCE: sweep again."""
    tag: str = await tx.execute(_REMOVE, now - LOOKED_BACK, _ROWS_AT_ONCE)
    return int(tag.rpartition(" ")[2])
