"""The SQL of due claims: find and load them, write decisions, and load the channels that steps have
tried."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.due_merchants import DueTable, render_due_merchants
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.due_claim import DueClaim, list_usable_channels
from dunwell.contact.escalation.schedule import TriedChannels, WorkflowPosition
from dunwell.contact.escalation.usable_channels import DebtorAddresses, load_usable_channels
from dunwell.core.claims.states import Status
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import WRITTEN_BY
from dunwell.platform.database.leases import LeasedTable
from dunwell.platform.database.sql import compose, load_statement

CONTACTS = LeasedTable("communications", ("merchant_id", "communication_id"), ends_at="lease_until")
# Uses the primary key, then the unique key (merchant_id, claim_id, run, step_id, place). A
# cancelled contact was never sent, so its place is free.
_LOAD_TRIED = """
SELECT m.communication_id, array_agg(o.channel) AS channels, max(o.place) + 1 AS next_place
FROM communications m
JOIN communications o USING (merchant_id, claim_id, run, step_id)
WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[]) AND o.state <> 'CANCELLED'
GROUP BY m.communication_id
"""
# Uses the same unique key, as does `_RETRY_WAITING`.
_CANCEL = """
UPDATE communications
SET state = 'CANCELLED', settled_at = $3, lease_id = NULL, lease_until = NULL,
    held_by = NULL, failure = $4
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
  AND state IN ('PLANNED', 'ATTACHMENT_MISSING')
"""
# Also takes over a contact whose waiting time ends at this moment, while another worker is about to
# fail it.
_RETRY_WAITING = """
UPDATE communications
SET state = 'PLANNED', not_before = $3, lease_id = NULL, lease_until = NULL
WHERE merchant_id = $1 AND claim_id = $2 AND state = 'ATTACHMENT_MISSING'
"""


async def load_tried_channels(
    tx: Connection, merchant_id: int, communication_ids: Collection[UUID]
) -> dict[UUID, TriedChannels]:
    """Load the channels that the step of each contact has tried in its run, including the contact's
    own."""
    rows = await tx.fetch(_LOAD_TRIED, merchant_id, list(communication_ids))
    return {
        row["communication_id"]: TriedChannels(frozenset(row["channels"]), row["next_place"])
        for row in rows
    }


async def cancel_contacts(
    tx: Connection, merchant_id: int, claim_ids: Collection[int], now: datetime, *, reason: str
) -> None:
    """Cancel the planned contacts of claims, in the transaction that collects, ends or reassigns
    the claims, which must be locked.

    `reason` is stored with the contact and shown with it.
    """
    await tx.execute(_CANCEL, merchant_id, list(claim_ids), now, reason)


async def retry_waiting_contacts(
    tx: Connection, merchant_id: int, claim_id: int, now: datetime
) -> None:
    """Retry contacts that wait for an attachment, in the transaction that adds one. The claim must
    be locked.

    `now` is the merchant's time.
    """
    await tx.execute(_RETRY_WAITING, merchant_id, claim_id, now)


_SAVE_DECISIONS = load_statement(__file__, "engine_outcomes.sql", written_by=WRITTEN_BY)
LOAD_FACTS = load_statement(__file__, "engine_facts.sql")

# Starts after the given merchant and wraps around. Uses claims_due_anywhere, then claims_due.
_LIST_MERCHANTS = compose(
    """
SELECT merchant_id
FROM {due} due
ORDER BY merchant_id <= $2, merchant_id
LIMIT $3
""",
    due=render_due_merchants(DueTable("claims", "d.due_at <= {now} AND NOT d.held")),
)

# Skips claims that another engine has locked. Uses claims_due.
_LOCK_SET = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND due_at <= $2 AND NOT held AND ($4::bigint IS NULL OR claim_id = $4)
ORDER BY due_at
LIMIT $3
FOR NO KEY UPDATE SKIP LOCKED
"""
_LIST_DUE = """
SELECT c.claim_id
FROM claims c
JOIN merchants m USING (merchant_id)
WHERE c.merchant_id = $1 AND c.due_at <= coalesce(m.sandbox_now, $2) AND NOT c.held
ORDER BY c.due_at
LIMIT $3
"""


# The unique index items_one_fee_per_step ensures that a step adds its fee only once.
_ADD_FEES = """
INSERT INTO items
    (merchant_id, claim_id, position, reference, type, value_cents, item_date, run, step_id)
SELECT $1, claim_id, position, reference, type, value_cents, item_date, run, step_id
FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::date[],
            $8::integer[], $9::integer[])
    AS f (claim_id, position, reference, type, value_cents, item_date, run, step_id)
RETURNING claim_id, step_id, item_id
"""
# Uses the primary key. Adds an hour to the merchant's time.
_POSTPONE = """
UPDATE claims c
SET due_at = coalesce(m.sandbox_now, $3) + interval '1 hour'
FROM merchants m
WHERE m.merchant_id = $1 AND c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
  AND c.due_at IS NOT NULL
"""

# Item ids by claim id and step id.
FeeIds = dict[tuple[int, int], int]


