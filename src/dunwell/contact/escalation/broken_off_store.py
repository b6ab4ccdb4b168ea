"""The SQL of contacts whose sending was broken off: they were handed over, and their lease ran out
before an answer was recorded. They are taken up again, or become UNKNOWN (CONTRACT 13).
"""

from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.contact.escalation.claim_contact_store import CONTACTS
from dunwell.contact.escalation.contact_store import read_contact
from dunwell.contact.messages.contact import Contact, Content
from dunwell.platform.database.database import Connection
from dunwell.platform.database.leases import Lease
from dunwell.platform.database.sql import compose

# Whether a broken-off contact may still be sent as it was rendered: the claim is in process, not
# held, on the same run, and nothing of it has changed since.
_STILL_HOLDS = """
c.status IN ('CREATED', 'IN_PROCESS') AND NOT c.held AND c.run = m.run
AND c.updated_at <= m.handed_over_at
"""
# Rides on communications_handed_over.
_TAKE_UP = compose(
    """
WITH chosen AS MATERIALIZED (
    SELECT m.communication_id
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND {has_ended}
      AND m.channel = $5 AND {still_holds}
    ORDER BY m.lease_until
    LIMIT $6
    FOR NO KEY UPDATE OF m SKIP LOCKED
)
UPDATE communications m
SET {hold}, tries = tries + 1
FROM chosen, communication_contents t, claims c, debtors d
WHERE m.merchant_id = $1 AND m.communication_id = chosen.communication_id
  AND t.merchant_id = $1 AND t.communication_id = m.communication_id
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND d.merchant_id = $1 AND d.claim_id = m.claim_id
RETURNING m.communication_id, m.claim_id, m.run, m.step_id, m.place, m.channel,
    m.tries - 1 AS tries, m.handed_over_at, c.workflow_id, c.workflow_major,
    c.reference_number,
    d.customer_number, d.email, d.mobile_number, d.address,
    t.recipient, t.language, t.subject, t.body_text, t.body_html, t.document_key, t.attachment_ids,
    t.key_version
""",
    still_holds=_STILL_HOLDS,
    has_ended=CONTACTS.has_ended("$2", "m."),
    hold=CONTACTS.hold("$4", "$3"),
)
# Rides on communications_handed_over. A row that another transaction holds is left for the next
# set: it must not hold up its channel.
_GIVE_UP_KNOWING = compose(
    """
WITH chosen AS MATERIALIZED (
    SELECT m.communication_id
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND {has_ended}
      AND m.channel = $3 AND NOT ($4::boolean AND {still_holds})
    ORDER BY m.lease_until
    LIMIT $5
    FOR NO KEY UPDATE OF m SKIP LOCKED
), unknown AS (
    UPDATE communications m
    SET state = 'UNKNOWN', {clear}
    FROM chosen
    WHERE m.merchant_id = $1 AND m.communication_id = chosen.communication_id
    RETURNING m.*
), recorded AS (
    INSERT INTO contact_ledger
        (merchant_id, entry_id, communication_id, claim_id, run, step_id, place, channel, outcome,
         tries, at, recipient_digest, content_digest)
    SELECT $1, gen_random_uuid(), communication_id, claim_id, run, step_id, place, channel,
           'UNKNOWN', tries, coalesce(w.sandbox_now, $2), recipient_digest, content_digest
    FROM unknown
    JOIN merchants w USING (merchant_id)
)
SELECT communication_id FROM unknown
""",
    still_holds=_STILL_HOLDS,
    has_ended=CONTACTS.has_ended("$2", "m."),
    clear=CONTACTS.clear(),
)


async def take_up(
    tx: Connection,
    merchant_id: int,
    real_now: datetime,
    lease: Lease,
    channel: Channel,
    *,
    limit: int,
) -> list[tuple[Contact, Content, datetime]]:
    """Contacts whose sending was broken off, on a channel that may be repeated: with the content
    and the instant of their hand-over."""
    rows = await tx.fetch(
        _TAKE_UP, merchant_id, real_now, lease.lease_id, lease.until, channel, limit
    )
    return [
        (
            read_contact(row),
            Content(
                recipient=row["recipient"],
                language=row["language"],
                subject=row["subject"],
                body_text=row["body_text"],
                body_html=row["body_html"],
                document_key=row["document_key"],
                attachment_ids=tuple(row["attachment_ids"]),
                key_version=row["key_version"],
            ),
            row["handed_over_at"],
        )
        for row in rows
    ]


async def mark_unknown(
    tx: Connection, merchant_id: int, real_now: datetime, channel: Channel,
    *, is_repeatable: bool, limit: int,
) -> list[UUID]:  # fmt: skip
    """Contacts broken off on a channel that is not repeatable, or whose claim has changed since,
    may have left the house: the ledger says so, and a person settles them."""
    rows = await tx.fetch(_GIVE_UP_KNOWING, merchant_id, real_now, channel, is_repeatable, limit)
    return [row["communication_id"] for row in rows]
