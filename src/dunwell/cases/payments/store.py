"""The SQL of payments, their allocations, and items that change after the claim was created."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.cases.payments.movements import PaymentMovement, ReviewReason
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.requests.store import StoredPaymentRequest
from dunwell.core.claims.balance import OwedItem
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose


@dataclass(frozen=True, slots=True)
class StoredPayment:
    payment_id: UUID
    claim_id: int
    amount_cents: int
    currency: str
    transaction_id: str
    provider_name: str | None
    paid_at: datetime
    recorded_at: datetime
    # When the last part of the payment was returned. None while something is left of it.
    reversed_at: datetime | None
    # How many cents were refunded, charged back or reversed.
    returned_cents: int = 0
    # The payment request that the payment completed. None for a payment made elsewhere.
    request_id: UUID | None = None
    # The means of payment, masked; None if unknown.
    method: str | None = None
    # Why the payment was reversed, in the words of staff. None if no reason was given.
    reversal_reason: str | None = None


_COLUMNS = ", ".join(each.name for each in fields(StoredPayment))
# Uses the unique key (merchant_id, claim_id, transaction_id).
_FIND_BY_TRANSACTION = compose(
    """
SELECT {columns}
FROM payments
WHERE merchant_id = $1 AND claim_id = $2 AND transaction_id = $3
""",
    columns=_COLUMNS,
)
_FIND = compose(
    """
SELECT {columns}
FROM payments
WHERE merchant_id = $1 AND claim_id = $2 AND payment_id = $3
""",
    columns=_COLUMNS,
)
# Inserts the payment and its allocations, and updates the claim's status and due time with them.
_INSERT_PAYMENT = """
WITH paid AS (
    INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency,
                          transaction_id, provider_name, paid_at, recorded_at, request_id,
                          method)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $14, $15)
), shared AS (
    INSERT INTO allocations (merchant_id, claim_id, payment_id, item_id, amount_cents)
    SELECT $1, $3, $2, item_id, amount_cents
    FROM unnest($10::bigint[], $11::bigint[]) AS a (item_id, amount_cents)
)
UPDATE claims
SET status = $12, status_before_collected = $13,
    due_at = CASE WHEN $12 IN ('CREATED', 'IN_PROCESS') THEN due_at END,
    resume_at = CASE WHEN $12 = 'COLLECTED' THEN coalesce(due_at, resume_at) END,
    updated_at = $9
WHERE merchant_id = $1 AND claim_id = $3
"""
_LINK = """
UPDATE payments
SET request_id = $3
WHERE merchant_id = $1 AND payment_id = $2
"""
# Of the payment's allocations, only those in `kept` stay, with their new amounts.
_SAVE_RETURNED = """
WITH returned AS (
    UPDATE payments
    SET returned_cents = $4, reversed_at = CASE WHEN $4 = amount_cents THEN $5::timestamptz END
    WHERE merchant_id = $1 AND payment_id = $3
), kept AS (
    SELECT item_id, amount_cents
    FROM unnest($6::bigint[], $7::bigint[]) AS k (item_id, amount_cents)
), changed AS (
    UPDATE allocations a SET amount_cents = kept.amount_cents
    FROM kept
    WHERE a.merchant_id = $1 AND a.claim_id = $2 AND a.payment_id = $3
      AND a.item_id = kept.item_id
)
DELETE FROM allocations a
WHERE a.merchant_id = $1 AND a.claim_id = $2 AND a.payment_id = $3
  AND NOT EXISTS (SELECT FROM kept WHERE kept.item_id = a.item_id)
"""
# Uses the primary key.
_LOAD_ALLOCATIONS = """
SELECT item_id, amount_cents
FROM allocations
WHERE merchant_id = $1 AND claim_id = $2 AND payment_id = $3
"""
_LOAD_SURPLUS = """
SELECT p.payment_id,
       p.amount_cents - p.returned_cents - coalesce(sum(a.amount_cents), 0)::bigint AS left_cents
