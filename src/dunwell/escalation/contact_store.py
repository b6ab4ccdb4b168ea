"""The SQL of contacts on their way out: leasing, giving back, taking up what was broken off.

A planned contact is leased, rendered without any lock, and marked as handed over with its content
before a channel is called (CONTRACT 13). Leases run in real time.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import date, datetime
from typing import Any
from uuid import UUID

from dunwell.claims.debtor_rows import list_columns, read_row
from dunwell.claims.fields import DebtorName
from dunwell.kit.db import Connection, Row
from dunwell.kit.sql import compose, load_statement
from dunwell.merchants.configuration import Channel
from dunwell.merchants.due_merchants import Due, list_due_merchants
from dunwell.messages.contact import Contact, Content, PlannedContact
from dunwell.messages.facts import ClaimFacts, ItemFacts
from dunwell.messages.guards import KeptBack
from dunwell.sending.lease import Lease

_LEASE = load_statement(__file__, "lease_contacts.sql", debtor=list_columns(DebtorName, "d"))

# Merchants behind the given one first. Rides on communications_planned and _handed_over, once
# those of all merchants together say that anything is due.
_FIND_MERCHANTS = compose(
    """
SELECT merchant_id
FROM {due} due
WHERE merchant_id <> ALL($3::integer[])
ORDER BY merchant_id <= $2, merchant_id
LIMIT $4
""",
    due=list_due_merchants(
        Due(
            "communications",
            """d.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND d.not_before <= {now}
              AND (d.lease_until IS NULL OR d.lease_until <= $1)
              AND EXISTS (SELECT FROM claims c WHERE c.merchant_id = d.merchant_id
                            AND c.claim_id = d.claim_id AND NOT c.held)""",
        ),
        Due("communications", "d.state = 'HANDED_OVER' AND d.lease_until <= $1"),
    ),
)
# By primary key.
_RELEASE = """
UPDATE communications m
SET lease_id = NULL, lease_until = NULL, not_before = r.not_before, held_by = r.held_by,
    -- A claim that ended or was assigned anew contacts nobody by it any more.
    state = CASE WHEN c.status IN ('CREATED', 'IN_PROCESS') AND c.run = m.run THEN m.state
                 ELSE 'CANCELLED' END
FROM unnest($3::uuid[], $4::timestamptz[], $5::text[])
    AS r (communication_id, not_before, held_by), claims c
WHERE m.merchant_id = $1 AND m.communication_id = r.communication_id
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND m.lease_id = $2
"""
# One whose claim has changed since the lease, or is being changed, is given back as it was: what is
# attached at that moment must not be waited for. By primary keys.
_AWAIT_ATTACHMENT = """
WITH incomplete AS MATERIALIZED (
    SELECT r.communication_id
    FROM unnest($3::uuid[], $5::bigint[], $6::bigint[])
        AS r (communication_id, claim_id, claim_version)
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = r.claim_id
    WHERE c.xmin::text::bigint = r.claim_version
    FOR NO KEY UPDATE OF c SKIP LOCKED
)
UPDATE communications m
SET lease_id = NULL, lease_until = NULL,
    state = CASE WHEN i.communication_id IS NULL THEN m.state ELSE 'ATTACHMENT_MISSING' END,
    not_before = CASE WHEN i.communication_id IS NULL THEN m.not_before ELSE $4 END
FROM unnest($3::uuid[]) AS r (communication_id)
LEFT JOIN incomplete i USING (communication_id)
WHERE m.merchant_id = $1 AND m.lease_id = $2 AND m.communication_id = r.communication_id
  AND m.state = 'PLANNED'
"""
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
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND m.lease_until <= $2
      AND m.channel = ANY($5::text[]) AND {still_holds}
    ORDER BY m.lease_until
    LIMIT $6
    FOR NO KEY UPDATE OF m SKIP LOCKED
)
UPDATE communications m
SET lease_id = $3, lease_until = $4, tries = tries + 1
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
)
_GIVE_UP_KNOWING = compose(
    """
WITH unknown AS (
    UPDATE communications m
    SET state = 'UNKNOWN', lease_id = NULL, lease_until = NULL
    FROM claims c
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND m.lease_until <= $2
      AND c.merchant_id = $1 AND c.claim_id = m.claim_id
      AND NOT (m.channel = ANY($3::text[]) AND {still_holds})
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
)
# By primary keys. One that somebody else is changing keeps its end until the next time.
_KEEP = """
WITH held AS (
    SELECT communication_id
    FROM communications
    WHERE merchant_id = $1 AND communication_id = ANY($2::uuid[]) AND lease_id = $3
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE communications m
SET lease_until = $4
FROM held
WHERE m.merchant_id = $1 AND m.communication_id = held.communication_id
"""


