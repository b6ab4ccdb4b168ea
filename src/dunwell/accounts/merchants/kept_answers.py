"""The answers kept for `Idempotency-Key`s (CONTRACT 1): SQL alone.

The lock is a transaction's, so that a crash frees it; the answer is stored in the transaction of
the effect, so that neither stands without the other.
"""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from dunwell.platform.database.database import Connection

KEPT_FOR = timedelta(days=30)

_TRY_LOCK = "SELECT pg_try_advisory_xact_lock($1)"

# Rides on the primary key.
_LOAD = """
SELECT request_hash, status, body
FROM idempotency_keys
WHERE merchant_id = $1 AND key = $2 AND created_at > $3
"""

# An answer kept too long may still lie there until it is swept.
_SAVE = """
INSERT INTO idempotency_keys (merchant_id, key, request_hash, status, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (merchant_id, key) DO UPDATE
SET request_hash = $3, status = $4, body = $5, created_at = $6
"""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    request_hash: bytes
    status: int
    body: bytes


async def try_lock_key(tx: Connection, merchant_id: int, key: str) -> bool:
    """Hold the key until the transaction ends; False: another request holds it."""
    digest = hashlib.sha256(b"idempotency-key\0%d\0%s" % (merchant_id, key.encode())).digest()
    is_locked: bool = await tx.fetchval(_TRY_LOCK, int.from_bytes(digest[:8], signed=True))
    return is_locked


async def load_kept_answer(
    tx: Connection, merchant_id: int, key: str, now: datetime
) -> KeptAnswer | None:
    """A statement of its own, after the lock: its snapshot sees what the last holder committed."""
    row = await tx.fetchrow(_LOAD, merchant_id, key, now - KEPT_FOR)
    return None if row is None else KeptAnswer(**row)


async def save_kept_answer(
    tx: Connection, merchant_id: int, key: str, answer: KeptAnswer, now: datetime
) -> None:
    await tx.execute(_SAVE, merchant_id, key, answer.request_hash, answer.status, answer.body, now)
