"""The SQL of checking a merchant's ledger against its contacts: rows as they are read, in a stream.

Each runs in a transaction of one snapshot.
"""

from collections.abc import AsyncIterator
from typing import TypeVar
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.contact import Content
from dunwell.contact.messages.ledger_store import PATIENCE_SECONDS
from dunwell.platform.database.database import Connection, Row

# A contact is accepted, refused and reported as failed once at most. Does not rely on the index
# contact_ledger_once, which may be gone.
_TWICE = """
SELECT claim_id, run, step_id, place, kind, count(*) AS rows,
       string_agg(DISTINCT communication_id::text, ', ') AS communications
FROM (SELECT *, CASE outcome WHEN 'SETTLED_SENT' THEN 'ACCEPTED' ELSE outcome END AS kind
      FROM contact_ledger WHERE merchant_id = $1) told
WHERE kind IN ('ACCEPTED', 'REFUSED', 'FAILED_LATER')
GROUP BY claim_id, run, step_id, place, kind
HAVING count(*) > 1
ORDER BY claim_id, run, step_id, place
"""
# What the ledger tells of each contact, beside the contact's state. A contact settled before there
# was a ledger has no digest, and one refused before it was handed over has no row.
_CONTRADICTIONS = """
WITH told AS (
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
SELECT m.communication_id, m.claim_id, m.state, told.state AS told
FROM communications m
LEFT JOIN told USING (communication_id)
WHERE m.merchant_id = $1
  AND told.state IS DISTINCT FROM
      CASE WHEN m.state IN ('ACCEPTED', 'FAILED', 'UNKNOWN') THEN m.state END
  AND (told.state IS NOT NULL OR (m.handed_over_at IS NOT NULL AND m.content_digest IS NOT NULL))
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
_OTHER_DIGESTS = """
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
_ROWS_AT_ONCE = 200


class ToldTwice(msgspec.Struct, frozen=True, gc=False):
    claim_id: int
    run: int
    step_id: int
    place: int
    kind: str
    rows: int
    # Their ids, with commas.
    communications: str


class Contradiction(msgspec.Struct, frozen=True, gc=False):
    communication_id: UUID
    claim_id: int
    state: str
    # The state the ledger tells of, if it tells of the contact.
    told: str | None


class WithoutContact(msgspec.Struct, frozen=True, gc=False):
    entry_id: UUID
    communication_id: UUID
    claim_id: int
    outcome: str


class OtherDigests(msgspec.Struct, frozen=True, gc=False):
    communication_id: UUID
    claim_id: int
    # Of the content, or else of the recipient.
    is_content: bool


class StoredContact(msgspec.Struct, frozen=True, gc=False):
    communication_id: UUID
    claim_id: int
    channel: Channel
    recipient_digest: bytes
    content_digest: bytes
    content: Content


Told = TypeVar("Told", ToldTwice, Contradiction, WithoutContact, OtherDigests)


def stream_told_twice(tx: Connection, merchant_id: int) -> AsyncIterator[ToldTwice]:
    return _stream(tx, _TWICE, merchant_id, ToldTwice)


def stream_contradictions(tx: Connection, merchant_id: int) -> AsyncIterator[Contradiction]:
    return _stream(tx, _CONTRADICTIONS, merchant_id, Contradiction)


def stream_without_contact(tx: Connection, merchant_id: int) -> AsyncIterator[WithoutContact]:
    return _stream(tx, _WITHOUT_CONTACT, merchant_id, WithoutContact)


def stream_other_digests(tx: Connection, merchant_id: int) -> AsyncIterator[OtherDigests]:
    return _stream(tx, _OTHER_DIGESTS, merchant_id, OtherDigests)


async def stream_contents(tx: Connection, merchant_id: int) -> AsyncIterator[StoredContact]:
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
    tx: Connection, statement: str, merchant_id: int, kind: type[Told]
) -> AsyncIterator[Told]:
    """The kind's fields are the statement's columns."""
    async for row in _open(tx, statement, merchant_id):
        yield kind(*row)


def _open(tx: Connection, statement: str, merchant_id: int) -> AsyncIterator[Row]:
    cursor: AsyncIterator[Row] = aiter(
        tx.cursor(statement, merchant_id, prefetch=_ROWS_AT_ONCE, timeout=PATIENCE_SECONDS)
    )
    return cursor
