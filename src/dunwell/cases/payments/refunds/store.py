"""The SQL of ordered refunds, and of what the merchant gave up of a claim's items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any
from uuid import UUID

from dunwell.cases.payments.provider import MoneyMovement
from dunwell.cases.payments.requests.store import PendingAccount
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose


class RefundEffect(StrEnum):
    """What becomes of the refunded amount."""

    # It was paid beyond what is owed.
    SURPLUS = "SURPLUS"
    # The merchant gives it up; nothing is owed again.
    REDUCE_CLAIM = "REDUCE_CLAIM"
    # It is owed again.
    REOPEN = "REOPEN"


class RefundState(StrEnum):
    # The provider may not know of it yet.
    CREATED = "CREATED"
    # The provider has given it an id.
    ACCEPTED = "ACCEPTED"
    # The provider lists the movement, and it is booked.
    BOOKED = "BOOKED"
    REFUSED = "REFUSED"
    # It was booked, and the money came back to the merchant.
    FAILED = "FAILED"
    # The provider lists it in another currency than the claim's. Staff has to look at it.
    NOT_BOOKED = "NOT_BOOKED"


@dataclass(frozen=True, slots=True)
class StoredRefund:
    # The idempotency key at the provider.
    refund_id: UUID
    claim_id: int
    payment_id: UUID
    request_id: UUID
    amount_cents: int
    currency: str
    effect: RefundEffect
    # In the words of the person who ordered it.
    reason: str | None
    state: RefundState
    # The name of the provider's account.
    provider: str
    # The id of the movement that it becomes; None until the provider has answered.
    provider_refund_id: str | None
    actor_kind: str
    actor_id: str | None
    # Real time.
    created_at: datetime
    # How often it was sent without an answer.
    attempts: int = 0


_COLUMNS = ", ".join(each.name for each in fields(StoredRefund))
_INSERT = compose(
    """
INSERT INTO payment_refunds (merchant_id, {columns}, next_attempt_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        $17)
""",
    columns=_COLUMNS,
)
# Uses the index payment_refunds_claim.
_LIST = compose(
    """
SELECT {columns}
FROM payment_refunds
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY created_at, refund_id
""",
    columns=_COLUMNS,
)
# Uses the index payment_refunds_claim.
_LIST_OF_CLAIMS = compose(
    """
SELECT {columns}
FROM payment_refunds
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[])
ORDER BY created_at, refund_id
""",
    columns=_COLUMNS,
)
# Uses the primary key.
_LOAD = compose(
    """
SELECT {columns}
FROM payment_refunds
WHERE merchant_id = $1 AND refund_id = ANY($2::uuid[])
""",
    columns=_COLUMNS,
)
# The refund of a movement. Until the provider's answer is stored, a refund is found by its key, or
# by its amount if the movement has no key.
_FIND_OF_MOVEMENT = compose(
    """
SELECT {columns}
FROM payment_refunds
WHERE merchant_id = $1 AND claim_id = $2 AND provider = $3 AND request_id = $4
  AND state IN ('CREATED', 'ACCEPTED')
  AND (provider_refund_id = $5
       OR (provider_refund_id IS NULL
           AND (refund_id = $7 OR ($7::uuid IS NULL AND amount_cents = $6))))
ORDER BY provider_refund_id NULLS LAST, created_at
LIMIT 1
""",
    columns=_COLUMNS,
)
_SAVE_STATE = """
UPDATE payment_refunds
SET state = $3, provider_refund_id = coalesce($4, provider_refund_id), next_attempt_at = NULL
WHERE merchant_id = $1 AND refund_id = $2
  AND (state IN ('CREATED', 'ACCEPTED')
       OR (state IN ('BOOKED', 'NOT_BOOKED') AND $3 = 'FAILED'))
