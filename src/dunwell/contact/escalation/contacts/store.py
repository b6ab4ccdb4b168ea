"""The SQL of contacts being sent: lease, check, mark as handed over, and resume after an
interruption."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.configuration import CHANNELS, Channel
from dunwell.accounts.merchants.due_merchants import DueTable, render_due_merchants
from dunwell.contact.escalation.statement_age import StatementLimit, normalize_account
from dunwell.contact.escalation.store import CONTACTS
from dunwell.contact.messages.contact import Content, LeasedContact, PlannedContact, RenderedContact
from dunwell.contact.messages.guards.guards import ContactHold, UpdatedGuard
from dunwell.contact.messages.guards.store import encode_days
from dunwell.contact.messages.ledger.seal_ledger import digest_content, digest_recipient
from dunwell.contact.messages.templates.facts import MessageClaim, MessageItem
from dunwell.core.claims.fields import DebtorName, build_debtor_fields, render_columns
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import Lease
from dunwell.platform.database.sql import compose, load_statement

# A merchant and one of its channels. Merchant channels have separate providers.
MerchantChannel = tuple[int, Channel]

_LEASE = load_statement(
    __file__,
    "lease_contacts.sql",
    debtor=render_columns(DebtorName, "d"),
    is_free=CONTACTS.is_free("$3", "m."),
    hold=CONTACTS.hold("$5", "$4"),
)

_IS_PLANNED = compose(
    """d.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND d.not_before <= {now}
  AND {is_free}
  AND EXISTS (SELECT FROM claims c WHERE c.merchant_id = d.merchant_id
                AND c.claim_id = d.claim_id AND NOT c.held)""",
    now="{now}",
    is_free=CONTACTS.is_free("$1", "d."),
)
_IS_INTERRUPTED = compose(
    "d.state = 'HANDED_OVER' AND {has_ended}", has_ended=CONTACTS.has_ended("$1", "d.")
)
# Starts after the given channel and wraps around. Uses communications_planned and
# communications_handed_over, after a check over all merchants whether anything is due.
_LIST_CHANNELS = compose(
    """
SELECT due.merchant_id, channel
FROM {due} due
CROSS JOIN unnest($4::text[]) AS channel
WHERE (due.merchant_id, channel) NOT IN (SELECT * FROM unnest($5::integer[], $6::text[]))
  AND (EXISTS (SELECT FROM communications d
               WHERE d.merchant_id = due.merchant_id AND d.channel = channel.channel
                 AND {is_planned})
       OR EXISTS (SELECT FROM communications d
                  WHERE d.merchant_id = due.merchant_id AND d.channel = channel.channel
                    AND {is_interrupted}))
ORDER BY (due.merchant_id, channel) <= ($2, $3::text), due.merchant_id, channel
LIMIT $7
""",
    due=render_due_merchants(
        DueTable("communications", _IS_PLANNED), DueTable("communications", _IS_INTERRUPTED)
    ),
    is_planned=compose(_IS_PLANNED, now="due.now"),
    is_interrupted=_IS_INTERRUPTED,
)
# Uses the primary key.
_RELEASE = compose(
    """
UPDATE communications m
SET {clear}, not_before = r.not_before, held_by = r.held_by,
    -- Cancel the contact if its claim has ended or was reassigned.
    state = CASE WHEN c.status IN ('CREATED', 'IN_PROCESS') AND c.run = m.run THEN m.state
                 ELSE 'CANCELLED' END,
    failure = CASE WHEN c.status IN ('CREATED', 'IN_PROCESS') AND c.run = m.run THEN m.failure
                   ELSE 'The claim ended or was reassigned.' END
FROM unnest($3::uuid[], $4::timestamptz[], $5::text[])
    AS r (communication_id, not_before, held_by), claims c
WHERE m.merchant_id = $1 AND m.communication_id = r.communication_id
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING') AND {is_held}
""",
    clear=CONTACTS.clear(),
    is_held=CONTACTS.is_held("$2", "m."),
)
# A contact whose claim has changed since the lease, or is being changed, is released unchanged,
# because the attachment may just have been added. Uses primary keys.
_AWAIT_ATTACHMENT = compose(
    """
