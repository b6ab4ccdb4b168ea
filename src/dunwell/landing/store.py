"""The SQL of debtors' sessions and of wrong codes: rows in, values out, no rules."""

from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.db import Connection
from dunwell.landing.session import Session

_OPEN = """
INSERT INTO debtor_sessions
    (merchant_id, session_hash, session_id, claim_id, communication_id, channel, level, opened_at,
     expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
"""
_END = """
UPDATE debtor_sessions
SET ended_at = $3
WHERE merchant_id = $1 AND session_hash = $2 AND ended_at IS NULL AND expires_at > $3
RETURNING session_id
"""
# Tries of one visitor take turns, so that many at once are counted as if one by one.
_TAKE_TURN = "SELECT pg_advisory_xact_lock(hashtextextended(encode($1, 'hex'), 0))"
# The first by primary key; the table holds minutes of an hour at most.
_COUNT_WRONG = """
SELECT coalesce(sum(failures) FILTER (WHERE visitor_digest = $1), 0)::integer AS visitors,
       coalesce(sum(failures), 0)::integer AS everybodys,
       min(window_start) FILTER (WHERE visitor_digest = $1) AS first_at
FROM code_attempts
WHERE window_start > $2
"""
_SAVE_WRONG = """
INSERT INTO code_attempts AS known (visitor_digest, window_start, failures)
VALUES ($1, $2, 1)
ON CONFLICT (visitor_digest, window_start) DO UPDATE SET failures = known.failures + 1
"""
# Rides on debtor_sessions_expiry.
_REMOVE_SESSIONS = """
DELETE FROM debtor_sessions
WHERE (merchant_id, session_hash) IN (
    SELECT merchant_id, session_hash FROM debtor_sessions WHERE expires_at < $1 LIMIT $2
)
"""
_REMOVE_ATTEMPTS = "DELETE FROM code_attempts WHERE window_start < $1"


@dataclass(frozen=True, slots=True)
class WrongCodes:
    """Wrong codes of the time looked at: the visitor's, all visitors', the visitor's first."""

    visitors: int
    everybodys: int
    first_at: datetime | None


async def save_session(tx: Connection, session: Session, opened_at: datetime) -> None:
    """Its claim must be locked."""
    await tx.execute(
        _OPEN, session.merchant_id, session.session_hash, session.session_id, session.claim_id,
        session.communication_id, session.channel, session.level, opened_at, session.expires_at,
    )  # fmt: skip


async def save_end(tx: Connection, merchant_id: int, session_hash: bytes, now: datetime) -> bool:
    """False: it had ended before."""
    return await tx.fetchval(_END, merchant_id, session_hash, now) is not None


async def count_wrong_codes(tx: Connection, visitor: bytes, since: datetime) -> WrongCodes:
    """Waits until other tries of this visitor are done."""
    await tx.execute(_TAKE_TURN, visitor)
    return WrongCodes(**await tx.fetchrow(_COUNT_WRONG, visitor, since))


async def save_wrong_code(tx: Connection, visitor: bytes, minute: datetime) -> None:
    await tx.execute(_SAVE_WRONG, visitor, minute)


async def remove_sessions(tx: Connection, ended_before: datetime, limit: int) -> int:
    return _count(await tx.execute(_REMOVE_SESSIONS, ended_before, limit))


async def remove_wrong_codes(tx: Connection, before: datetime) -> int:
    return _count(await tx.execute(_REMOVE_ATTEMPTS, before))


def _count(tag: str) -> int:
    return int(tag.rpartition(" ")[2])
