"""The SQL of the sandbox provider's checkouts and their pending notifications."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from uuid import UUID

from dunwell.adapters.payments.sandbox.checkout import (
    SandboxCheckout,
    SandboxCheckoutState,
    SandboxMovement,
)
from dunwell.cases.payments.provider import CheckoutRequest, MovementKind
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.leases import LeasedTable
from dunwell.platform.database.sql import compose

_COLUMNS = ", ".join(each.name for each in fields(SandboxCheckout))
# The same request id always returns the same checkout, whatever the other values are.
_SAVE = """
WITH saved AS (
    INSERT INTO sandbox_checkouts
        (merchant_id, checkout_id, request_id, amount_cents, currency, reference, description,
         return_url, notification_url, state, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'OPEN', $10)
    ON CONFLICT (merchant_id, request_id) DO NOTHING
    RETURNING checkout_id
)
SELECT checkout_id FROM saved
UNION ALL
SELECT checkout_id FROM sandbox_checkouts WHERE merchant_id = $1 AND request_id = $3
LIMIT 1
"""
_FIND_BY_KEY = """
SELECT checkout_id FROM sandbox_checkouts WHERE merchant_id = $1 AND request_id = $2
"""
_LOAD = compose(
    """
SELECT {columns}
FROM sandbox_checkouts
WHERE merchant_id = $1 AND checkout_id = $2
""",
    columns=_COLUMNS,
)
_DECIDE = """
UPDATE sandbox_checkouts
SET state = $4, decided_at = CASE WHEN state = 'SUCCEEDED' THEN decided_at ELSE $5 END,
    notices_due = $6, notice_at = $7,
    transaction_id = CASE WHEN $4 = 'SUCCEEDED' THEN $8 END
WHERE merchant_id = $1 AND checkout_id = $2 AND state = $3
RETURNING checkout_id
"""
# Uses the index sandbox_movements_checkout.
_LIST_MOVEMENTS = """
SELECT movement_id, kind, amount_cents, moved_at
FROM sandbox_movements
WHERE merchant_id = $1 AND checkout_id = $2
ORDER BY moved_at, movement_id
"""
_CANCEL = """
UPDATE sandbox_checkouts
SET state = 'CANCELLED', decided_at = $3
WHERE merchant_id = $1 AND checkout_id = $2 AND state = 'OPEN'
"""
_LOCK_PAID = """
SELECT FROM sandbox_checkouts
WHERE merchant_id = $1 AND checkout_id = $2 AND state = 'SUCCEEDED'
FOR UPDATE
"""
# A refund key that is already stored inserts nothing.
_SAVE_RETURN = """
INSERT INTO sandbox_movements
    (merchant_id, movement_id, checkout_id, kind, amount_cents, refund_key, moved_at)
SELECT $1, $3, $2, $4, $5, $6, $7
FROM sandbox_checkouts c
WHERE c.merchant_id = $1 AND c.checkout_id = $2 AND c.state = 'SUCCEEDED'
  AND $5::bigint <= c.amount_cents - (
    SELECT coalesce(sum(CASE WHEN kind IN ('REFUNDED', 'CHARGED_BACK') THEN amount_cents
                             ELSE -amount_cents END), 0)
    FROM sandbox_movements
    WHERE merchant_id = $1 AND checkout_id = $2)
ON CONFLICT DO NOTHING
RETURNING movement_id
"""
# Uses the index sandbox_movements_refund.
_FIND_REFUND = """
SELECT movement_id FROM sandbox_movements WHERE merchant_id = $1 AND refund_key = $2
"""
_CHECKOUTS = LeasedTable(
    "sandbox_checkouts", ("merchant_id", "checkout_id"), ends_at="notice_at", holder=None
)
# Uses the index sandbox_checkouts_notices. It covers all merchants, because the provider serves
# all.
_LEASE_NOTIFICATIONS = _CHECKOUTS.lease(
    "notices_due > 0",
    limit="$3",
    returning="leased.merchant_id, leased.checkout_id, notification_url, notice_at, decided_at",
)
# A decision made after the lease set another notice_at, so is_held is then false and its
# notifications stay pending.
_RECORD_ARRIVAL = compose(
    """
UPDATE sandbox_checkouts
SET notices_due = notices_due - 1, notice_at = CASE WHEN notices_due > 1 THEN $4::timestamptz END
WHERE merchant_id = $1 AND checkout_id = $2 AND {is_held} AND notices_due > 0
""",
    is_held=_CHECKOUTS.is_held("$3"),
)
_RECORD_FAILURE = compose(
    """
