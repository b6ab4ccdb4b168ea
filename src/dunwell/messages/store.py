"""The SQL of communications on their way out: leasing, handing over, taking up what was broken off.

A planned contact is leased, rendered without any lock, and marked as handed over with its content
before a channel is called (CONTRACT 13). Leases run in real time.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

from dunwell.kit.db import Connection, Row
from dunwell.merchants.configuration import Channel
from dunwell.messages.facts import ClaimFacts, DebtorFacts, ItemFacts

_LEASE = files("dunwell.messages").joinpath("lease_contacts.sql").read_text()
_HAND_OVER = files("dunwell.messages").joinpath("hand_over.sql").read_text()

# Merchants behind the given one first. Rides on communications_planned and _handed_over.
_FIND_MERCHANTS = """
SELECT m.merchant_id
FROM merchants m
WHERE m.merchant_id <> ALL($3::integer[]) AND (
    EXISTS (
        SELECT FROM communications o
        JOIN claims c ON c.merchant_id = o.merchant_id AND c.claim_id = o.claim_id
        WHERE o.merchant_id = m.merchant_id AND o.state IN ('PLANNED', 'ATTACHMENT_MISSING')
          AND o.not_before <= coalesce(m.sandbox_now, $1)
          AND (o.lease_until IS NULL OR o.lease_until <= $1)
          AND NOT c.held)
    OR EXISTS (
        SELECT FROM communications o
        WHERE o.merchant_id = m.merchant_id AND o.state = 'HANDED_OVER' AND o.lease_until <= $1))
ORDER BY m.merchant_id <= $2, m.merchant_id
LIMIT $4
"""
# By primary key.
_RELEASE = """
UPDATE communications m
SET lease_id = NULL, lease_until = NULL, not_before = r.not_before,
    -- A claim that ended or was assigned anew contacts nobody by it any more.
    state = CASE WHEN c.status IN ('CREATED', 'IN_PROCESS') AND c.run = m.run THEN m.state
                 ELSE 'CANCELLED' END
FROM unnest($3::uuid[], $4::timestamptz[]) AS r (communication_id, not_before), claims c
WHERE m.merchant_id = $1 AND m.communication_id = r.communication_id
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND m.lease_id = $2
"""
# By primary key.
_AWAIT_ATTACHMENT = """
UPDATE communications
SET state = 'ATTACHMENT_MISSING', lease_id = NULL, lease_until = NULL, not_before = $4
WHERE merchant_id = $1 AND lease_id = $2 AND communication_id = ANY($3::uuid[])
  AND state = 'PLANNED'
"""
# Whether a broken-off contact may still be sent as it was rendered: the claim is in process, not
# held, on the same run, and nothing of it has changed since.
_STILL_HOLDS = """
c.status IN ('CREATED', 'IN_PROCESS') AND NOT c.held AND c.run = m.run
AND c.updated_at <= m.handed_over_at
"""
# Rides on communications_handed_over.
_TAKE_UP = f"""
WITH chosen AS MATERIALIZED (
    SELECT m.communication_id
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND m.lease_until <= $2
      AND m.channel = ANY($5::text[]) AND {_STILL_HOLDS}
    ORDER BY m.lease_until
    LIMIT $6
    FOR NO KEY UPDATE OF m SKIP LOCKED
)
UPDATE communications m
SET lease_id = $3, lease_until = $4, tries = tries + 1
FROM chosen, communication_contents t, claims c, debtors d, workflow_versions v
WHERE m.merchant_id = $1 AND m.communication_id = chosen.communication_id
  AND t.merchant_id = $1 AND t.communication_id = m.communication_id
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND d.merchant_id = $1 AND d.claim_id = m.claim_id
  AND v.merchant_id = $1 AND v.version_id = m.version_id
RETURNING m.communication_id, m.claim_id, m.run, m.step_id, m.place, m.channel,
    m.tries - 1 AS tries, m.handed_over_at, v.workflow_id, v.major AS workflow_major,
    c.reference_number,
    d.customer_number, d.email, d.mobile_number, d.address,
    t.recipient, t.language, t.subject, t.body_text, t.body_html, t.document_key, t.attachment_ids
"""  # noqa: S608 - fixed words of ours
_GIVE_UP_KNOWING = f"""
UPDATE communications m
SET state = 'UNKNOWN', lease_id = NULL, lease_until = NULL
FROM claims c
WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND m.lease_until <= $2
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND NOT (m.channel = ANY($3::text[]) AND {_STILL_HOLDS})
RETURNING m.communication_id
"""  # noqa: S608 - the same
# Rides on communications_handed_over.
_KEEP = """
UPDATE communications
SET lease_until = $3
WHERE merchant_id = $1 AND lease_id = $2 AND state = 'HANDED_OVER'
"""


@dataclass(frozen=True, slots=True)
class Contact:
    """A contact under lease: its key, and what its step and its claim need to go on."""

    communication_id: UUID
    claim_id: int
    run: int
    step_id: int
    place: int
    channel: Channel
    # Tries before this one.
    tries: int
    process_key: tuple[UUID, int]
    reference_number: str
    customer_number: str | None
    email: str | None
    mobile_number: str | None
    address: dict[str, Any] | None
    # Its attachment was missing, and its time to wait is over.
    has_waited: bool = False


@dataclass(frozen=True, slots=True)
class PlannedContact:
    """A contact to be rendered, with its claim's facts as of `claim_version`."""

    contact: Contact
    claim_version: int
    language: str | None
    claim: ClaimFacts
    debtor: DebtorFacts