async def list_merchants_with_due_claims(
    tx: Connection, now: datetime, after_merchant_id: int, limit: int
) -> list[int]:
    """List merchants with due claims, starting after `after_merchant_id`. `now` is real time; the
    claims of a sandbox are due by its own clock."""
    rows = await tx.fetch(_LIST_MERCHANTS, now, after_merchant_id, limit)
    return [row["merchant_id"] for row in rows]


async def list_due_claim_ids(
    tx: Connection, merchant_id: int, now: datetime, limit: int
) -> list[int]:
    """List the ids of due claims, the longest due first. Locks nothing. `now` is real time; the
    claims of a sandbox are due by its own clock."""
    return [row["claim_id"] for row in await tx.fetch(_LIST_DUE, merchant_id, now, limit)]


async def load_due_claims(
    tx: Connection,
    keys: KeyRing,
    merchant: Merchant,
    now: datetime,
    limit: int,
    claim_id: int | None = None,
) -> list[DueClaim]:
    """Lock and load one set of a merchant's due claims, or a single claim if it is due. Claims
    locked by others are skipped. `now` is the merchant's time."""
    merchant_id = merchant.merchant_id
    locked = await tx.fetch(_LOCK_SET, merchant_id, now, limit, claim_id)
    if not locked:
        return []
    return await load_claims(tx, keys, merchant, [row["claim_id"] for row in locked])


async def load_claims(
    tx: Connection, keys: KeyRing, merchant: Merchant, claim_ids: Sequence[int]
) -> list[DueClaim]:
    """Load claims by id, ordered by id, whether due or not. Locks nothing."""
    rows = await tx.fetch(LOAD_FACTS, merchant.merchant_id, claim_ids)
    usable = await _load_usable(tx, keys, merchant, rows)
    return [build_due_claim(row, usable[row["claim_id"]]) for row in rows]


async def _load_usable(
    tx: Connection, keys: KeyRing, merchant: Merchant, rows: Sequence[Row]
) -> dict[int, frozenset[Channel]]:
    """Load the usable channels. The suppression list is read only if the merchant has entries."""
    if any(row["has_suppressions"] for row in rows):
        debtors = {
            row["claim_id"]: DebtorAddresses(row["email"], row["mobile_number"], row["address"])
            for row in rows
        }
        return await load_usable_channels(tx, keys, merchant, debtors)
    return {
        row["claim_id"]: list_usable_channels(
            merchant.configuration.channels,
            email=row["email"],
            mobile_number=row["mobile_number"],
            address=row["address"],
        )
        for row in rows
    }


async def postpone_claims(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], real_now: datetime
) -> None:
    """Postpone failed claims by an hour, so that they block nothing and are retried. The fault of
    each has been logged."""
    await tx.execute(_POSTPONE, merchant_id, claim_ids, real_now)


async def add_fees(tx: Connection, merchant_id: int, rows: Sequence[tuple[object, ...]]) -> FeeIds:
    """Insert fees and return their item ids. The rows have the columns of _ADD_FEES."""
    stored = await tx.fetch(_ADD_FEES, merchant_id, *transpose(rows, 8))
    return {(row["claim_id"], row["step_id"]): row["item_id"] for row in stored}


async def save_decisions(
    tx: Connection, merchant_id: int, now: datetime, *, positions: Sequence[tuple[object, ...]],
    history: Sequence[tuple[object, ...]], contacts: Sequence[tuple[object, ...]],
) -> None:  # fmt: skip
    """Write the decisions; the rows have the columns of engine_outcomes.sql."""
    await tx.execute(
        _SAVE_DECISIONS, merchant_id, now,
        *transpose(positions, 5), *transpose(history, 6), *transpose(contacts, 6),
    )  # fmt: skip


def transpose(rows: Iterable[tuple[object, ...]], width: int) -> list[list[object]]:
    """Return one list for each of the `width` columns, as PostgreSQL's unnest takes them."""
    columns: list[list[object]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value)
    return columns


def build_due_claim(row: Row, usable_channels: frozenset[Channel]) -> DueClaim:
    """Build a claim from a row of `LOAD_FACTS`."""
    return DueClaim(
        claim_id=row["claim_id"],
        reference_number=row["reference_number"],
        currency=row["currency"],
        status=Status(row["status"]),
        workflow_key=(row["workflow_id"], row["workflow_major"]),
        run=row["run"],
        position=WorkflowPosition(row["next_step_id"], row["due_at"]),
        event_sequence=row["event_sequence"],
        next_item_position=row["next_position"],
        outstanding_cents=row["outstanding_cents"],
        total_cents=row["total_cents"],
        first_primary_on=row["first_primary_on"],
        item_types=frozenset(row["item_types"]),
        custom_fields=row["custom_fields"] or {},
        has_reached=row["has_reached"],
        tried=TriedChannels(frozenset(row["tried_channels"] or ()), row["next_place"]),
        letter_sent_at=row["letter_sent_at"],
        customer_number=row["customer_number"],
        date_of_birth=row["date_of_birth"],
        language=row["language"],
        email=row["email"],
        mobile_number=row["mobile_number"],
        address=row["address"] or {},
        usable_channels=usable_channels,
    )
