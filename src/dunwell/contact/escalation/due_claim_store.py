"""The SQL of due claims: which they are, what deciding their next steps needs, and what was
decided."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from dunwell.accounts.merchants.configuration import Channel
from dunwell.accounts.merchants.due_merchants import Due, list_due_merchants
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.contact.escalation.due_claim import DueClaim
from dunwell.contact.escalation.reach import find_usable_channels
from dunwell.contact.escalation.schedule import Position, Tried
from dunwell.contact.escalation.usable_channels import Addresses, load_usable_channels
from dunwell.core.claims.states import Status
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import WRITTEN_BY
from dunwell.platform.database.sql import compose, load_statement

_WRITE = load_statement(__file__, "engine_outcomes.sql", written_by=WRITTEN_BY)
LOAD_FACTS = load_statement(__file__, "engine_facts.sql")

# Merchants behind the given one first, so that each gets its turn. Rides on claims_due_anywhere,
# then on claims_due.
_FIND_MERCHANTS = compose(
    """
SELECT merchant_id
FROM {due} due
ORDER BY merchant_id <= $2, merchant_id
LIMIT $3
""",
    due=list_due_merchants(Due("claims", "d.due_at <= {now} AND NOT d.held")),
)

# What another engine has locked is left to it. Rides on claims_due.
_LOCK_SET = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND due_at <= $2 AND NOT held AND ($4::bigint IS NULL OR claim_id = $4)
ORDER BY due_at
LIMIT $3
FOR NO KEY UPDATE SKIP LOCKED
"""
_FIND_DUE = """
SELECT c.claim_id
FROM claims c
JOIN merchants m USING (merchant_id)
WHERE c.merchant_id = $1 AND c.due_at <= coalesce(m.sandbox_now, $2) AND NOT c.held
ORDER BY c.due_at
LIMIT $3
"""


# The unique index items_one_fee_per_step stands behind this: a step adds its fee once.
_ADD_FEES = """
INSERT INTO items
    (merchant_id, claim_id, position, reference, type, value_cents, item_date, run, step_id)
SELECT $1, claim_id, position, reference, type, value_cents, item_date, run, step_id
FROM unnest($2::bigint[], $3::integer[], $4::text[], $5::text[], $6::bigint[], $7::date[],
            $8::integer[], $9::integer[])
    AS f (claim_id, position, reference, type, value_cents, item_date, run, step_id)
RETURNING claim_id, step_id, item_id
"""
# By primary key; an hour of the merchant's time behind where its clock stands.
_POSTPONE = """
UPDATE claims c
SET due_at = coalesce(m.sandbox_now, $3) + interval '1 hour'
FROM merchants m
WHERE m.merchant_id = $1 AND c.merchant_id = $1 AND c.claim_id = ANY($2::bigint[])
  AND c.due_at IS NOT NULL
"""

# By claim and step.
FeeIds = dict[tuple[int, int], int]


async def find_due_merchants(
    tx: Connection, now: datetime, behind_merchant_id: int, limit: int
) -> list[int]:
    """Merchants with due claims, those with greater ids than the given one first."""
    rows = await tx.fetch(_FIND_MERCHANTS, now, behind_merchant_id, limit)
    return [row["merchant_id"] for row in rows]


async def find_due_claims(tx: Connection, merchant_id: int, now: datetime, limit: int) -> list[int]:
    """Ids of due claims, the longest due first; nothing is locked."""
    return [row["claim_id"] for row in await tx.fetch(_FIND_DUE, merchant_id, now, limit)]


async def load_due_claims(
    tx: Connection,
    keys: KeyRing,
    merchant: Merchant,
    now: datetime,
    limit: int,
    claim_id: int | None = None,
) -> list[DueClaim]:
    """Lock and load one set of a merchant's due claims, or one claim if it is due, leaving out
    what others have locked."""
    merchant_id = merchant.merchant_id
    locked = await tx.fetch(_LOCK_SET, merchant_id, now, limit, claim_id)
    if not locked:
        return []
    return await load_claims(tx, keys, merchant, [row["claim_id"] for row in locked])