"""
# Steps from one account to the next in the index payment_refunds_due.
_LIST_ACCOUNTS = """
WITH RECURSIVE pending AS (
    (SELECT provider, next_attempt_at
     FROM payment_refunds
     WHERE next_attempt_at IS NOT NULL
     ORDER BY provider, next_attempt_at
     LIMIT 1)
    UNION ALL
    SELECT following.provider, following.next_attempt_at
    FROM pending
    CROSS JOIN LATERAL (
        SELECT provider, next_attempt_at
        FROM payment_refunds
        WHERE provider > pending.provider AND next_attempt_at IS NOT NULL
        ORDER BY provider, next_attempt_at
        LIMIT 1) following
)
SELECT provider, next_attempt_at AS due_at FROM pending
"""
# Uses the same index. Rows that another worker has locked are skipped.
_LEASE_DUE = compose(
    """
UPDATE payment_refunds r
SET next_attempt_at = $2::timestamptz + $3, attempts = r.attempts + 1
FROM (
    SELECT merchant_id, refund_id
    FROM payment_refunds
    WHERE provider = $1 AND next_attempt_at <= $2
    ORDER BY next_attempt_at
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED) due
WHERE r.merchant_id = due.merchant_id AND r.refund_id = due.refund_id
RETURNING r.merchant_id, {columns}
""",
    columns=", ".join(f"r.{each.name}" for each in fields(StoredRefund)),
)
_SAVE_NEXT_ATTEMPT = """
UPDATE payment_refunds
SET next_attempt_at = $3
WHERE merchant_id = $1 AND refund_id = $2 AND next_attempt_at IS NOT NULL
"""
_REDUCE_ITEMS = """
WITH given AS (
    SELECT item_id, cents
    FROM unnest($4::bigint[], $5::bigint[]) AS g (item_id, cents)
), reduced AS (
    UPDATE items i SET value_cents = i.value_cents - given.cents
    FROM given
    WHERE i.merchant_id = $1 AND i.claim_id = $2 AND i.item_id = given.item_id
)
INSERT INTO item_reductions (merchant_id, claim_id, item_id, refund_id, amount_cents, recorded_at)
SELECT $1, $2, item_id, $3, cents, $6
FROM given
"""
# Uses the index item_reductions_refund. The items get back what was given up.
_UNDO_REDUCTIONS = """
WITH removed AS (
    DELETE FROM item_reductions
    WHERE merchant_id = $1 AND refund_id = $2
    RETURNING claim_id, item_id, amount_cents
)
UPDATE items i SET value_cents = i.value_cents + removed.amount_cents
FROM removed
WHERE i.merchant_id = $1 AND i.claim_id = removed.claim_id AND i.item_id = removed.item_id
"""
# Uses the primary key of item_reductions.
_LIST_REDUCTIONS = """
SELECT item_id, amount_cents, recorded_at
FROM item_reductions
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY recorded_at, item_id
"""
# Uses the index payment_refunds_provider.
_FIND_BY_PROVIDER_ID = compose(
    """
SELECT {columns}
FROM payment_refunds
WHERE merchant_id = $1 AND provider = $2 AND provider_refund_id = $3
""",
    columns=_COLUMNS,
)


@dataclass(frozen=True, slots=True)
class ItemReduction:
    item_id: int
    amount_cents: int
    recorded_at: datetime


async def insert_refund(
    tx: Connection, merchant_id: int, refund: StoredRefund, next_attempt_at: datetime
) -> None:
    values = [getattr(refund, each.name) for each in fields(StoredRefund)]
    await tx.execute(_INSERT, merchant_id, *values, next_attempt_at)


async def list_claim_refunds(tx: Connection, merchant_id: int, claim_id: int) -> list[StoredRefund]:
    """Return the refunds of a claim's payments, the first ordered first."""
    return [_build_refund(row) for row in await tx.fetch(_LIST, merchant_id, claim_id)]