FROM payments p
LEFT JOIN allocations a
    ON a.merchant_id = $1 AND a.claim_id = $2 AND a.payment_id = p.payment_id
WHERE p.merchant_id = $1 AND p.claim_id = $2 AND p.reversed_at IS NULL
GROUP BY p.merchant_id, p.payment_id
HAVING p.amount_cents - p.returned_cents > coalesce(sum(a.amount_cents), 0)
ORDER BY p.paid_at, p.payment_id
"""
_MOVEMENT_COLUMNS = ", ".join(each.name for each in fields(PaymentMovement))
# Uses the index payment_movements_request.
_LIST_REQUEST_MOVEMENTS = compose(
    """
SELECT {columns}
FROM payment_movements
WHERE merchant_id = $1 AND request_id = $2
ORDER BY recorded_at, movement_id
""",
    columns=_MOVEMENT_COLUMNS,
)
# Uses the index payment_movements_claim. $4 is the payment's request; a movement of it that could
# not be booked has no payment.
_LIST_PAYMENT_MOVEMENTS = compose(
    """
SELECT {columns}
FROM payment_movements
WHERE merchant_id = $1 AND claim_id = $2
  AND (payment_id = $3 OR (payment_id IS NULL AND request_id = $4))
ORDER BY recorded_at, moved_at, movement_id
""",
    columns=_MOVEMENT_COLUMNS,
)
_INSERT_MOVEMENT = compose(
    """
WITH explained AS (
    UPDATE payments SET reversal_reason = $16
    WHERE merchant_id = $1 AND payment_id = $8 AND $16::text IS NOT NULL
)
INSERT INTO payment_movements (merchant_id, {columns})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
""",
    columns=_MOVEMENT_COLUMNS,
)
# Uses payment_movements_merchant_id_record_id_key.
_SAVE_REVIEWED = """
UPDATE payment_movements
SET reviewed_at = $3
WHERE merchant_id = $1 AND record_id = $2 AND review_reason IS NOT NULL AND reviewed_at IS NULL
RETURNING record_id
"""
_SAVE_ALLOCATIONS = """
INSERT INTO allocations (merchant_id, claim_id, payment_id, item_id, amount_cents)
SELECT $1, $2, payment_id, item_id, amount_cents
FROM unnest($3::uuid[], $4::bigint[], $5::bigint[]) AS a (payment_id, item_id, amount_cents)
ON CONFLICT (merchant_id, claim_id, payment_id, item_id) DO UPDATE
SET amount_cents = allocations.amount_cents + excluded.amount_cents
"""
# A claim that owes again continues at its next step: at once, or later if the step was not due yet.
# If a contact of the claim's run is still open, the claim waits for the contact's outcome instead.
# Uses the unique key of communications.
_REOPEN = """
UPDATE claims c
SET status = c.status_before_collected, status_before_collected = NULL, updated_at = $3,
    due_at = CASE WHEN c.workflow_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM communications m
        WHERE m.merchant_id = $1 AND m.claim_id = $2 AND m.run = c.run
          AND m.state IN ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'UNKNOWN'))
        THEN greatest(c.resume_at, $3::timestamptz) END,
    resume_at = NULL
WHERE c.merchant_id = $1 AND c.claim_id = $2
RETURNING c.status
"""
_TOUCH = """
UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
"""
# Uses the unique key (merchant_id, claim_id, transaction_id).
_LIST_STATEMENT_PAYMENTS = """
SELECT payment_id, amount_cents, paid_at,
       coalesce(provider_name || ' ', '') || transaction_id AS description
FROM payments
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY paid_at, payment_id
"""
# Uses the index payment_movements_claim.
_LIST_STATEMENT_RETURNS = """
SELECT m.payment_id, m.kind, m.booked_cents, m.recorded_at,
       coalesce(p.provider_name || ' ', '') || p.transaction_id AS description
