"""The SQL for sealing the ledger and for comparing it with the contacts, streamed row by row."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.contact import Content
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

CONTACTS = "contact_ledger"
AUDITS = "audit_log"

_MICROSECONDS = "(extract(epoch FROM at) * 1000000)::bigint"
_FIELDS = {
    CONTACTS: """jsonb_build_array({seal}, entry_id, communication_id, claim_id, run, step_id,
        place, channel, outcome, attempts, {microseconds}, encode(recipient_digest, 'hex'),
        encode(content_digest, 'hex'))::text""",
    AUDITS: """jsonb_build_array({seal}, audit_id, {microseconds}, actor_kind, actor_id, action,
        subject, details, before, after, origin)::text""",
}
_KEYS = {CONTACTS: "entry_id", AUDITS: "audit_id"}
# The name of a row in findings.
_NAMES = {
    CONTACTS: "'communication ' || communication_id || ', claim ' || claim_id || ', ' || outcome",
    AUDITS: "action || ' ' || subject",
}

# Steps from one merchant with unsealed rows to the next and skips all others. Uses
# contact_ledger_unsealed and audit_log_unsealed.
_FIND_MERCHANTS = """
WITH RECURSIVE contacts AS (
    SELECT min(merchant_id) AS merchant_id FROM contact_ledger WHERE seal IS NULL
    UNION ALL
    SELECT (SELECT min(l.merchant_id) FROM contact_ledger l
            WHERE l.seal IS NULL AND l.merchant_id > contacts.merchant_id)
    FROM contacts
    WHERE contacts.merchant_id IS NOT NULL
), audits AS (
    SELECT min(merchant_id) AS merchant_id FROM audit_log WHERE seal IS NULL
    UNION ALL
    SELECT (SELECT min(l.merchant_id) FROM audit_log l
            WHERE l.seal IS NULL AND l.merchant_id > audits.merchant_id)
    FROM audits
    WHERE audits.merchant_id IS NOT NULL
)
SELECT merchant_id FROM contacts WHERE merchant_id IS NOT NULL
UNION
SELECT merchant_id FROM audits WHERE merchant_id IS NOT NULL
ORDER BY merchant_id
"""
# One worker at a time seals for a merchant, because a seal has only one successor. Rows that refer
# to the merchant can be written in the meantime.
_LOCK_SEALING = """
SELECT merchant_id FROM merchants WHERE merchant_id = $1 FOR NO KEY UPDATE SKIP LOCKED
"""
# A separate statement after the lock, so that it sees a seal that was committed just before the
# lock was granted.
_LOAD_HEAD = """
SELECT seal, digest, key_version
FROM ledger_seals
WHERE merchant_id = $1
ORDER BY seal DESC
LIMIT 1
"""
# Use contact_ledger_unsealed and audit_log_unsealed.
_LOAD_UNSEALED = {
    table: compose(
        """
SELECT {key} AS key, {fields} AS fields
FROM {table}
WHERE merchant_id = $1 AND seal IS NULL
ORDER BY {key}
LIMIT $3
""",
        table=table,
        key=_KEYS[table],
        fields=compose(_FIELDS[table], seal="$2::bigint", microseconds=_MICROSECONDS),
    )
    for table in _FIELDS
}
# Uses primary keys.
_SAVE_SEAL = """
WITH contacts AS (
    UPDATE contact_ledger l
    SET seal = $2, digest = n.digest
    FROM unnest($3::uuid[], $4::bytea[]) AS n (entry_id, digest)
    WHERE l.merchant_id = $1 AND l.entry_id = n.entry_id
), audits AS (
    UPDATE audit_log a
    SET seal = $2, digest = n.digest
    FROM unnest($5::uuid[], $6::bytea[]) AS n (audit_id, digest)
    WHERE a.merchant_id = $1 AND a.audit_id = n.audit_id
)
INSERT INTO ledger_seals (merchant_id, seal, contacts, audits, digest, sealed_at, key_version)
VALUES ($1, $2, cardinality($3), cardinality($5), $7, $8, $9)
"""
_LOAD_SEALS = """
SELECT seal, contacts, audits, digest, key_version
FROM ledger_seals
WHERE merchant_id = $1
ORDER BY seal
"""
# Use contact_ledger_seal and audit_log_seal.
_LOAD_SEALED = {
    table: compose(
        """
SELECT seal, {key} AS key, {name} AS name, digest,
       {fields} AS fields