WITH incomplete AS MATERIALIZED (
    SELECT r.communication_id
    FROM unnest($3::uuid[], $5::bigint[], $6::bigint[])
        AS r (communication_id, claim_id, claim_version)
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = r.claim_id
    WHERE c.xmin::text::bigint = r.claim_version
    FOR NO KEY UPDATE OF c SKIP LOCKED
)
UPDATE communications m
SET {clear},
    state = CASE WHEN i.communication_id IS NULL THEN m.state ELSE 'ATTACHMENT_MISSING' END,
    not_before = CASE WHEN i.communication_id IS NULL THEN m.not_before ELSE $4 END
FROM unnest($3::uuid[]) AS r (communication_id)
LEFT JOIN incomplete i USING (communication_id)
WHERE m.merchant_id = $1 AND {is_held} AND m.communication_id = r.communication_id
  AND m.state = 'PLANNED'
""",
    clear=CONTACTS.clear(),
    is_held=CONTACTS.is_held("$2", "m."),
)
_RENEW = CONTACTS.renew(takes_key_array=True)


async def list_channels_with_contacts(
    tx: Connection, now: datetime, after: MerchantChannel, busy: Collection[MerchantChannel],
    limit: int,
) -> list[MerchantChannel]:  # fmt: skip
    """List the merchant channels with contacts to send or to resume, except the busy ones, starting
    after the channel `after`. `now` is real time."""
    rows = await tx.fetch(
        _LIST_CHANNELS, now, *after, CHANNELS,
        [merchant_id for merchant_id, _ in busy], [channel for _, channel in busy], limit,
    )  # fmt: skip
    return [(row["merchant_id"], row["channel"]) for row in rows]


async def lease_contacts(
    tx: Connection, merchant_id: int, lease: Lease, times: tuple[datetime, datetime],
    *, limit: int, channel: Channel,
) -> list[PlannedContact]:  # fmt: skip
    """Lease due contacts of a channel, with their facts.

    `times` are the merchant's time and the real time.
    """
    now, real_now = times
    rows = await tx.fetch(
        _LEASE, merchant_id, now, real_now, lease.lease_id, lease.until, limit, channel
    )
    return [_build_planned_contact(row) for row in rows]


async def release_contacts(
    tx: Connection, merchant_id: int, lease: Lease, kept_back: Mapping[UUID, ContactHold]
) -> None:
    """Release leased contacts until the given instants and store the reason for each hold. Contacts
    whose claim has ended or was reassigned are cancelled instead."""
    if kept_back:
        await tx.execute(
            _RELEASE, merchant_id, lease.lease_id, list(kept_back),
            [each.not_before for each in kept_back.values()],
            [each.held_by for each in kept_back.values()],
        )  # fmt: skip


async def release_until_attachment(
    tx: Connection, merchant_id: int, lease: Lease, waiting: Sequence[PlannedContact],
    until: datetime,
) -> None:  # fmt: skip
    """Release leased contacts whose attachment is missing. They fail at `until` unless one is
    added."""
    if waiting:
        await tx.execute(
            _AWAIT_ATTACHMENT, merchant_id, lease.lease_id,
            [each.contact.communication_id for each in waiting], until,
            [each.contact.claim_id for each in waiting], [each.claim_version for each in waiting],
        )  # fmt: skip


async def renew_contacts(
    tx: Connection, merchant_id: int, communication_ids: Sequence[UUID], lease_id: UUID,
    until: datetime,
) -> list[UUID]:  # fmt: skip
    """Renew the lease of contacts that are still held under it. Skip those that another transaction
    is changing. Return the ids of the renewed contacts."""
    rows = await tx.fetch(_RENEW, merchant_id, communication_ids, lease_id, until)
    return [row["communication_id"] for row in rows]


def _build_planned_contact(row: Row) -> PlannedContact:
    items = tuple(_build_item(values) for values in row["items"] or [])
    total = sum(item.value_cents for item in items)
    claim = MessageClaim(
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
        contact=build_leased_contact(row),
        claim_version=row["claim_version"],
        language=row["language"],
        claim=claim,
        debtor=build_debtor_fields(row, DebtorName),
        ready_at=row["ready_at"],
    )


def build_leased_contact(row: Mapping[str, Any]) -> LeasedContact:
    return LeasedContact(
        communication_id=row["communication_id"],
        claim_id=row["claim_id"],
        run=row["run"],
        step_id=row["step_id"],
        place=row["place"],
        channel=row["channel"],
        attempts=row["attempts"],
        workflow_key=(row["workflow_id"], row["workflow_major"]),
        reference_number=row["reference_number"],
        customer_number=row["customer_number"],
        email=row["email"],
        mobile_number=row["mobile_number"],
        address=row["address"],
        has_waited=row.get("has_waited_for_attachment", False),
    )


def _build_item(values: list[Any]) -> MessageItem:
    return MessageItem(*values[:3], *map(_parse_date, values[3:]))


def _parse_date(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None


_LOCK = load_statement(__file__, "lock_contacts.sql", is_held=CONTACTS.is_held("$2", "m."))
_HAND_OVER = load_statement(__file__, "hand_over.sql")
# Uses bank_accounts_iban.
_FIND_STATEMENT_LIMIT = """
SELECT account, max_age_banking_days, reported_until
FROM bank_accounts
WHERE merchant_id = $1 AND iban = $2 AND max_age_banking_days IS NOT NULL
  AND reported_until IS NOT NULL AND closed_at IS NULL