FROM payment_movements m
JOIN payments p ON p.merchant_id = $1 AND p.payment_id = m.payment_id
WHERE m.merchant_id = $1 AND m.claim_id = $2 AND m.kind <> 'PAID' AND m.booked_cents > 0
ORDER BY m.recorded_at, m.movement_id
"""


async def find_payment_by_transaction(
    tx: Connection, merchant_id: int, claim_id: int, transaction_id: str
) -> StoredPayment | None:
    row = await tx.fetchrow(_FIND_BY_TRANSACTION, merchant_id, claim_id, transaction_id)
    return None if row is None else _build_payment(row)


async def insert_payment(
    tx: Connection,
    merchant_id: int,
    payment: StoredPayment,
    shares: Mapping[int, int],
    statuses: tuple[Status, Status | None],
) -> None:
    """Insert a payment with its allocations (item id -> cents). `statuses` are the claim's status
    and, if that is COLLECTED, the one before it."""
    await tx.execute(
        _INSERT_PAYMENT, merchant_id, payment.payment_id, payment.claim_id, payment.amount_cents,
        payment.currency, payment.transaction_id, payment.provider_name, payment.paid_at,
        payment.recorded_at, list(shares), list(shares.values()), *statuses, payment.request_id,
        payment.method,
    )  # fmt: skip


async def find_payment(
    tx: Connection, merchant_id: int, claim_id: int, payment_id: UUID
) -> StoredPayment | None:
    row = await tx.fetchrow(_FIND, merchant_id, claim_id, payment_id)
    return None if row is None else _build_payment(row)


async def link_payment(
    tx: Connection, merchant_id: int, payment_id: UUID, request_id: UUID
) -> None:
    """Save which payment request is completed by a payment that the merchant had recorded."""
    await tx.execute(_LINK, merchant_id, payment_id, request_id)


async def save_returned(  # noqa: PLR0913 - what a return changes
    tx: Connection, merchant_id: int, claim_id: int, *, payment_id: UUID, returned_cents: int,
    shares: Mapping[int, int], now: datetime,
) -> None:  # fmt: skip
    """Save how much of the payment is returned, and the allocations (item id -> cents) that are
    left. The claim must be locked."""
    await tx.execute(
        _SAVE_RETURNED, merchant_id, claim_id, payment_id, returned_cents, now, list(shares),
        list(shares.values()),
    )  # fmt: skip


async def load_allocations(
    tx: Connection, merchant_id: int, claim_id: int, payment_id: UUID
) -> dict[int, int]:
    """Return the allocations of a payment: item id -> cents."""
    rows = await tx.fetch(_LOAD_ALLOCATIONS, merchant_id, claim_id, payment_id)
    return {row["item_id"]: row["amount_cents"] for row in rows}


async def list_request_movements(
    tx: Connection, merchant_id: int, request_id: UUID
) -> list[PaymentMovement]:
    """Return the stored movements of a payment request, the first booked first."""
    rows = await tx.fetch(_LIST_REQUEST_MOVEMENTS, merchant_id, request_id)
    return [build_movement(row) for row in rows]


async def list_payment_movements(
    tx: Connection, merchant_id: int, payment: StoredPayment
) -> list[PaymentMovement]:
    """Return the movements that made or changed a payment, and those of its request that could not
    be booked, the first booked first."""
    rows = await tx.fetch(
        _LIST_PAYMENT_MOVEMENTS, merchant_id, payment.claim_id, payment.payment_id,
        payment.request_id,
    )  # fmt: skip
    return [build_movement(row) for row in rows]


async def insert_movement(
    tx: Connection, merchant_id: int, movement: PaymentMovement, reversal_reason: str | None = None
) -> None:
    """Insert a movement. For a reversal, also save its reason on the payment, if one was given."""
    values = [getattr(movement, each.name) for each in fields(PaymentMovement)]
    await tx.execute(_INSERT_MOVEMENT, merchant_id, *values, reversal_reason)


async def save_movement_reviewed(
    tx: Connection, merchant_id: int, record_id: UUID, now: datetime
) -> bool:
    """Save that staff has looked at a movement. Return False if it needs no review any more."""
    return await tx.fetchval(_SAVE_REVIEWED, merchant_id, record_id, now) is not None


def build_movement(row: Mapping[str, Any]) -> PaymentMovement:
    """Build a movement from its columns."""
    reason = row["review_reason"]
    return PaymentMovement(
        **{**row, "review_reason": None if reason is None else ReviewReason(reason)}
    )


async def load_surplus(tx: Connection, merchant_id: int, claim_id: int) -> dict[UUID, int]:
    """Return the unallocated cents of each payment that has some left, earliest paid first."""
    rows = await tx.fetch(_LOAD_SURPLUS, merchant_id, claim_id)
    return {row["payment_id"]: row["left_cents"] for row in rows}


async def save_allocations(
    tx: Connection, merchant_id: int, claim_id: int, allocations: Mapping[UUID, Mapping[int, int]]
) -> None:
    """Add allocations (payment id -> item id -> cents) to those that the payments already have."""
    rows = [
        (payment_id, item_id, cents)
        for payment_id, shares in allocations.items()
        for item_id, cents in shares.items()
    ]
    if rows:
        columns = [list(column) for column in zip(*rows, strict=True)]
        await tx.execute(_SAVE_ALLOCATIONS, merchant_id, claim_id, *columns)


async def reopen_claim(tx: Connection, merchant_id: int, claim_id: int, now: datetime) -> Status:
    """Set a collected claim, which the caller has locked, back to its previous status and schedule
    its next step."""
    return Status(await tx.fetchval(_REOPEN, merchant_id, claim_id, now))


async def touch_claim(tx: Connection, merchant_id: int, claim_id: int, now: datetime) -> None:
    """Update the claim's change time, so that messages rendered before are rendered again."""
    await tx.execute(_TOUCH, merchant_id, claim_id, now)