FROM {table}
WHERE merchant_id = $1 AND seal IS NOT NULL
ORDER BY seal, {key}
""",
        table=table,
        key=_KEYS[table],
        name=_NAMES[table],
        fields=compose(_FIELDS[table], seal="seal", microseconds=_MICROSECONDS),
    )
    for table in _FIELDS
}
# Loads a part of the chain. Uses the primary key.
_LOAD_SEAL_RANGE = """
SELECT seal, contacts, audits, digest, key_version
FROM ledger_seals
WHERE merchant_id = $1 AND seal BETWEEN $2 AND $3
ORDER BY seal
"""
_LOAD_SEALED_RANGE = {
    table: compose(
        """
SELECT seal, {key} AS key, {name} AS name, digest,
       {fields} AS fields
FROM {table}
WHERE merchant_id = $1 AND seal BETWEEN $2 AND $3
ORDER BY seal, {key}
""",
        table=table,
        key=_KEYS[table],
        name=_NAMES[table],
        fields=compose(_FIELDS[table], seal="seal", microseconds=_MICROSECONDS),
    )
    for table in _FIELDS
}
_MEASURE_RANGE = """
SELECT (SELECT coalesce(sum(contacts + audits), 0)::bigint FROM ledger_seals
        WHERE merchant_id = $1 AND seal BETWEEN $2 AND $3) AS rows,
       b.seal, b.digest, b.key_version
FROM (VALUES (1)) one (n)
LEFT JOIN ledger_seals b ON b.merchant_id = $1 AND b.seal = $2 - 1
"""
_COUNT_UNSEALED = """
SELECT (SELECT count(*) FROM contact_ledger WHERE merchant_id = $1 AND seal IS NULL)
     + (SELECT count(*) FROM audit_log WHERE merchant_id = $1 AND seal IS NULL)
"""
_ROWS_AT_ONCE = 1000
# A verification may have to sort millions of rows.
VERIFY_TIMEOUT_SECONDS = 3600.0


@dataclass(frozen=True, slots=True)
class SealHead:
    """The last seal of a chain or of a part of it. A copy of a chain's newest seal that is kept
    elsewhere proves that the chain was not cut."""

    seal: int
    digest: bytes
    # The version of the secret key. It never decreases along a chain. An attacker who has only an
    # old version can therefore neither extend the chain nor replace rows before a newer seal.
    key_version: int = field(default=1, compare=False)


@dataclass(frozen=True, slots=True)
class UnsealedRow:
    key: UUID
    fields: str


@dataclass(frozen=True, slots=True)
class LedgerSeal:
    seal: int
    contacts: int
    audits: int
    digest: bytes
    key_version: int


@dataclass(frozen=True, slots=True)
class SealedRow:
    seal: int
    key: UUID
    name: str
    digest: bytes | None
    fields: str


async def list_merchants_to_seal(tx: Connection) -> list[int]:
    return [row["merchant_id"] for row in await tx.fetch(_FIND_MERCHANTS)]


async def try_lock_sealing(tx: Connection, merchant_id: int) -> bool:
    """Return whether this transaction may seal. Return False if another one is sealing."""
    return await tx.fetchrow(_LOCK_SEALING, merchant_id) is not None


async def find_newest_seal(tx: Connection, merchant_id: int) -> SealHead | None:
    """Return the newest seal of the merchant's chain, or None before the first."""
    row = await tx.fetchrow(_LOAD_HEAD, merchant_id)
    return None if row is None else SealHead(**row)


async def load_unsealed_rows(
    tx: Connection, merchant_id: int, table: str, seal: int, limit: int
) -> list[UnsealedRow]:
    """Load unsealed rows ordered by key. Their fields contain the number of the given seal, which
    will cover them."""
    rows = await tx.fetch(_LOAD_UNSEALED[table], merchant_id, seal, limit)
    return [UnsealedRow(row["key"], row["fields"]) for row in rows]


async def save_seal(
    tx: Connection,
    merchant_id: int,
    head: SealHead,
    contacts: Sequence[tuple[UUID, bytes]],
    audits: Sequence[tuple[UUID, bytes]],
    *,
    sealed_at: datetime,
) -> None:
    """Save a seal and mark its rows. `contacts` and `audits` are the keys and digests of the
    rows."""
    await tx.execute(
        _SAVE_SEAL, merchant_id, head.seal,
        [key for key, _ in contacts], [digest for _, digest in contacts],
        [key for key, _ in audits], [digest for _, digest in audits],
        head.digest, sealed_at, head.key_version,
    )  # fmt: skip


async def stream_seals(tx: Connection, merchant_id: int) -> AsyncIterator[LedgerSeal]:
    """Stream the seals in order, within a transaction."""
    async for row in tx.cursor(_LOAD_SEALS, merchant_id, prefetch=_ROWS_AT_ONCE):
        yield LedgerSeal(**row)


