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
    """Whether the refunded amount is owed again."""

    # The amount was paid in addition to what is owed.
    SURPLUS = "SURPLUS"
    # The merchant gives the amount up, so it is not owed again.
    REDUCE_CLAIM = "REDUCE_CLAIM"
    # The amount is owed again.
    REOPEN = "REOPEN"


class RefundState(StrEnum):
    # The provider may not know of the refund yet.
    CREATED = "CREATED"
    # The provider has given the refund an id.
    ACCEPTED = "ACCEPTED"
    # The provider lists the refund in the claim's currency. It is booked, as far as that much was
    # left of the payment.
    BOOKED = "BOOKED"
    REFUSED = "REFUSED"
    # The refund did not reach the debtor, and the money came back to the merchant.
    FAILED = "FAILED"
    # The provider lists the refund in a currency other than the claim's. Staff has to review it.
    NOT_BOOKED = "NOT_BOOKED"


class RefundRefusal(StrEnum):
    """Why a refund is REFUSED."""

    PROVIDER = "PROVIDER"
    # The money went back in another way before the order was sent, so that less is left of the
    # payment than was to be refunded.
    NOTHING_LEFT = "NOTHING_LEFT"
    # The account is closed, and nothing can be ordered through it.
    ACCOUNT_CLOSED = "ACCOUNT_CLOSED"


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
    # Why the refund was ordered, in the words of the person who ordered it.
    reason: str | None
    state: RefundState
    # The name of the provider's account.
    provider: str
    # The id of the movement that the refund becomes. None until the provider has answered.
    provider_refund_id: str | None
    actor_kind: str
    actor_id: str | None
    # Real time.
    created_at: datetime
    # How often a worker has leased the order to send it.
    attempts: int = 0
    # Why the refund is REFUSED, and what the provider said. None for other states, and for refunds
    # that were refused before the reason was stored.
    refusal: RefundRefusal | None = None
    refusal_text: str | None = None
    # When staff has reviewed the refund.
    reviewed_at: datetime | None = None