@dataclass(frozen=True, slots=True)
class StatementPayment:
    payment_id: UUID
    amount_cents: int
    paid_at: datetime
    # The kind of provider, if there is one, and the transaction id.
    description: str


@dataclass(frozen=True, slots=True)
class StatementReturn:
    """Money of a payment that was returned, or that came back. `kind` is the movement's, and
    `description` is the payment's."""

    payment_id: UUID
    kind: str
    booked_cents: int
    recorded_at: datetime
    description: str


async def list_statement_returns(
    tx: Connection, merchant_id: int, claim_id: int
) -> list[StatementReturn]:
    return [
        StatementReturn(**row)
        for row in await tx.fetch(_LIST_STATEMENT_RETURNS, merchant_id, claim_id)
    ]


async def list_statement_payments(
    tx: Connection, merchant_id: int, claim_id: int
) -> list[StatementPayment]:
    return [
        StatementPayment(**row)
        for row in await tx.fetch(_LIST_STATEMENT_PAYMENTS, merchant_id, claim_id)
    ]


def _build_payment(row: Row) -> StoredPayment:
    return StoredPayment(**dict(row.items()))


_INSERT_ITEM = """
WITH touched AS (
    UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
)
INSERT INTO items (merchant_id, claim_id, position, reference, type, value_cents, item_date,
                   due_date, fee_of)
VALUES ($1, $2, $4, $5, $6, $7, $8, $9, $10)
RETURNING item_id
"""
# Uses the primary key.
_DELETE_ITEMS = """
WITH touched AS (
    UPDATE claims SET updated_at = $3 WHERE merchant_id = $1 AND claim_id = $2
)
DELETE FROM items WHERE merchant_id = $1 AND claim_id = $2 AND item_id = ANY($4::bigint[])
"""
# Like a payment that collects the claim: the next step's due time is kept for a reversal.
_SAVE_COLLECTED = """
UPDATE claims
SET status = 'COLLECTED', status_before_collected = $3, resume_at = coalesce(due_at, resume_at),
    due_at = NULL, updated_at = $4
WHERE merchant_id = $1 AND claim_id = $2
"""