async def stream_sealed_rows(
    tx: Connection, merchant_id: int, table: str
) -> AsyncIterator[SealedRow]:
    """Stream the sealed rows ordered by seal and key, within a transaction."""
    rows = tx.cursor(
        _LOAD_SEALED[table], merchant_id, prefetch=_ROWS_AT_ONCE, timeout=VERIFY_TIMEOUT_SECONDS
    )
    async for row in rows:
        yield SealedRow(**row)


async def count_unsealed_rows(tx: Connection, merchant_id: int) -> int:
    """Count the unsealed rows of both tables."""
    count: int = await tx.fetchval(_COUNT_UNSEALED, merchant_id)
    return count


async def stream_seal_range(
    tx: Connection, merchant_id: int, first: int, last: int
) -> AsyncIterator[LedgerSeal]:
    """Stream the seals of a part of the chain."""
    async for row in tx.cursor(_LOAD_SEAL_RANGE, merchant_id, first, last, prefetch=_ROWS_AT_ONCE):
        yield LedgerSeal(**row)


async def stream_sealed_rows_of_range(
    tx: Connection, merchant_id: int, table: str, first: int, last: int
) -> AsyncIterator[SealedRow]:
    """Stream the sealed rows of a part of the chain."""
    statement = _LOAD_SEALED_RANGE[table]
    async for row in tx.cursor(statement, merchant_id, first, last, prefetch=_ROWS_AT_ONCE):
        yield SealedRow(**row)


async def measure_range(
    tx: Connection, merchant_id: int, first: int, last: int
) -> tuple[int, SealHead | None]:
    """Return the number of rows that a part of the chain covers, and the seal before it (None if it
    does not exist)."""
    row = await tx.fetchrow(_MEASURE_RANGE, merchant_id, first, last)
    assert row is not None
    head = None if row["seal"] is None else SealHead(row["seal"], row["digest"], row["key_version"])
    return row["rows"], head


# A contact is accepted, refused and reported as failed at most once each. Does not rely on the
# unique index contact_ledger_once, which an attacker may have dropped.
_DUPLICATES = """
SELECT claim_id, run, step_id, place, kind, count(*) AS rows,
       string_agg(DISTINCT communication_id::text, ', ') AS communications
FROM (SELECT *, CASE outcome WHEN 'SETTLED_SENT' THEN 'ACCEPTED' ELSE outcome END AS kind
      FROM contact_ledger WHERE merchant_id = $1) recorded
WHERE kind IN ('ACCEPTED', 'REFUSED', 'FAILED_LATER')
GROUP BY claim_id, run, step_id, place, kind
HAVING count(*) > 1
ORDER BY claim_id, run, step_id, place
"""
# Compare the state in the ledger with the contact. A contact that was settled before the ledger
# existed has no digest; a contact refused before its hand-over has no ledger entry.
_CONTRADICTIONS = """
WITH recorded AS (
    SELECT communication_id,
        CASE WHEN count(*) FILTER (WHERE outcome = 'UNKNOWN')
                > count(*) FILTER (WHERE outcome IN ('SETTLED_SENT', 'SETTLED_NOT_SENT'))
             THEN 'UNKNOWN'
             WHEN bool_or(outcome IN ('REFUSED', 'FAILED_LATER')) THEN 'FAILED'
             WHEN bool_or(outcome IN ('ACCEPTED', 'SETTLED_SENT')) THEN 'ACCEPTED' END AS state
    FROM contact_ledger
    WHERE merchant_id = $1
    GROUP BY communication_id
)
SELECT m.communication_id, m.claim_id, m.state, recorded.state AS ledger_state
FROM communications m
LEFT JOIN recorded USING (communication_id)
WHERE m.merchant_id = $1
  AND recorded.state IS DISTINCT FROM
      CASE WHEN m.state IN ('ACCEPTED', 'FAILED', 'UNKNOWN') THEN m.state END
  AND (recorded.state IS NOT NULL
       OR (m.handed_over_at IS NOT NULL AND m.content_digest IS NOT NULL))
ORDER BY m.communication_id
"""
_WITHOUT_CONTACT = """
SELECT l.entry_id, l.communication_id, l.claim_id, l.outcome
FROM contact_ledger l
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = l.claim_id
LEFT JOIN communications m ON m.merchant_id = $1 AND m.communication_id = l.communication_id
WHERE l.merchant_id = $1
  AND (m.claim_id, m.run, m.step_id, m.place)
      IS DISTINCT FROM (l.claim_id, l.run, l.step_id, l.place)
ORDER BY l.entry_id
"""
_DIGEST_MISMATCHES = """
SELECT l.communication_id, l.claim_id,
       l.content_digest IS DISTINCT FROM m.content_digest AS is_content
FROM contact_ledger l
JOIN communications m ON m.merchant_id = $1 AND m.communication_id = l.communication_id
WHERE l.merchant_id = $1 AND m.state IN ('ACCEPTED', 'FAILED')
  AND l.outcome IN ('ACCEPTED', 'SETTLED_SENT', 'REFUSED', 'FAILED_LATER')
  AND (l.recipient_digest, l.content_digest)
      IS DISTINCT FROM (m.recipient_digest, m.content_digest)
ORDER BY l.communication_id
"""
_CONTENTS = """
SELECT m.communication_id, m.claim_id, m.channel, m.recipient_digest, m.content_digest, t.recipient,
       t.language, t.subject, t.body_text, t.body_html, t.document_key, t.attachment_ids,
       t.key_version
FROM communication_contents t
JOIN communications m ON m.merchant_id = $1 AND m.communication_id = t.communication_id
WHERE t.merchant_id = $1 AND m.content_digest IS NOT NULL
"""
_CONTACTS_AT_ONCE = 200


