"""The SQL of debtors' replies."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.cases.replies.reply import NewReply
from dunwell.platform.database.database import Connection

# Uses the primary keys of both tables.
_FIND_CLAIM = """
SELECT claim_id FROM communications WHERE merchant_id = $1 AND communication_id = $2
UNION ALL
SELECT claim_id FROM debtor_notices WHERE merchant_id = $1 AND notice_id = $2
LIMIT 1
"""
# Uses the index debtor_replies_claim.
_COUNT_SINCE = """
SELECT count(*) FROM debtor_replies
WHERE merchant_id = $1 AND claim_id = $2 AND received_at > $3
"""
_INSERT = """
INSERT INTO debtor_replies
    (merchant_id, reply_id, claim_id, communication_id, provider_message_id, provider,
        received_at, subject,
     text, file_names, is_automatic, raw_sealed)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
ON CONFLICT (merchant_id, provider_message_id) DO NOTHING
RETURNING reply_id
"""
# Uses the primary key.
_SAVE_HOLD = "UPDATE debtor_replies SET hold_id = $3 WHERE merchant_id = $1 AND reply_id = $2"
# Uses the index debtor_replies_claim.
_SAVE_READ = """
UPDATE debtor_replies SET read_at = $3, read_by = $4
WHERE merchant_id = $1 AND claim_id = $2 AND read_at IS NULL AND NOT is_automatic
RETURNING hold_id
"""
# This statement and the next use the index debtor_replies_unread.
_COUNT_UNREAD = """
SELECT count(*)::integer, min(received_at)
FROM (SELECT received_at FROM debtor_replies
      WHERE merchant_id = $1 AND read_at IS NULL AND NOT is_automatic
      ORDER BY received_at
      LIMIT $2) counted
"""
_LIST_UNREAD = """
SELECT r.claim_id, c.reference_number, r.received_at, r.subject, left(r.text, $3) AS excerpt
FROM debtor_replies r
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = r.claim_id
WHERE r.merchant_id = $1 AND r.read_at IS NULL AND NOT r.is_automatic
ORDER BY r.received_at, r.reply_id
LIMIT $2
"""


class UnreadReply(msgspec.Struct, frozen=True, gc=False):
    """A person's reply that no member of staff has read."""

    claim_id: int
    reference_number: str
    received_at: datetime
    subject: str
    # The beginning of the text.
    excerpt: str


async def count_unread_replies(
    tx: Connection, merchant_id: int, limit: int
) -> tuple[int, datetime | None]:
    """Return how many replies are unread, counting at most `limit`, and when the oldest was
    received."""
    row = await tx.fetchrow(_COUNT_UNREAD, merchant_id, limit)
    assert row is not None
    return row[0], row[1]


async def load_unread_replies(
    tx: Connection, merchant_id: int, *, limit: int, excerpt_length: int
) -> list[UnreadReply]:
    """Return the oldest unread replies, each with the first `excerpt_length` characters of its
    text."""
    rows = await tx.fetch(_LIST_UNREAD, merchant_id, limit, excerpt_length)
    return [UnreadReply(*row) for row in rows]


async def find_claim_of_message(
    tx: Connection, merchant_id: int, communication_id: UUID
) -> int | None:
    """Return the claim of a contact or a notice, or None."""
    claim_id: int | None = await tx.fetchval(_FIND_CLAIM, merchant_id, communication_id)
    return claim_id


async def count_replies(tx: Connection, merchant_id: int, claim_id: int, since: datetime) -> int:
    """Count the replies received after an instant, including automatic ones."""
    count: int = await tx.fetchval(_COUNT_SINCE, merchant_id, claim_id, since)
    return count


async def insert_reply(
    tx: Connection, reply: NewReply, *, reply_id: UUID, claim_id: int, received_at: datetime,
    sealed: bytes,
) -> bool:  # fmt: skip
    """Insert the reply. Return False if it was stored before."""
    reference = reply.reference
    saved = await tx.fetchval(
        _INSERT, reference.merchant_id, reply_id, claim_id, reference.communication_id,
        reply.provider_message_id,
        reply.provider, received_at, reply.subject, reply.text, list(reply.file_names),
        reply.is_automatic, sealed,
    )  # fmt: skip
    return saved is not None


async def save_reply_hold(tx: Connection, merchant_id: int, reply_id: UUID, hold_id: UUID) -> None:
    await tx.execute(_SAVE_HOLD, merchant_id, reply_id, hold_id)


async def save_replies_read(
    tx: Connection, merchant_id: int, claim_id: int, *, read_at: datetime, read_by: str | None
) -> Sequence[UUID | None]:
    """Mark the claim's unread replies as read. Return the hold of each, or None for a reply without
    one."""
    rows = await tx.fetch(_SAVE_READ, merchant_id, claim_id, read_at, read_by)
    return [row["hold_id"] for row in rows]