async def insert_item(
    tx: Connection, merchant_id: int, claim_id: int, item: OwedItem, now: datetime
) -> int:
    """Insert an item and return its id. The id in `item` is ignored."""
    item_id: int = await tx.fetchval(
        _INSERT_ITEM, merchant_id, claim_id, now, item.position, item.reference, item.type,
        item.value_cents, item.item_on, item.due_on, item.fee_of,
    )  # fmt: skip
    return item_id


async def delete_items(
    tx: Connection, merchant_id: int, claim_id: int, item_ids: Collection[int], now: datetime
) -> None:
    await tx.execute(_DELETE_ITEMS, merchant_id, claim_id, now, list(item_ids))


async def save_collected(
    tx: Connection, merchant_id: int, claim_id: int, status_before: Status, now: datetime
) -> None:
    """Mark the claim as collected. `status_before` is the status that a reversal restores."""
    await tx.execute(_SAVE_COLLECTED, merchant_id, claim_id, status_before, now)


# This statement and the next use primary keys.
_LOAD_PAYMENTS = compose(
    """
SELECT {columns}, c.reference_number, c.status,
       p.amount_cents - p.returned_cents
           - (SELECT coalesce(sum(a.amount_cents), 0)::bigint
              FROM allocations a
              WHERE a.merchant_id = $1 AND a.claim_id = p.claim_id
                AND a.payment_id = p.payment_id) AS left_cents
FROM payments p
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = p.claim_id
WHERE p.merchant_id = $1 AND p.payment_id = ANY($2::uuid[])
""",
    columns=", ".join(f"p.{each.name}" for each in fields(StoredPayment)),
)
_LOAD_REQUESTS = compose(
    """
SELECT {columns}, c.reference_number
FROM payment_requests r
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = r.claim_id
WHERE r.merchant_id = $1 AND r.request_id = ANY($2::uuid[])
""",
    columns=", ".join(f"r.{each.name}" for each in fields(StoredPaymentRequest)),
)


@dataclass(frozen=True, slots=True)
class ListedPayment:
    payment: StoredPayment
    # The claim's reference number.
    reference_number: str
    status: Status
    # The cents that are not allocated to any item.
    unallocated_cents: int = 0

    @property
    def is_unmatched(self) -> bool:
        """True if the payment is not reversed, and is larger than what was owed or belongs to a
        withdrawn claim."""
        is_beyond = self.unallocated_cents > 0 or self.status is Status.WITHDRAWN
        return self.payment.reversed_at is None and is_beyond


@dataclass(frozen=True, slots=True)
class ListedPaymentRequest:
    request: StoredPaymentRequest
    # The claim's reference number.
    reference_number: str


async def load_listed_payments(
    tx: Connection, merchant_id: int, payment_ids: Sequence[UUID]
) -> dict[UUID, ListedPayment]:
    """Return the payments by id, each with its claim."""
    payments = {}
    for row in await tx.fetch(_LOAD_PAYMENTS, merchant_id, list(payment_ids)):
        values = dict(row)
        reference, status = values.pop("reference_number"), Status(values.pop("status"))
        unallocated_cents, payment = values.pop("left_cents"), StoredPayment(**values)
        payments[payment.payment_id] = ListedPayment(payment, reference, status, unallocated_cents)
    return payments


async def load_listed_requests(
    tx: Connection, merchant_id: int, request_ids: Sequence[UUID]
) -> dict[UUID, ListedPaymentRequest]:
    """Return the payment requests by id, each with its claim."""
    requests = {}
    for row in await tx.fetch(_LOAD_REQUESTS, merchant_id, list(request_ids)):
        values = {**row, "state": PaymentRequestState(row["state"])}
        reference = values.pop("reference_number")
        request = StoredPaymentRequest(**values)
        requests[request.request_id] = ListedPaymentRequest(request, reference)
    return requests
