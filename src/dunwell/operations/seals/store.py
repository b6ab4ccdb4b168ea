"""The SQL of sealing the installation's audit log. For merchants, see
`contact.messages.ledger.store`."""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from uuid import UUID

from dunwell.contact.messages.ledger.store import (
    VERIFY_TIMEOUT_SECONDS,
    LedgerSeal,
    SealedRow,
    SealHead,
    UnsealedRow,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

TABLE = "installation_audit"
# The sealed columns, after the number of the seal.
_FIELDS = """jsonb_build_array({seal}, audit_id, (extract(epoch FROM at) * 1000000)::bigint,
    actor_kind, actor_id, action, subject, before, after, origin)::text"""
# Only one worker seals at a time, because each seal continues the previous one.
_TRY_LOCK = "SELECT pg_try_advisory_xact_lock(hashtextextended('installation seals', 28))"
# Uses the primary key.
_LOAD_HEAD = "SELECT seal, digest, key_version FROM installation_seals ORDER BY seal DESC LIMIT 1"
# Uses installation_audit_unsealed.
_LOAD_UNSEALED = compose(
    """
SELECT audit_id AS key, {fields} AS fields
FROM installation_audit
WHERE seal IS NULL
ORDER BY audit_id
LIMIT $2
""",
    fields=compose(_FIELDS, seal="$1::bigint"),
)
_SAVE_SEAL = """
WITH audits AS (
    UPDATE installation_audit a
    SET seal = $1, digest = n.digest
    FROM unnest($2::uuid[], $3::bytea[]) AS n (audit_id, digest)
    WHERE a.audit_id = n.audit_id
)
INSERT INTO installation_seals (seal, audits, digest, sealed_at, key_version)
VALUES ($1, cardinality($2), $4, $5, $6)
"""
_LOAD_SEALS = """
SELECT seal, 0 AS contacts, audits, digest, key_version
FROM installation_seals
ORDER BY seal
"""
# Uses installation_audit_seal.
_LOAD_SEALED = compose(
    """
SELECT seal, audit_id AS key, action || ' ' || subject AS name, digest, {fields} AS fields
FROM installation_audit
WHERE seal IS NOT NULL
ORDER BY seal, audit_id
""",
    fields=compose(_FIELDS, seal="seal"),
)
_COUNT_UNSEALED = "SELECT count(*) FROM installation_audit WHERE seal IS NULL"
_ROWS_AT_ONCE = 1000


async def try_lock_sealing(tx: Connection) -> bool:
    """Try to lock the chain until the transaction ends. Return False if another transaction is
    sealing."""
    is_locked: bool = await tx.fetchval(_TRY_LOCK)
    return is_locked


async def load_head(tx: Connection) -> SealHead | None:
    row = await tx.fetchrow(_LOAD_HEAD)
    return None if row is None else SealHead(**row)


async def load_unsealed(tx: Connection, seal: int, limit: int) -> list[UnsealedRow]:
    """Return the rows in the order of their keys, in the form that is sealed by the given seal."""
    rows = await tx.fetch(_LOAD_UNSEALED, seal, limit)
    return [UnsealedRow(row["key"], row["fields"]) for row in rows]


async def save_seal(
    tx: Connection, head: SealHead, audits: Sequence[tuple[UUID, bytes]], sealed_at: datetime
) -> None:
    """Save the seal and mark its rows. `audits` has the key and the digest of each row."""
    await tx.execute(
        _SAVE_SEAL, head.seal, [key for key, _ in audits], [digest for _, digest in audits],
        head.digest, sealed_at, head.key_version,
    )  # fmt: skip


async def load_seals(tx: Connection) -> AsyncIterator[LedgerSeal]:
    """Yield the seals in order; they are fetched in batches. Call this within a transaction."""
    async for row in tx.cursor(_LOAD_SEALS, prefetch=_ROWS_AT_ONCE):
        yield LedgerSeal(**row)


async def load_sealed(tx: Connection) -> AsyncIterator[SealedRow]:
    """Yield the rows in order of seal and key; they are fetched in batches. Call this within a
    transaction."""
    rows = tx.cursor(_LOAD_SEALED, prefetch=_ROWS_AT_ONCE, timeout=VERIFY_TIMEOUT_SECONDS)
    async for row in rows:
        yield SealedRow(**row)


async def count_unsealed(tx: Connection) -> int:
    count: int = await tx.fetchval(_COUNT_UNSEALED)
    return count