"""


async def find_statement_limit(
    tx: Connection, merchant_id: int, iban: str
) -> StatementLimit | None:
    """Return the limit on the age of the account's newest statement, if it has one. A closed
    account has none."""
    row = await tx.fetchrow(_FIND_STATEMENT_LIMIT, merchant_id, normalize_account(iban))
    return None if row is None else StatementLimit(**row)


class GuardRowConflict(Exception):  # noqa: N818 - the suffix Error would add nothing
    """Another transaction inserted a guard row for one of these persons at the same moment."""


@dataclass(frozen=True, slots=True)
class LockedContact:
    planned_at: datetime
    is_suppressed: bool
    # True if the debtor must not be contacted.
    is_stopped: bool


@dataclass(frozen=True, slots=True)
class ContactHandOver:
    """The contacts to be handed over: each message with the identities of its debtor."""

    messages: Sequence[tuple[RenderedContact, Sequence[bytes]]]
    updated_guards: Sequence[UpdatedGuard]
    # The merchant's time, and the date in its time zone.
    now: datetime
    today: date


async def lock_contacts(
    tx: Connection,
    merchant_id: int,
    lease: Lease,
    rendered: Mapping[UUID, tuple[RenderedContact, Sequence[bytes], Sequence[bytes]]],
) -> dict[UUID, LockedContact]:
    """Lock the rendered contacts that may still be sent, after their claims, until the transaction
    ends.

    `rendered` has each message with the digests of its address in the suppression list and the
    digests of its debtor's identities.
    """
    rows = await tx.fetch(
        _LOCK, merchant_id, lease.lease_id, list(rendered),
        [message.planned.claim_version for message, _, _ in rendered.values()],
        [_encode_digests(address) for _, address, _ in rendered.values()],
        [_encode_digests(identities) for _, _, identities in rendered.values()],
    )  # fmt: skip
    return {
        row["communication_id"]: LockedContact(
            row["planned_at"], row["is_suppressed"], row["is_stopped"]
        )
        for row in rows
    }


async def save_hand_over(
    tx: Connection, keys: KeyRing, merchant_id: int, lease: Lease, hand_over: ContactHandOver
) -> None:
    """Mark the contacts as handed over and update the guards. Contacts and existing guards must be
    locked. Raises GuardRowConflict; the transaction must then be rolled back to its savepoint."""
    rendered = [message for message, _ in hand_over.messages]
    inserted = await tx.fetchval(
        _HAND_OVER, merchant_id, hand_over.now, hand_over.today, lease.until,
        [each.planned.contact.communication_id for each in rendered],
        [each.version_id for each in rendered],
        [each.content.recipient for each in rendered],
        [each.content.language for each in rendered],
        [each.content.subject for each in rendered],
        [each.content.body_text for each in rendered],
        [each.content.body_html for each in rendered],
        [each.link_hash for each in rendered],
        [each.code_digest for each in rendered],
        [each.content.document_key for each in rendered],
        [_encode_ids(each.content.attachment_ids) for each in rendered],
        [_digest_recipient(keys, merchant_id, each) for each in rendered],
        [digest_content(keys, merchant_id, each.content.parts) for each in rendered],
        [_encode_digests(identities) for _, identities in hand_over.messages],
        [each.identity for each in hand_over.updated_guards],
        [encode_days(each.days) for each in hand_over.updated_guards],
        [each.per_day for each in hand_over.updated_guards],
        [each.per_week for each in hand_over.updated_guards],
        [each.is_new for each in hand_over.updated_guards],
        keys.version,
        [each.check_digest for each in rendered],
    )  # fmt: skip
    if inserted != sum(each.is_new for each in hand_over.updated_guards):
        raise GuardRowConflict


def _digest_recipient(keys: KeyRing, merchant_id: int, rendered: RenderedContact) -> bytes:
    channel = rendered.planned.contact.channel
    return digest_recipient(keys, merchant_id, channel, rendered.content.recipient)


def _encode_ids(ids: Sequence[UUID]) -> str:
    """Return a PostgreSQL array literal; unnest would flatten an array of arrays."""
    return "{" + ",".join(map(str, ids)) + "}"


def _encode_digests(digests: Sequence[bytes]) -> str:
    return "{" + ",".join(f'"\\\\x{digest.hex()}"' for digest in digests) + "}"


# True if an interrupted contact may still be sent as it was rendered: the claim is active, not on
# hold, in the same run and unchanged since the hand-over.
_IS_UNCHANGED = """
c.status IN ('CREATED', 'IN_PROCESS') AND NOT c.held AND c.run = m.run
AND c.updated_at <= m.handed_over_at
"""
# Uses communications_handed_over.
_RESUME = compose(
    """