async def list_refunds_of_claims(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> list[StoredRefund]:
    """Return the refunds of these claims' payments, the first ordered first."""
    rows = await tx.fetch(_LIST_OF_CLAIMS, merchant_id, list(claim_ids))
    return [_build_refund(row) for row in rows]


async def load_refunds(
    tx: Connection, merchant_id: int, refund_ids: Sequence[UUID]
) -> dict[UUID, StoredRefund]:
    """Return the refunds by id."""
    rows = await tx.fetch(_LOAD, merchant_id, list(refund_ids))
    return {row["refund_id"]: _build_refund(row) for row in rows}


async def find_refund_of_movement(
    tx: Connection, merchant_id: int, *, claim_id: int, provider: str, request_id: UUID,
    movement: MoneyMovement,
) -> StoredRefund | None:  # fmt: skip
    """Return the refund that a new REFUNDED movement belongs to, or None if the merchant ordered it
    at the provider."""
    row = await tx.fetchrow(
        _FIND_OF_MOVEMENT, merchant_id, claim_id, provider, request_id, movement.movement_id,
        movement.amount_cents, movement.refund_key,
    )  # fmt: skip
    return None if row is None else _build_refund(row)


async def find_refund(
    tx: Connection, merchant_id: int, provider: str, provider_refund_id: str
) -> StoredRefund | None:
    row = await tx.fetchrow(_FIND_BY_PROVIDER_ID, merchant_id, provider, provider_refund_id)
    return None if row is None else _build_refund(row)


async def save_refund_state(
    tx: Connection, merchant_id: int, refund_id: UUID, state: RefundState,
    provider_refund_id: str | None = None,
) -> None:  # fmt: skip
    """Save the state of a refund without a result, or that one with a result has failed."""
    await tx.execute(_SAVE_STATE, merchant_id, refund_id, state, provider_refund_id)


async def list_accounts_with_refunds(tx: Connection) -> list[PendingAccount]:
    """Return the accounts that have refunds to send, now or later."""
    return [PendingAccount(**row) for row in await tx.fetch(_LIST_ACCOUNTS)]


async def lease_due_refunds(
    tx: Connection, provider: str, now: datetime, duration: timedelta, limit: int
) -> Sequence[tuple[int, StoredRefund]]:
    """Lease refunds of an account whose order is due, over all merchants, and count this attempt.
    Return them with their merchant's id. After `duration` another worker sends them again."""
    found = []
    for row in await tx.fetch(_LEASE_DUE, provider, now, duration, limit):
        values = dict(row)
        found.append((values.pop("merchant_id"), _build_refund(values)))
    return found


async def save_next_attempt(
    tx: Connection, merchant_id: int, refund_id: UUID, next_attempt_at: datetime
) -> None:
    """Save when a refund is sent again, unless the provider has answered in the meantime."""
    await tx.execute(_SAVE_NEXT_ATTEMPT, merchant_id, refund_id, next_attempt_at)


async def reduce_items(
    tx: Connection, merchant_id: int, claim_id: int, *, refund_id: UUID,
    reductions: Mapping[int, int], now: datetime,
) -> None:  # fmt: skip
    """Reduce the values of items (item id -> cents). The claim must be locked."""
    await tx.execute(
        _REDUCE_ITEMS, merchant_id, claim_id, refund_id, list(reductions),
        list(reductions.values()), now,
    )  # fmt: skip


async def undo_reductions(tx: Connection, merchant_id: int, refund_id: UUID) -> None:
    """Give the items back what was given up with this refund, because it failed."""
    await tx.execute(_UNDO_REDUCTIONS, merchant_id, refund_id)


async def list_reductions(tx: Connection, merchant_id: int, claim_id: int) -> list[ItemReduction]:
    return [ItemReduction(**row) for row in await tx.fetch(_LIST_REDUCTIONS, merchant_id, claim_id)]


def _build_refund(row: Mapping[str, Any]) -> StoredRefund:
    return StoredRefund(
        **{**row, "effect": RefundEffect(row["effect"]), "state": RefundState(row["state"])}
    )