UPDATE sandbox_checkouts
SET notices_due = 0, {clear}
WHERE merchant_id = $1 AND checkout_id = $2 AND {is_held}
""",
    clear=_CHECKOUTS.clear(),
    is_held=_CHECKOUTS.is_held("$3"),
)


@dataclass(frozen=True, slots=True)
class DueCheckoutNotification:
    merchant_id: int
    checkout_id: UUID
    notification_url: str
    # When it is sent again if it does not arrive.
    notice_at: datetime
    decided_at: datetime


async def save_checkout(
    tx: Connection, checkout_id: UUID, request: CheckoutRequest, now: datetime
) -> UUID:
    """Store a checkout and return its id. If the request already has a checkout, return that one's
    id."""
    saved_id: UUID | None = await tx.fetchval(
        _SAVE, request.merchant_id, checkout_id, request.request_id, request.amount_cents,
        request.currency, request.reference, request.description, request.return_url,
        request.notification_url, now,
    )  # fmt: skip
    if saved_id is None:  # Another call stored it while this statement ran.
        saved_id = await tx.fetchval(_FIND_BY_KEY, request.merchant_id, request.request_id)
    assert saved_id is not None
    return saved_id


async def load_checkout(
    tx: Connection, merchant_id: int, checkout_id: UUID
) -> SandboxCheckout | None:
    row = await tx.fetchrow(_LOAD, merchant_id, checkout_id)
    return None if row is None else _build_checkout(row)


async def save_decision(
    tx: Connection,
    checkout: SandboxCheckout,
    state: SandboxCheckoutState,
    notifications: tuple[int, datetime | None],
    now: datetime,
) -> bool:
    """Save a decision. `notifications` is their number and the time of the first. Return False if
    another decision was made in the meantime."""
    decided = await tx.fetchval(
        _DECIDE, checkout.merchant_id, checkout.checkout_id, checkout.state, state, now,
        *notifications, f"sbx_tx_{checkout.checkout_id.hex}",
    )  # fmt: skip
    return decided is not None


async def cancel_open_checkout(tx: Connection, checkout: SandboxCheckout, now: datetime) -> None:
    """Cancel the checkout unless the debtor has finished it."""
    await tx.execute(_CANCEL, checkout.merchant_id, checkout.checkout_id, now)


async def list_sandbox_movements(
    tx: Connection, merchant_id: int, checkout_id: UUID
) -> list[SandboxMovement]:
    """Return the refunds and chargebacks of a checkout, earliest first."""
    return [
        SandboxMovement(**{**row, "kind": MovementKind(row["kind"])})
        for row in await tx.fetch(_LIST_MOVEMENTS, merchant_id, checkout_id)
    ]


async def save_return(
    tx: Connection, checkout: SandboxCheckout, movement: SandboxMovement,
    refund_key: UUID | None = None,
) -> UUID | None:  # fmt: skip
    """Store a refund or a chargeback and return its id. Return the id of the earlier refund if it
    has the same refund key, and None if less than the amount is left of the payment.

    Call this in a transaction. The checkout is locked first, so that concurrent refunds never
    exceed the payment.
    """
    await tx.execute(_LOCK_PAID, checkout.merchant_id, checkout.checkout_id)
    saved_id: UUID | None = await tx.fetchval(
        _SAVE_RETURN, checkout.merchant_id, checkout.checkout_id, movement.movement_id,
        movement.kind, movement.amount_cents, refund_key, movement.moved_at,
    )  # fmt: skip
    if saved_id is None and refund_key is not None:
        saved_id = await tx.fetchval(_FIND_REFUND, checkout.merchant_id, refund_key)
    return saved_id


async def lease_notifications(
    tx: Connection, now: datetime, again_after: timedelta, limit: int
) -> Sequence[DueCheckoutNotification]:
    """Lease due notifications. One that does not arrive is due again after `again_after`."""
    rows = await tx.fetch(_LEASE_NOTIFICATIONS, now, now + again_after, limit)
    return [DueCheckoutNotification(**row) for row in rows]


async def record_notification_arrival(
    tx: Connection, notification: DueCheckoutNotification, now: datetime
) -> None:
    await tx.execute(
        _RECORD_ARRIVAL, notification.merchant_id, notification.checkout_id,
        notification.notice_at, now,
    )  # fmt: skip


async def fail_notification(tx: Connection, notification: DueCheckoutNotification) -> None:
    await tx.execute(
        _RECORD_FAILURE, notification.merchant_id, notification.checkout_id, notification.notice_at
    )


def _build_checkout(row: Row) -> SandboxCheckout:
    return SandboxCheckout(**{**row, "state": SandboxCheckoutState(row["state"])})