WITH chosen AS MATERIALIZED (
    SELECT m.communication_id
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND {has_ended}
      AND m.channel = $5 AND {is_unchanged}
    ORDER BY m.lease_until
    LIMIT $6
    FOR NO KEY UPDATE OF m SKIP LOCKED
)
UPDATE communications m
SET {hold}, attempts = attempts + 1
FROM chosen, communication_contents t, claims c, debtors d
WHERE m.merchant_id = $1 AND m.communication_id = chosen.communication_id
  AND t.merchant_id = $1 AND t.communication_id = m.communication_id
  AND c.merchant_id = $1 AND c.claim_id = m.claim_id
  AND d.merchant_id = $1 AND d.claim_id = m.claim_id
RETURNING m.communication_id, m.claim_id, m.run, m.step_id, m.place, m.channel,
    m.attempts - 1 AS attempts, m.handed_over_at, c.workflow_id, c.workflow_major,
    c.reference_number,
    d.customer_number, d.email, d.mobile_number, d.address,
    t.recipient, t.language, t.subject, t.body_text, t.body_html, t.document_key, t.attachment_ids,
    t.key_version
""",
    is_unchanged=_IS_UNCHANGED,
    has_ended=CONTACTS.has_ended("$2", "m."),
    hold=CONTACTS.hold("$4", "$3"),
)
# Uses communications_handed_over. Rows locked by another transaction are left for the next set, so
# that they do not block their channel.
_MARK_UNKNOWN = compose(
    """
WITH chosen AS MATERIALIZED (
    SELECT m.communication_id
    FROM communications m
    JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
    WHERE m.merchant_id = $1 AND m.state = 'HANDED_OVER' AND {has_ended}
      AND m.channel = $3 AND NOT ($4::boolean AND {is_unchanged})
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
         attempts, at, recipient_digest, content_digest)
    SELECT $1, gen_random_uuid(), communication_id, claim_id, run, step_id, place, channel,
           'UNKNOWN', attempts, coalesce(w.sandbox_now, $2), recipient_digest, content_digest
    FROM unknown
    JOIN merchants w USING (merchant_id)
)
SELECT communication_id FROM unknown
""",
    is_unchanged=_IS_UNCHANGED,
    has_ended=CONTACTS.has_ended("$2", "m."),
    clear=CONTACTS.clear(),
)


async def resume_interrupted(
    tx: Connection,
    merchant_id: int,
    real_now: datetime,
    lease: Lease,
    channel: Channel,
    *,
    limit: int,
) -> list[tuple[LeasedContact, Content, datetime]]:
    """Resume interrupted contacts of a channel that can be called again, if their claims have not
    changed since the hand-over. Return each with its content and the time of its hand-over."""
    rows = await tx.fetch(
        _RESUME, merchant_id, real_now, lease.lease_id, lease.until, channel, limit
    )
    return [
        (
            build_leased_contact(row),
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
    """Mark interrupted contacts as UNKNOWN if their channel cannot be called again (`is_repeatable`
    is false) or their claim has changed. The contacts may have been sent: the ledger records this
    and an operator resolves them."""
    rows = await tx.fetch(_MARK_UNKNOWN, merchant_id, real_now, channel, is_repeatable, limit)
    return [row["communication_id"] for row in rows]
