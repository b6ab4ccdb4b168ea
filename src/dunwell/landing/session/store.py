"""The SQL of debtors' sessions, of a letter's amounts, of whom to write to: rows in, values out, no
rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from dunwell.kit.db import Connection
from dunwell.landing.entering.letter_sums import LetterSums
from dunwell.landing.session.session import Level, Session

_OPEN = """
INSERT INTO debtor_sessions
    (merchant_id, session_hash, session_id, claim_id, communication_id, channel, level, opened_at,
     expires_at, address_digests)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
"""
_END = """
UPDATE debtor_sessions
SET ended_at = $3
WHERE merchant_id = $1 AND session_hash = $2 AND ended_at IS NULL AND expires_at > $3
RETURNING session_id
"""
# By primary key, on items' and on payments' unique key.
_LOAD_SUMS = """
SELECT claim.currency,
       ARRAY(SELECT item.value_cents FROM items item
             WHERE item.merchant_id = $1 AND item.claim_id = $2
             ORDER BY item.position, item.item_id) AS items_cents,
       ARRAY(SELECT payment.amount_cents FROM payments payment
             WHERE payment.merchant_id = $1 AND payment.claim_id = $2
               AND payment.reversed_at IS NULL
             ORDER BY payment.paid_at, payment.payment_id) AS payments_cents
FROM claims claim
WHERE claim.merchant_id = $1 AND claim.claim_id = $2
"""
# By primary key.
_LOAD_CORRESPONDENT = """
SELECT email, language
FROM debtors
WHERE merchant_id = $1 AND claim_id = $2
"""
# By primary key. The row goes on under another hash; never at a lower level, nor at the same.
_RAISE = """
UPDATE debtor_sessions
SET session_hash = $3, level = $4
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


@dataclass(frozen=True, slots=True)
class Correspondent:
    """Where a claim's debtor gets e-mail, and the claim's language."""

    email: str | None
    language: str | None


async def load_correspondent(
    tx: Connection, merchant_id: int, claim_id: int
) -> Correspondent | None:
    row = await tx.fetchrow(_LOAD_CORRESPONDENT, merchant_id, claim_id)
    return None if row is None else Correspondent(row["email"], row["language"])


async def save_session(
    tx: Connection, session: Session, opened_at: datetime, address_digests: Sequence[bytes]
) -> None:
    """Its claim must be locked. address_digests: of the addresses on file."""
    await tx.execute(
        _OPEN, session.merchant_id, session.session_hash, session.session_id, session.claim_id,
        session.communication_id, session.channel, session.level, opened_at, session.expires_at,
        address_digests,
    )  # fmt: skip


async def save_end(tx: Connection, merchant_id: int, session_hash: bytes, now: datetime) -> bool:
    """False: it had ended before."""
    return await tx.fetchval(_END, merchant_id, session_hash, now) is not None


async def save_raised(
    tx: Connection, session: Session, new_hash: bytes, level: Level, now: datetime
) -> bool:
    """False: it has ended, goes under another hash already, or shows as much as it is."""
    lower = [each for each in Level if not each.reaches(level)]
    raised = await tx.fetchval(
        _RAISE, session.merchant_id, session.session_hash, new_hash, level, now, lower
    )
    return raised is not None


async def load_letter_sums(tx: Connection, merchant_id: int, claim_id: int) -> LetterSums | None:
    row = await tx.fetchrow(_LOAD_SUMS, merchant_id, claim_id)
    return None if row is None else LetterSums(**row)


async def remove_sessions(tx: Connection, ended_before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE_SESSIONS, ended_before, limit)
    return int(tag.rpartition(" ")[2])
