"""The SQL of messages with delivery reports: contacts of workflows, and notices."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.messages.identities import render_postal_address
from dunwell.contact.sending.report import Reference
from dunwell.platform.database.database import Connection

# Uses primary keys.
_LOAD = """
SELECT r.merchant_id, r.communication_id, m.channel, m.state, m.delivered_at IS NOT NULL, false,
       m.provider, t.recipient, d.address
FROM unnest($1::integer[], $2::uuid[]) AS r (merchant_id, communication_id)
JOIN communications m USING (merchant_id, communication_id)
LEFT JOIN communication_contents t USING (merchant_id, communication_id)
LEFT JOIN debtors d ON d.merchant_id = m.merchant_id AND d.claim_id = m.claim_id
UNION ALL
SELECT r.merchant_id, r.communication_id, n.channel, n.state, false, true,
       n.provider, n.recipient, NULL
FROM unnest($1::integer[], $2::uuid[]) AS r (merchant_id, communication_id)
JOIN debtor_notices n ON n.merchant_id = r.merchant_id AND n.notice_id = r.communication_id
"""
# Uses the primary key and locks in its order, waiting for transactions that record outcomes.
_SAVE_DELIVERIES = """
UPDATE communications m SET delivered_at = $3
FROM (SELECT m.merchant_id, m.communication_id
      FROM unnest($1::integer[], $2::uuid[]) AS r (merchant_id, communication_id)
      JOIN communications m USING (merchant_id, communication_id)
      WHERE m.state = 'ACCEPTED' AND m.delivered_at IS NULL
      ORDER BY m.claim_id, m.communication_id
      FOR NO KEY UPDATE OF m) locked
WHERE m.merchant_id = locked.merchant_id AND m.communication_id = locked.communication_id
"""
# Uses the key of a claim's contacts, then delivery_reports_of_message.
_HAS_FAILED_BEFORE = """
SELECT EXISTS (
    SELECT FROM communications this
    JOIN communications other USING (merchant_id, claim_id, channel)
    JOIN delivery_reports r
        ON r.merchant_id = other.merchant_id AND r.communication_id = other.communication_id
    WHERE this.merchant_id = $1 AND this.communication_id = $2
      AND other.communication_id <> this.communication_id
      AND r.outcome = 'FAILED' AND r.cause = 'ADDRESS')
"""
_LOCK_REPORT = """
SELECT report_id FROM delivery_reports
WHERE report_id = $1 AND due_at IS NOT NULL
FOR UPDATE SKIP LOCKED
"""
# Uses communications_unknown for each merchant.
_LIST_MERCHANTS = """
SELECT merchant_id FROM merchants m
WHERE EXISTS (SELECT FROM communications c
              WHERE c.merchant_id = m.merchant_id AND c.state = 'UNKNOWN')
ORDER BY merchant_id
"""
# Uses communications_unknown.
_LIST_UNKNOWN = """
SELECT communication_id FROM communications
WHERE merchant_id = $1 AND state = 'UNKNOWN' AND channel = $2 AND handed_over_at < $3
ORDER BY communication_id
LIMIT $4
"""


class ReportedMessage(msgspec.Struct, frozen=True, gc=False):
    reference: Reference
    channel: Channel
    state: str
    is_delivered: bool
    is_notice: bool
    # The provider that sent the message; None if it is not known.
    provider: str | None
    # The address in the form of the suppression list. None if it was erased, or if the debtor of a
    # letter has moved since.
    address: str | None


async def load_reported_messages(
    tx: Connection, references: Collection[Reference]
) -> dict[Reference, ReportedMessage]:
    """Load the reported messages that exist."""
    if not references:
        return {}
    merchant_ids = [each.merchant_id for each in references]
    ids = [each.communication_id for each in references]
    reported = {}
    for merchant_id, communication_id, *rest in await tx.fetch(_LOAD, merchant_ids, ids):
        reference = Reference(merchant_id, communication_id)
        channel, state, is_delivered, is_notice, provider, recipient, address = rest
        suppressible = _find_address(channel, recipient, address)
        reported[reference] = ReportedMessage(
            reference,
            channel,
            state=state,
            is_delivered=is_delivered,
            is_notice=is_notice,
            provider=provider,
            address=suppressible,
        )
    return reported


def _find_address(
    channel: Channel, recipient: str | None, address: Mapping[str, Any] | None
) -> str | None:
    """Return the address for the suppression list. The address of a letter has no name, and is used
    only if it is still the debtor's address."""
    if channel != "LETTER" or recipient is None:
        return recipient
    if address is None:
        return None
    suppressible = render_postal_address(address)
    return suppressible if all(part in recipient for part in suppressible.split(", ")) else None


async def save_deliveries(
    tx: Connection, messages: Collection[ReportedMessage], real_now: datetime
) -> None:
    """Mark contacts as delivered. Notices have no such mark."""
    contacts = [each.reference for each in messages if not each.is_notice]
    if contacts:
        merchant_ids = [each.merchant_id for each in contacts]
        ids = [each.communication_id for each in contacts]
        await tx.execute(_SAVE_DELIVERIES, merchant_ids, ids, real_now)


async def has_failed_before(tx: Connection, reference: Reference) -> bool:
    """Return whether another contact of the claim failed on this channel because of its address."""
    return bool(
        await tx.fetchval(_HAS_FAILED_BEFORE, reference.merchant_id, reference.communication_id)
    )


async def lock_report(tx: Connection, report_id: UUID) -> bool:
    """Lock a report that is still due. Return False if another worker has it."""
    return await tx.fetchval(_LOCK_REPORT, report_id) is not None


async def list_merchants_with_unknown_messages(connection: Connection) -> list[int]:
    return [row["merchant_id"] for row in await connection.fetch(_LIST_MERCHANTS)]


async def list_unknown_messages(
    connection: Connection, merchant_id: int, channel: Channel, before: datetime, limit: int
) -> list[UUID]:
    """List the ids of messages of unknown outcome on a channel that were handed over before an
    instant (the merchant's time), the oldest first."""
    rows = await connection.fetch(_LIST_UNKNOWN, merchant_id, channel, before, limit)
    return [row["communication_id"] for row in rows]
