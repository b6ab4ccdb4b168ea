"""The SQL of a debtor's preferences: suppressions, and a new address whose code was not entered
yet.

An entered address is saved with the session that entered it, and shown again to be corrected.
Another session of the claim, whose user may have access to the old address, does not see it
(docs/decisions/0019).
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

# Replaces the pending change of the claim.
_SAVE_CHANGE = """
INSERT INTO pending_contact_changes (merchant_id, claim_id, channel, address, notice_id, expires_at)
VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (merchant_id, claim_id) DO UPDATE
SET channel = excluded.channel, address = excluded.address, notice_id = excluded.notice_id,
    expires_at = excluded.expires_at, failures = 0
"""
# Uses the primary key.
_LOAD_CHANGE = """
SELECT channel, address, notice_id, expires_at, failures,
       (SELECT key_version FROM debtor_notices notice
        WHERE notice.merchant_id = change.merchant_id AND notice.notice_id = change.notice_id)
           AS key_version
FROM pending_contact_changes change
WHERE merchant_id = $1 AND claim_id = $2
"""
_SAVE_FAILURE = """
UPDATE pending_contact_changes SET failures = failures + 1 WHERE merchant_id = $1 AND claim_id = $2
"""
_REMOVE_CHANGE = "DELETE FROM pending_contact_changes WHERE merchant_id = $1 AND claim_id = $2"
# Uses the index pending_contact_changes_expiry.
_REMOVE_OLD_CHANGES = """
DELETE FROM pending_contact_changes
WHERE (merchant_id, claim_id) IN (
    SELECT merchant_id, claim_id FROM pending_contact_changes WHERE expires_at < $1 LIMIT $2
)
"""
# Uses the primary keys. If the content of a message was deleted, it has no address any more.
_FIND_EMAIL_RECIPIENT = """
SELECT content.recipient
FROM communications contact
JOIN communication_contents content USING (merchant_id, communication_id)
WHERE contact.merchant_id = $1 AND contact.communication_id = $2 AND contact.channel = 'EMAIL'
UNION ALL
SELECT recipient
FROM debtor_notices
WHERE merchant_id = $1 AND notice_id = $2 AND channel = 'EMAIL'
"""
# The suppressions of the addresses that were on file when the session was opened.
SUPPRESSIONS: Detail[KnownSuppressions | None] = Detail(
    nest_row(LOAD_KNOWN, "s.merchant_id", "s.address_digests"), KnownSuppressions | None
)
_DRAFT_FIELD = "address"
# Uses the primary keys.
_LOAD_PENDING = """
SELECT change.channel, change.address, notice.state = 'FAILED' AS is_undelivered
FROM pending_contact_changes change
LEFT JOIN debtor_notices notice
    ON notice.merchant_id = $1 AND notice.notice_id = change.notice_id
WHERE change.merchant_id = $1 AND change.claim_id = $2
"""
# Uses the beginning of the primary key. $2 is the session.
_LOAD_TYPED = """
SELECT substr(draft.subject, 9) AS channel, draft.fields ->> 'address' AS address
FROM debtor_drafts draft
WHERE draft.merchant_id = $1 AND draft.session_id = $2 AND draft.subject LIKE 'address:%'
"""


@dataclass(frozen=True, slots=True)
class PendingChange:
    """A change to a new address to which a code was sent. Its times are real times."""

    channel: NoticeChannel
    address: str
    notice_id: UUID
    expires_at: datetime
    failures: int = 0
    # The version of the secret key that the code was derived with.
    key_version: int | None = None


async def save_change(
    tx: Connection, merchant_id: int, claim_id: int, change: PendingChange
) -> None:
    await tx.execute(
        _SAVE_CHANGE, merchant_id, claim_id, change.channel, change.address, change.notice_id,
        change.expires_at,
    )  # fmt: skip


async def load_change(tx: Connection, merchant_id: int, claim_id: int) -> PendingChange | None:
    row = await tx.fetchrow(_LOAD_CHANGE, merchant_id, claim_id)
    return None if row is None else PendingChange(**row)


async def find_email_recipient(
    tx: Connection, merchant_id: int, communication_id: UUID
) -> str | None:
    """Find the address that an e-mail was sent to. Return None if there is no such e-mail or its
    content was deleted."""
    address: str | None = await tx.fetchval(_FIND_EMAIL_RECIPIENT, merchant_id, communication_id)
    return address


async def save_failure(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_SAVE_FAILURE, merchant_id, claim_id)


async def delete_change(tx: Connection, merchant_id: int, claim_id: int) -> None:
    await tx.execute(_REMOVE_CHANGE, merchant_id, claim_id)


async def delete_old_changes(tx: Connection, before: datetime, limit: int) -> int:
    tag: str = await tx.execute(_REMOVE_OLD_CHANGES, before, limit)
    return int(tag.rpartition(" ")[2])


class TypedAddress(msgspec.Struct, frozen=True, gc=False):
    channel: NoticeChannel
    address: str


class WaitingAddress(msgspec.Struct, frozen=True, gc=False):
    """A pending change as the page shows it."""

    channel: NoticeChannel
    # Shown only to the session that entered it.
    address: str
    # True if the notice with the code was reported as undelivered. None if the notice no longer
    # exists.
    is_undelivered: bool | None


class NewAddresses(msgspec.Struct, frozen=True, gc=False):
    """The pending change of the claim, and the addresses that this session has entered."""

    waiting: WaitingAddress | None
    typed: list[TypedAddress]

    def find_typed(self, channel: NoticeChannel) -> str | None:
        return next((each.address for each in self.typed if each.channel == channel), None)


NEW_ADDRESSES: Detail[NewAddresses] = Detail(
    compose(
        "json_build_object('waiting', {waiting}, 'typed', {typed})",
        waiting=nest_row(_LOAD_PENDING, *KEY),
        typed=nest_rows(_LOAD_TYPED, "s.merchant_id", "s.session_id"),
    ),
    NewAddresses,
)


async def save_typed_address(
    tx: Connection, session: Session, channel: NoticeChannel, address: str
) -> None:
    """Save the entered address in place of a previous one. The claim must be locked."""
    key = DraftKey(
        session.merchant_id, session.claim_id, session.session_id, _build_subject(channel)
    )
    await lock_draft(tx, key, session.expires_at + ENDED_SESSION_RETENTION)
    await save_fields(tx, key, {_DRAFT_FIELD: address})


def _build_subject(channel: NoticeChannel) -> str:
    """Return the subject of the draft."""
    return f"address:{channel}"
