"""The SQL of a debtor's preferences: what is on file, and a new address that waits for its code.

What somebody typed is shown again to be corrected, while its code is waited for and when its form
came too late to be taken. It is kept with the session that typed it: another session of the claim,
whose reader may hold the old address, does not see the new one (docs/decisions/0019).
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.messages.suppression import LOAD_KNOWN, KnownSuppressions
from dunwell.contact.notices.notice import NoticeChannel
from dunwell.interfaces.landing.session.details import KEY, Detail
from dunwell.interfaces.landing.session.drafts import DraftKey
from dunwell.interfaces.landing.session.session import ENDED_SESSION_RETENTION, Session
from dunwell.interfaces.landing.session.store import lock_draft, save_fields
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose, nest_row, nest_rows

# The newest in place of the one before.
_SAVE = """
INSERT INTO pending_contact_changes (merchant_id, claim_id, channel, address, notice_id, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (merchant_id, claim_id) DO UPDATE
SET channel = excluded.channel, address = excluded.address, notice_id = excluded.notice_id,
    expires_at = excluded.expires_at, failures = 0
"""
# By primary key.
_LOAD_CHANGE = """
SELECT channel, address, notice_id, expires_at, failures,
       (SELECT key_version FROM debtor_notices notice
        WHERE notice.merchant_id = change.merchant_id AND notice.notice_id = change.notice_id)
           AS key_version
FROM pending_contact_changes change
WHERE merchant_id = $1 AND claim_id = $2
"""
_SAVE_WRONG = """
UPDATE pending_contact_changes SET failures = failures + 1 WHERE merchant_id = $1 AND claim_id = $2
"""
_REMOVE = "DELETE FROM pending_contact_changes WHERE merchant_id = $1 AND claim_id = $2"
# Rides on debtor_contact_changes_expiry.
_SWEEP = """
DELETE FROM pending_contact_changes
WHERE (merchant_id, claim_id) IN (
    SELECT merchant_id, claim_id FROM pending_contact_changes WHERE expires_at < $1 LIMIT $2
)
"""
# By primary keys. Where a message went may be gone: then it takes nobody off.
_FIND_WRITTEN = """
SELECT content.recipient
FROM communications contact
JOIN communication_contents content USING (merchant_id, communication_id)
WHERE contact.merchant_id = $1 AND contact.communication_id = $2 AND contact.channel = 'EMAIL'
UNION ALL
SELECT recipient
FROM debtor_notices
WHERE merchant_id = $1 AND notice_id = $2 AND channel = 'EMAIL'
"""
# Of the addresses on file when the session was opened.
SUPPRESSIONS: Detail[KnownSuppressions | None] = Detail(
    nest_row(LOAD_KNOWN, "s.merchant_id", "s.address_digests"), KnownSuppressions | None
)
_FIELD = "address"
# By primary keys.
_LOAD_WAITING = """
SELECT change.channel, change.address, notice.state = 'FAILED' AS is_undelivered
FROM pending_contact_changes change
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = $1 AND notice.notice_id = change.notice_id
WHERE change.merchant_id = $1 AND change.claim_id = $2
"""
# By the beginning of the primary key; $2: the session.
_LOAD_TYPED = """
SELECT substr(draft.subject, 9) AS channel, draft.fields ->> 'address' AS address
FROM debtor_drafts draft
WHERE draft.merchant_id = $1 AND draft.session_id = $2 AND draft.subject LIKE 'address:%'
"""


@dataclass(frozen=True, slots=True)
class PendingChange:
    """An address whose code was sent there. Real time."""

    channel: NoticeChannel
    address: str
    notice_id: UUID
    expires_at: datetime
    failures: int = 0
    # Of the secret key: what the code was derived with.
    key_version: int | None = None


async def save_change(
    tx: Connection, merchant_id: int, claim_id: int, change: PendingChange
) -> None:
    await tx.execute(
        _SAVE, merchant_id, claim_id, change.channel, change.address, change.notice_id,
        change.expires_at,
    )  # fmt: skip


async def load_change(tx: Connection, merchant_id: int, claim_id: int) -> PendingChange | None:
    row = await tx.fetchrow(_LOAD_CHANGE, merchant_id, claim_id)
    return None if row is None else PendingChange(**row)


async def find_written_address(
    tx: Connection, merchant_id: int, communication_id: UUID
) -> str | None:
    """Where an e-mail went. None: there is none, or it is too long ago to say."""
    address: str | None = await tx.fetchval(_FIND_WRITTEN, merchant_id, communication_id)
    return address


async def save_failure(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_SAVE_WRONG, merchant_id, claim_id)


async def delete_change(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_REMOVE, merchant_id, claim_id)


async def delete_old_changes(tx: Connection, before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_SWEEP, before, limit)
    return int(tag.rpartition(" ")[2])


class TypedAddress(msgspec.Struct, frozen=True, gc=False):
    channel: NoticeChannel
    address: str


class WaitingAddress(msgspec.Struct, frozen=True, gc=False):
    """A change that waits for the code sent to the new address."""

    channel: NoticeChannel
    # Not for who has not typed it.
    address: str
    # The notice with the code was reported not to arrive.
    is_undelivered: bool | None


class NewAddresses(msgspec.Struct, frozen=True, gc=False):
    """What waits for its code, whoever typed it; what this session has typed last."""

    waiting: WaitingAddress | None
    typed: list[TypedAddress]

    def find_typed(self, channel: NoticeChannel) -> str | None:
        return next((each.address for each in self.typed if each.channel == channel), None)


NEW_ADDRESSES: Detail[NewAddresses] = Detail(
    compose(
        "json_build_object('waiting', {waiting}, 'typed', {typed})",
        waiting=nest_row(_LOAD_WAITING, *KEY),
        typed=nest_rows(_LOAD_TYPED, "s.merchant_id", "s.session_id"),
    ),
    NewAddresses,
)


async def save_typed_address(
    tx: Connection, session: Session, channel: NoticeChannel, address: str
) -> None:
    """In place of the one before. Its claim must be locked."""
    key = DraftKey(session.merchant_id, session.claim_id, session.session_id, _name(channel))
    await lock_draft(tx, key, session.expires_at + ENDED_SESSION_RETENTION)
    await save_fields(tx, key, {_FIELD: address})


def _name(channel: NoticeChannel) -> str:
    """Of the draft."""
    return f"address:{channel}"
