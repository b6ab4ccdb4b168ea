"""The SQL of debtors' sessions, and of what is on file: rows in, values out, no rules."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from dunwell.interfaces.landing.session.on_file import OnFile
from dunwell.interfaces.landing.session.session import PREVIOUS_LASTS, Level, Session
from dunwell.platform.database.database import Connection, Row

_OPEN = """
INSERT INTO debtor_sessions
    (merchant_id, session_hash, session_id, claim_id, communication_id, channel, level, opened_at,
     expires_at, address_digests, first_opened_at, proven_digests, previous_hash, previous_until)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
# Uses debtor_sessions_session.
_END = """
UPDATE debtor_sessions
SET ended_at = $3
WHERE merchant_id = $1 AND session_id = $2 AND ended_at IS NULL AND expires_at > $3
RETURNING session_id
"""
# Uses debtor_sessions_previous.
_FIND_SUCCESSOR = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at, opened_at,
       coalesce(first_opened_at, opened_at) AS first_opened_at, proven_digests, previous_hash
FROM debtor_sessions
WHERE previous_hash = $1 AND previous_until > $2 AND ended_at IS NULL AND expires_at > $2
LIMIT 1
"""
# Uses the primary key.
_COPY_SESSION = """
INSERT INTO debtor_sessions
    (merchant_id, session_hash, session_id, claim_id, communication_id, channel, level, opened_at,
     expires_at, address_digests, first_opened_at, proven_digests, previous_hash, previous_until)
SELECT merchant_id, $3, session_id, claim_id, communication_id, channel, level, opened_at,
       expires_at, address_digests, first_opened_at, proven_digests, previous_hash, previous_until
FROM debtor_sessions
WHERE merchant_id = $1 AND session_hash = $2
"""
# By primary key. The row gets another hash, and never a lower level or the same.
_RAISE = """
UPDATE debtor_sessions
SET session_hash = $3, level = $4, proven_digests = $7, previous_hash = $2, previous_until = $8
WHERE merchant_id = $1 AND session_hash = $2 AND ended_at IS NULL AND expires_at > $5
    AND level = ANY($6)
RETURNING session_id
"""
# Rides on debtor_sessions_expiry.
_REMOVE_SESSIONS = """
DELETE FROM debtor_sessions
WHERE (merchant_id, session_hash) IN (
    SELECT merchant_id, session_hash FROM debtor_sessions WHERE expires_at < $1 LIMIT $2
)
"""
# Rides on debtor_sessions_session_hash_key.
_FIND_SESSION = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at, opened_at,
       coalesce(first_opened_at, opened_at) AS first_opened_at, proven_digests, previous_hash
FROM debtor_sessions
WHERE session_hash = $1
"""
_FIND_SESSIONS = """
SELECT merchant_id, session_hash, session_id, claim_id, communication_id, channel, level,
       expires_at, ended_at, opened_at,
       coalesce(first_opened_at, opened_at) AS first_opened_at, proven_digests, previous_hash
FROM debtor_sessions
WHERE session_hash = ANY($1)
"""
# By primary key.
_LOAD_ON_FILE = """
SELECT email, mobile_number, address, date_of_birth::text, contract_number, customer_number
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""


async def find_session(tx: Connection, session_hash: bytes) -> Session | None:
    """The session, also when it has ended; it is kept for a while."""
    row = await tx.fetchrow(_FIND_SESSION, session_hash)
    return None if row is None else _read_session(row)


async def find_sessions(tx: Connection, hashes: Mapping[str, bytes]) -> dict[str, Session | None]:
    """By the names that the hashes go by; those that have ended too."""
    rows = await tx.fetch(_FIND_SESSIONS, [*hashes.values()]) if hashes else []
    found = {row["session_hash"]: _read_session(row) for row in rows}
    return {name: found.get(session_hash) for name, session_hash in hashes.items()}


async def save_session(tx: Connection, session: Session, address_digests: Sequence[bytes]) -> None:
    """Its claim must be locked. address_digests: of the addresses on file."""
    await tx.execute(
        _OPEN, session.merchant_id, session.session_hash, session.session_id, session.claim_id,
        session.communication_id, session.channel, session.level, session.opened_at,
        session.expires_at, address_digests, session.first_opened_at,
        session.proven_digests, session.previous_hash, session.opened_at + PREVIOUS_LASTS,
    )  # fmt: skip


async def find_successor(tx: Connection, previous_hash: bytes, now: datetime) -> Session | None:
    """Find the live session that replaced this token within the last ten seconds."""
    row = await tx.fetchrow(_FIND_SUCCESSOR, previous_hash, now)
    return None if row is None else _read_session(row)


async def insert_token(tx: Connection, session: Session, new_hash: bytes) -> None:
    """Add a token to a session that has one."""
    await tx.execute(_COPY_SESSION, session.merchant_id, session.session_hash, new_hash)


async def save_end(tx: Connection, merchant_id: int, session_id: UUID, now: datetime) -> bool:
    """End the session with all its tokens. False: it had ended before."""
    return await tx.fetchval(_END, merchant_id, session_id, now) is not None


async def save_raised(
    tx: Connection, session: Session, new_hash: bytes, level: Level, now: datetime,
    proven_digests: Sequence[bytes] = (),
) -> bool:  # fmt: skip
    """False: it has ended, goes under another hash already, or shows as much as it is."""
    lower = [each for each in Level if not each.reaches(level)]
    raised = await tx.fetchval(
        _RAISE, session.merchant_id, session.session_hash, new_hash, level, now, lower,
        proven_digests, now + PREVIOUS_LASTS,
    )  # fmt: skip
    return raised is not None


async def remove_sessions(tx: Connection, ended_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE_SESSIONS, ended_before, limit)
    return int(tag.rpartition(" ")[2])


async def load_on_file(tx: Connection, merchant_id: int, claim_id: int) -> OnFile:
    """Of a claim that exists."""
    row = await tx.fetchrow(_LOAD_ON_FILE, merchant_id, claim_id)
    assert row is not None
    return OnFile(*row)


def _read_session(row: Row) -> Session:
    return Session(
        merchant_id=row["merchant_id"],
        session_hash=row["session_hash"],
        session_id=row["session_id"],
        claim_id=row["claim_id"],
        communication_id=row["communication_id"],
        channel=row["channel"],
        level=Level(row["level"]),
        expires_at=row["expires_at"],
        ended_at=row["ended_at"],
        opened_at=row["opened_at"],
        first_opened_at=row["first_opened_at"],
        proven_digests=row["proven_digests"],
        previous_hash=row["previous_hash"],
    )