@dataclass(frozen=True, slots=True)
class Content:
    """What is kept of a message: everything but the link's token and the code, which are masked."""

    recipient: str
    language: str
    subject: str | None
    body_text: str
    body_html: str | None
    # Where a letter's PDF is kept.
    document_key: str | None = None
    # The claim's attachments that go along, in order.
    attachment_ids: tuple[UUID, ...] = ()


@dataclass(frozen=True, slots=True)
class RenderedContact:
    planned: PlannedContact
    version_id: UUID
    content: Content
    # Hash of the link's token, if the content bears one.
    link_hash: bytes | None
    # Digest of the code, if the content bears it.
    code_digest: bytes | None = None
    # A letter's: the sheet to be printed, with link and code, then what was printed.
    sheet: bytes | None = None
    pdf: bytes | None = None


@dataclass(frozen=True, slots=True)
class Lease:
    lease_id: UUID
    until: datetime


async def find_merchants_with_contacts(
    tx: Connection, now: datetime, behind_merchant_id: int, busy: Sequence[int], limit: int
) -> list[int]:
    """Merchants with something to send or to take up again, busy ones left out."""
    rows = await tx.fetch(_FIND_MERCHANTS, now, behind_merchant_id, busy, limit)
    return [row["merchant_id"] for row in rows]


async def lease_contacts(
    tx: Connection, merchant_id: int, lease: Lease, times: tuple[datetime, datetime], limit: int
) -> list[PlannedContact]:
    """times: the merchant's, and the real one."""
    now, real_now = times
    rows = await tx.fetch(_LEASE, merchant_id, now, real_now, lease.lease_id, lease.until, limit)
    return [_read_planned(row) for row in rows]


async def hand_over(
    tx: Connection,
    merchant_id: int,
    rendered: Sequence[RenderedContact],
    lease: Lease,
    now: datetime,
) -> set[UUID]:
    """Mark what may be sent, with its content; the ids of those, and of no others."""
    rows = await tx.fetch(
        _HAND_OVER, merchant_id, now, lease.lease_id, lease.until,
        [each.planned.contact.communication_id for each in rendered],
        [each.planned.claim_version for each in rendered],
        [each.version_id for each in rendered],
        [each.content.recipient for each in rendered],
        [each.content.language for each in rendered],
        [each.content.subject for each in rendered],
        [each.content.body_text for each in rendered],
        [each.content.body_html for each in rendered],
        [each.link_hash for each in rendered],
        [each.code_digest for each in rendered],
        [each.content.document_key for each in rendered],
        [_write_ids(each.content.attachment_ids) for each in rendered],
    )  # fmt: skip
    return {row["communication_id"] for row in rows}


async def release(
    tx: Connection, merchant_id: int, lease: Lease, not_before: dict[UUID, datetime]
) -> None:
    """Give leased contacts back, not to be sent before the given instants."""
    if not_before:
        await tx.execute(
            _RELEASE, merchant_id, lease.lease_id, list(not_before), list(not_before.values())
        )


async def await_attachment(
    tx: Connection, merchant_id: int, lease: Lease, ids: Sequence[UUID], until: datetime
) -> None:
    """Give leased contacts back whose attachment is missing; at `until` they are given up."""
    if ids:
        await tx.execute(_AWAIT_ATTACHMENT, merchant_id, lease.lease_id, ids, until)


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
            _read_contact(row),
            Content(
                row["recipient"], row["language"], row["subject"], row["body_text"],
                row["body_html"], row["document_key"], tuple(row["attachment_ids"]),
            ),
            row["handed_over_at"],
        )
        for row in rows
    ]  # fmt: skip


async def keep_lease(tx: Connection, merchant_id: int, lease: Lease) -> None:
    """Hold on to what was handed over while its channels are called."""
    await tx.execute(_KEEP, merchant_id, lease.lease_id, lease.until)


async def mark_unknown(
    tx: Connection, merchant_id: int, real_now: datetime, repeatable: Sequence[Channel]
) -> list[UUID]:
    """Contacts broken off on any other channel, or whose claim has changed since, may have left the
    house: a person settles them."""
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
    debtor = DebtorFacts(row["first_name"], row["last_name"], row["company_name"])
    return PlannedContact(_read_contact(row), row["claim_version"], row["language"], claim, debtor)


def _read_contact(row: Row) -> Contact:
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


def _write_ids(ids: Sequence[UUID]) -> str:
    """As PostgreSQL writes an array: unnest would take an array of arrays apart."""
    return "{" + ",".join(map(str, ids)) + "}"


def _read_item(values: list[Any]) -> ItemFacts:
    item_type, value_cents, reference, item_date, due_date = values
    return ItemFacts(item_type, value_cents, reference, _read_date(item_date), _read_date(due_date))


def _read_date(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