async def load_claims(
    tx: Connection, keys: KeyRing, merchant: Merchant, claim_ids: Sequence[int]
) -> list[DueClaim]:
    """Claims by id, in its order, due or not; nothing is locked."""
    rows = await tx.fetch(LOAD_FACTS, merchant.merchant_id, claim_ids)
    usable = await _load_usable(tx, keys, merchant, rows)
    return [read_claim(row, usable[row["claim_id"]]) for row in rows]


async def _load_usable(
    tx: Connection, keys: KeyRing, merchant: Merchant, rows: Sequence[Row]
) -> dict[int, frozenset[Channel]]:
    """Suppressions are asked for only by merchants that have any."""
    if any(row["has_suppressions"] for row in rows):
        debtors = {
            row["claim_id"]: Addresses(row["email"], row["mobile_number"], row["address"])
            for row in rows
        }
        return await load_usable_channels(tx, keys, merchant, debtors)
    return {
        row["claim_id"]: find_usable_channels(
            merchant.configuration.channels,
            email=row["email"],
            mobile_number=row["mobile_number"],
            address=row["address"],
        )
        for row in rows
    }


async def postpone(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], real_now: datetime
) -> None:
    """Put off claims that could not be worked on, so that they neither block nor vanish: they are
    tried again in an hour. Each was logged with its fault."""
    await tx.execute(_POSTPONE, merchant_id, claim_ids, real_now)


async def add_fees(tx: Connection, merchant_id: int, rows: Sequence[tuple[object, ...]]) -> FeeIds:
    """rows: as _ADD_FEES takes them."""
    stored = await tx.fetch(_ADD_FEES, merchant_id, *columns(rows, 8))
    return {(row["claim_id"], row["step_id"]): row["item_id"] for row in stored}


async def save_decided(
    tx: Connection, merchant_id: int, now: datetime, *, places: Sequence[tuple[object, ...]],
    history: Sequence[tuple[object, ...]], contacts: Sequence[tuple[object, ...]],
) -> None:  # fmt: skip
    """As engine_outcomes.sql takes them."""
    await tx.execute(
        _WRITE, merchant_id, now,
        *columns(places, 5), *columns(history, 6), *columns(contacts, 6),
    )  # fmt: skip


def columns(rows: Iterable[tuple[object, ...]], width: int) -> list[list[object]]:
    """As PostgreSQL's unnest takes rows: one list per column, `width` empty lists for no rows."""
    turned: list[list[object]] = [[] for _ in range(width)]
    for row in rows:
        for column, value in zip(turned, row, strict=True):
            column.append(value)
    return turned


def read_claim(row: Row, usable_channels: frozenset[Channel]) -> DueClaim:
    """A row of `LOAD_FACTS`."""
    return DueClaim(
        claim_id=row["claim_id"],
        reference_number=row["reference_number"],
        currency=row["currency"],
        status=Status(row["status"]),
        process_key=(row["workflow_id"], row["workflow_major"]),
        run=row["run"],
        position=Position(row["next_step_id"], row["due_at"]),
        event_sequence=row["event_sequence"],
        next_item_position=row["next_position"],
        outstanding_cents=row["outstanding_cents"],
        total_cents=row["total_cents"],
        first_primary_on=row["first_primary_on"],
        item_types=frozenset(row["item_types"]),
        custom_fields=row["custom_fields"] or {},
        has_reached=row["has_reached"],
        tried=Tried(frozenset(row["tried_channels"] or ()), row["next_place"]),
        letter_sent_at=row["letter_sent_at"],
        customer_number=row["customer_number"],
        date_of_birth=row["date_of_birth"],
        language=row["language"],
        email=row["email"],
        mobile_number=row["mobile_number"],
        address=row["address"] or {},
        usable_channels=usable_channels,
    )