_COLUMNS = ", ".join(each.name for each in fields(StoredRefund))
_INSERT = compose(
    """
INSERT INTO payment_refunds (merchant_id, {columns}, next_attempt_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        $17, $18, $19, $20)
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
# Uses primary keys.
_LOAD = compose(
    """
SELECT {columns}, c.reference_number
FROM payment_refunds r
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = r.claim_id
WHERE r.merchant_id = $1 AND r.refund_id = ANY($2::uuid[])
""",
    columns=", ".join(f"r.{each.name}" for each in fields(StoredRefund)),
)
# The refund of a movement. Until the provider's answer is stored, a refund is found by its key, or
# by its amount if the movement has no key. A provider may have made a refund that it seemed to
# refuse.
_FIND_OF_MOVEMENT = compose(
    """
SELECT {columns}
FROM payment_refunds
WHERE merchant_id = $1 AND claim_id = $2 AND provider = $3 AND request_id = $4
  AND (state IN ('CREATED', 'ACCEPTED') OR state = 'REFUSED' AND refund_id = $7)
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
SET state = $3, provider_refund_id = coalesce($4, provider_refund_id), next_attempt_at = NULL,
    refusal = $5, refusal_text = $6,
    reviewed_at = CASE WHEN $3 <> 'REFUSED' THEN reviewed_at END
WHERE merchant_id = $1 AND refund_id = $2
  AND (state IN ('CREATED', 'ACCEPTED')
       OR (state IN ('BOOKED', 'NOT_BOOKED') AND $3 = 'FAILED')
       OR (state = 'REFUSED' AND $3 IN ('BOOKED', 'NOT_BOOKED')))
"""
# Uses the primary key.
_SAVE_REVIEWED = """
UPDATE payment_refunds
SET reviewed_at = $3
WHERE merchant_id = $1 AND refund_id = $2 AND reviewed_at IS NULL
  AND state IN ('CREATED', 'ACCEPTED', 'REFUSED')
RETURNING refund_id
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
# Uses the same index, and payment_refunds_claim. Rows that another worker has locked are skipped. A
# refund waits while an earlier one of its payment was not sent, or another was sent without an
# answer. Two workers that lease refunds of one payment at once violate payment_refunds_sent.
_LEASE_DUE = compose(
    """
WITH due AS MATERIALIZED (
    SELECT d.merchant_id, d.refund_id
    FROM payment_refunds d
    WHERE d.provider = $1 AND d.next_attempt_at <= $2
      AND NOT EXISTS (
          SELECT FROM payment_refunds o
          WHERE o.merchant_id = d.merchant_id AND o.claim_id = d.claim_id
            AND o.payment_id = d.payment_id AND o.refund_id <> d.refund_id AND o.state = 'CREATED'
            AND (o.attempts > 0
                 OR d.attempts = 0
                 AND (o.created_at, o.refund_id) < (d.created_at, d.refund_id)))
    ORDER BY d.next_attempt_at
    LIMIT $4
    FOR NO KEY UPDATE OF d SKIP LOCKED
)
UPDATE payment_refunds r
SET next_attempt_at = $2::timestamptz + $3, attempts = r.attempts + 1
FROM due
WHERE r.merchant_id = due.merchant_id AND r.refund_id = due.refund_id
RETURNING r.merchant_id, {columns}
""",
    columns=", ".join(f"r.{each.name}" for each in fields(StoredRefund)),
)
# Over all merchants. Uses the same index.
_GIVE_UP = """
UPDATE payment_refunds
SET state = 'REFUSED', refusal = 'ACCOUNT_CLOSED', next_attempt_at = NULL, reviewed_at = NULL
WHERE provider = $1 AND next_attempt_at IS NOT NULL AND state = 'CREATED'
"""
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


@dataclass(frozen=True, slots=True)
class ListedRefund:
    refund: StoredRefund
    # The claim's reference number.
    reference_number: str


async def load_refunds(
    tx: Connection, merchant_id: int, refund_ids: Sequence[UUID]
) -> dict[UUID, ListedRefund]:
    """Return the refunds by id, each with its claim."""
    refunds = {}
    for row in await tx.fetch(_LOAD, merchant_id, list(refund_ids)):
        values = dict(row)
        reference = values.pop("reference_number")
        refunds[row["refund_id"]] = ListedRefund(_build_refund(values), reference)
    return refunds


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
    """Save the state of a refund. Nothing changes if the state that is stored does not allow it: a
    listed refund can only become FAILED, a refused one only BOOKED or NOT_BOOKED (the provider made
    it nevertheless), and a failed one stays FAILED."""
    await tx.execute(_SAVE_STATE, merchant_id, refund_id, state, provider_refund_id, None, None)


async def save_refusal(
    tx: Connection, merchant_id: int, refund_id: UUID, refusal: RefundRefusal, text: str | None
) -> None:
    """Save why a refund that has no result yet is not made, and what the provider said. Staff has
    to review it."""
    await tx.execute(_SAVE_STATE, merchant_id, refund_id, RefundState.REFUSED, None, refusal, text)


async def save_refund_reviewed(
    tx: Connection, merchant_id: int, refund_id: UUID, now: datetime
) -> bool:
    """Save that staff has reviewed a refund that is not made. Return False if that was saved
    before, or if the provider lists the refund."""
    return await tx.fetchval(_SAVE_REVIEWED, merchant_id, refund_id, now) is not None


async def list_accounts_with_refunds(tx: Connection) -> list[PendingAccount]:
    """Return the accounts that have refunds to send, now or later."""
    return [PendingAccount(**row) for row in await tx.fetch(_LIST_ACCOUNTS)]


async def lease_due_refunds(
    tx: Connection, provider: str, now: datetime, duration: timedelta, limit: int
) -> Sequence[tuple[int, StoredRefund]]:
    """Lease refunds of an account that are due to be sent, over all merchants, and count this
    attempt. Return them with their merchant's id.

    If no answer is saved within `duration`, another worker sends them again. Of the refunds of one
    payment at most one is leased, and none while another was sent without an answer. Raises
    UniqueViolationError if another worker leases a refund of the same payment at this moment.
    """
    leased = []
    for row in await tx.fetch(_LEASE_DUE, provider, now, duration, limit):
        values = dict(row)
        leased.append((values.pop("merchant_id"), _build_refund(values)))
    return leased


async def give_up_refunds(tx: Connection, provider: str) -> None:
    """Mark the refunds of an account that the provider has not answered as REFUSED, over all
    merchants. Staff has to review them."""
    await tx.execute(_GIVE_UP, provider)


async def save_next_attempt(
    tx: Connection, merchant_id: int, refund_id: UUID, next_attempt_at: datetime
) -> None:
    """Save when a refund is sent again, unless the provider has answered in the meantime."""
    await tx.execute(_SAVE_NEXT_ATTEMPT, merchant_id, refund_id, next_attempt_at)


async def reduce_items(
    tx: Connection, merchant_id: int, claim_id: int, *, refund_id: UUID,
    reductions: Mapping[int, int], now: datetime,
) -> None:  # fmt: skip
    """Reduce the values of items by what the merchant gives up with a refund (item id -> cents).
    The claim must be locked."""
    await tx.execute(
        _REDUCE_ITEMS, merchant_id, claim_id, refund_id, list(reductions),
        list(reductions.values()), now,
    )  # fmt: skip


async def undo_reductions(tx: Connection, merchant_id: int, refund_id: UUID) -> None:
    """Restore the values that the items lost with this refund, because the refund failed."""
    await tx.execute(_UNDO_REDUCTIONS, merchant_id, refund_id)


async def list_reductions(tx: Connection, merchant_id: int, claim_id: int) -> list[ItemReduction]:
    return [ItemReduction(**row) for row in await tx.fetch(_LIST_REDUCTIONS, merchant_id, claim_id)]


def _build_refund(row: Mapping[str, Any]) -> StoredRefund:
    refusal = row["refusal"]
    return StoredRefund(
        **{
            **row,
            "effect": RefundEffect(row["effect"]),
            "state": RefundState(row["state"]),
            "refusal": None if refusal is None else RefundRefusal(refusal),
        }
    )
