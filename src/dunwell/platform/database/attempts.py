"""Count attempts in the database, so that a rate limit holds for all processes together.

The subject of an attempt (a user, a visitor, a claim) is stored only as a keyed digest, which the
caller computes. The callers also define the limits. All instants are real time.
"""

from datetime import datetime, timedelta

import msgspec

from dunwell.platform.database.database import Connection

# The longest period that a caller looks back. Older rows are deleted.
MAX_LIMIT_PERIOD = timedelta(hours=1)
_ROWS_AT_ONCE = 5000
# Serialises the attempts of one subject. The first attempt has no row that could be locked.
_LOCK_SUBJECT = "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 12))"
# Uses the primary key, like the next statement.
_LOAD = "SELECT count, first_at, last_at FROM rate_limits WHERE subject_digest = $1"
_SAVE = """
INSERT INTO rate_limits (subject_digest, count, first_at, last_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (subject_digest) DO UPDATE
SET count = excluded.count, first_at = excluded.first_at, last_at = excluded.last_at
"""
# Uses the primary key.
_SUBTRACT = "UPDATE rate_limits SET count = count - 1 WHERE subject_digest = $1 AND count > 0"
# Uses the index rate_limits_last.
_REMOVE = """
DELETE FROM rate_limits
WHERE subject_digest IN (SELECT subject_digest FROM rate_limits WHERE last_at < $1 LIMIT $2)
"""


class Attempts(msgspec.Struct, frozen=True, gc=False):
    """The attempts of one subject that count together: their number, and the instants of the first
    and the last."""

    count: int
    first_at: datetime
    last_at: datetime


async def load_attempts(tx: Connection, subject: bytes) -> Attempts | None:
    """Return the subject's attempts and lock the subject until the transaction ends."""
    await tx.execute(_LOCK_SUBJECT, subject)
    row = await tx.fetchrow(_LOAD, subject)
    return None if row is None else Attempts(**row)


async def count_attempt(
    tx: Connection, subject: bytes, previous: Attempts | None, now: datetime
) -> Attempts:
    """Record one more attempt and return the new total. `previous` is None if earlier attempts no
    longer count. The subject must be locked by `load_attempts`."""
    attempts = Attempts(1, now, now)
    if previous is not None:
        attempts = Attempts(previous.count + 1, previous.first_at, now)
    await tx.execute(_SAVE, subject, attempts.count, attempts.first_at, attempts.last_at)
    return attempts


async def uncount_attempt(tx: Connection, subject: bytes) -> None:
    """Subtract one attempt that turned out not to count, such as a correct password."""
    await tx.execute(_SUBTRACT, subject)


async def remove_attempts(tx: Connection, now: datetime) -> int:
    """Delete up to _ROWS_AT_ONCE expired rows and return their number. If the number is
    _ROWS_AT_ONCE, more rows may be left."""
    tag: str = await tx.execute(_REMOVE, now - MAX_LIMIT_PERIOD, _ROWS_AT_ONCE)
    return int(tag.rpartition(" ")[2])