async def find_merchants_with_contacts(
    tx: Connection, now: datetime, behind_merchant_id: int, busy: Sequence[int], limit: int
) -> list[int]:
    """Merchants with something to send or to take up again, busy ones left out."""
    rows = await tx.fetch(_FIND_MERCHANTS, now, behind_merchant_id, busy, limit)
    return [row["merchant_id"] for row in rows]


async def lease_contacts(
    tx: Connection, merchant_id: int, lease: Lease, times: tuple[datetime, datetime],
    *, limit: int, without: Collection[Channel] = (),
) -> list[PlannedContact]:  # fmt: skip
    """times: the merchant's, and the real one. without: channels that are left out."""
    now, real_now = times
    rows = await tx.fetch(
        _LEASE, merchant_id, now, real_now, lease.lease_id, lease.until, limit, list(without)
    )
    return [_read_planned(row) for row in rows]


async def release(
    tx: Connection, merchant_id: int, lease: Lease, kept_back: Mapping[UUID, KeptBack]
) -> None:
    """Give leased contacts back, not to be sent before an instant, with what holds them."""
    if kept_back:
        await tx.execute(
            _RELEASE, merchant_id, lease.lease_id, list(kept_back),
            [each.not_before for each in kept_back.values()],
            [each.held_by for each in kept_back.values()],
        )  # fmt: skip


async def await_attachment(
    tx: Connection, merchant_id: int, lease: Lease, waiting: Sequence[PlannedContact],
    until: datetime,
) -> None:  # fmt: skip
    """Give leased contacts back whose attachment is missing; at `until` they are given up."""
    if waiting:
        await tx.execute(
            _AWAIT_ATTACHMENT, merchant_id, lease.lease_id,
            [each.contact.communication_id for each in waiting], until,
            [each.contact.claim_id for each in waiting], [each.claim_version for each in waiting],
        )  # fmt: skip


async def take_up(
    tx: Connection,
    merchant_id: int,
    real_now: datetime,
    lease: Lease,
    channels: Sequence[Channel],
    *,
    limit: int,
) -> list[tuple[Contact, Content, datetime]]:
    """Contacts whose sending was broken off, on channels that may be repeated: with the content
    and the instant of their hand-over."""
    rows = await tx.fetch(
        _TAKE_UP, merchant_id, real_now, lease.lease_id, lease.until, list(channels), limit
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


async def keep_contacts(
    tx: Connection, merchant_id: int, communication_ids: Sequence[UUID], lease_id: UUID,
    until: datetime,
) -> None:  # fmt: skip
    """Renew the lease of those that are still held under it."""
    await tx.execute(_KEEP, merchant_id, communication_ids, lease_id, until)


async def mark_unknown(
    tx: Connection, merchant_id: int, real_now: datetime, repeatable: Sequence[Channel]
) -> list[UUID]:
    """Contacts broken off on any other channel, or whose claim has changed since, may have left the
    house: the ledger says so, and a person settles them."""
    rows = await tx.fetch(_GIVE_UP_KNOWING, merchant_id, real_now, list(repeatable))
    return [row["communication_id"] for row in rows]


def _read_planned(row: Row) -> PlannedContact:
    items = tuple(_read_item(values) for values in row["items"] or [])
    total = sum(item.value_cents for item in items)
    claim = ClaimFacts(
        claim_id=row["claim_id"],
        reference_number=row["reference_number"],
        currency=row["currency"],
        items=items,
        total_cents=total,
        outstanding_cents=total - row["allocated_cents"],
        fees_cents=sum(item.value_cents for item in items if item.type != "PRIMARY"),
        due_date=next((item.due_date for item in items if item.type == "PRIMARY"), None),
        customer_number=row["customer_number"],
        contract_number=row["contract_number"],
    )
    return PlannedContact(
        contact=read_contact(row),
        claim_version=row["claim_version"],
        language=row["language"],
        claim=claim,
        debtor=read_row(row, DebtorName),
        ready_at=row["ready_at"],
    )


def read_contact(row: Mapping[str, Any]) -> Contact:
    return Contact(
        communication_id=row["communication_id"],
        claim_id=row["claim_id"],
        run=row["run"],
        step_id=row["step_id"],
        place=row["place"],
        channel=row["channel"],
        tries=row["tries"],
        process_key=(row["workflow_id"], row["workflow_major"]),
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
        email=row["email"],
        mobile_number=row["mobile_number"],
        address=row["address"],
        has_waited=row.get("has_waited_for_attachment", False),
    )


def _read_item(values: list[Any]) -> ItemFacts:
    return ItemFacts(*values[:3], *map(_read_date, values[3:]))


def _read_date(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