class DuplicateEntry(msgspec.Struct, frozen=True, gc=False):
    claim_id: int
    run: int
    step_id: int
    place: int
    kind: str
    rows: int
    # The ids, separated by commas.
    communications: str


class LedgerContradiction(msgspec.Struct, frozen=True, gc=False):
    communication_id: UUID
    claim_id: int
    state: str
    # The state according to the ledger; None without a ledger entry.
    ledger_state: str | None


class EntryWithoutContact(msgspec.Struct, frozen=True, gc=False):
    entry_id: UUID
    communication_id: UUID
    claim_id: int
    outcome: str


class DigestMismatch(msgspec.Struct, frozen=True, gc=False):
    communication_id: UUID
    claim_id: int
    # True if the content differs, False if only the recipient does.
    is_content: bool


class StoredContact(msgspec.Struct, frozen=True, gc=False):
    communication_id: UUID
    claim_id: int
    channel: Channel
    recipient_digest: bytes
    content_digest: bytes
    content: Content


Deviation = TypeVar(
    "Deviation", DuplicateEntry, LedgerContradiction, EntryWithoutContact, DigestMismatch
)


def stream_duplicates(tx: Connection, merchant_id: int) -> AsyncIterator[DuplicateEntry]:
    """Stream the places in the channel lists of steps for which the ledger records the same outcome
    more than once."""
    return _stream(tx, _DUPLICATES, merchant_id, DuplicateEntry)


def stream_contradictions(tx: Connection, merchant_id: int) -> AsyncIterator[LedgerContradiction]:
    """Stream the contacts whose state is not that in the ledger."""
    return _stream(tx, _CONTRADICTIONS, merchant_id, LedgerContradiction)


def stream_entries_without_contact(
    tx: Connection, merchant_id: int
) -> AsyncIterator[EntryWithoutContact]:
    """Stream the ledger entries whose contact is missing or belongs to another step."""
    return _stream(tx, _WITHOUT_CONTACT, merchant_id, EntryWithoutContact)


def stream_digest_mismatches(tx: Connection, merchant_id: int) -> AsyncIterator[DigestMismatch]:
    """Stream the contacts with other digests than their ledger entries."""
    return _stream(tx, _DIGEST_MISMATCHES, merchant_id, DigestMismatch)


async def stream_contents(tx: Connection, merchant_id: int) -> AsyncIterator[StoredContact]:
    """Stream the stored contents of contacts, each with the digests of its hand-over."""
    async for row in _open(tx, _CONTENTS, merchant_id):
        content = Content(
            recipient=row["recipient"],
            language=row["language"],
            subject=row["subject"],
            body_text=row["body_text"],
            body_html=row["body_html"],
            document_key=row["document_key"],
            attachment_ids=tuple(row["attachment_ids"]),
            key_version=row["key_version"],
        )
        yield StoredContact(
            communication_id=row["communication_id"],
            claim_id=row["claim_id"],
            channel=row["channel"],
            recipient_digest=row["recipient_digest"],
            content_digest=row["content_digest"],
            content=content,
        )


async def _stream(
    tx: Connection, statement: str, merchant_id: int, row_type: type[Deviation]
) -> AsyncIterator[Deviation]:
    """Stream rows; the fields of `row_type` are the columns of the statement."""
    async for row in _open(tx, statement, merchant_id):
        yield row_type(*row)


def _open(tx: Connection, statement: str, merchant_id: int) -> AsyncIterator[Row]:
    cursor: AsyncIterator[Row] = aiter(
        tx.cursor(
            statement, merchant_id, prefetch=_CONTACTS_AT_ONCE, timeout=VERIFY_TIMEOUT_SECONDS
        )
    )
    return cursor
