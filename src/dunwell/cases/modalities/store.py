"""The SQL of payment modalities, their instalments, assignees and checks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

import msgspec

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.accounts.merchants.due_merchants import DueTable, render_due_merchants
from dunwell.cases.modalities.instalments import Instalment, apply_payments
from dunwell.cases.modalities.limits import ModalityFacts
from dunwell.cases.modalities.modality import (
    Modality,
    ModalityEndReason,
    ModalityState,
    ModalityType,
)
from dunwell.core.claims.states import Status
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# The outstanding amount is the sum of the items minus their allocations. Uses primary keys.
_LOAD_FACTS = """
SELECT d.max_deferral_on,
       (SELECT coalesce(sum(value_cents), 0) FROM items
        WHERE merchant_id = $1 AND claim_id = $2)::bigint
     - (SELECT coalesce(sum(amount_cents), 0) FROM allocations
        WHERE merchant_id = $1 AND claim_id = $2)::bigint AS outstanding_cents
FROM debtors d
WHERE d.merchant_id = $1 AND d.claim_id = $2
"""
# `paid_cents` is what was paid at the end (or is paid now) beyond what had been paid before the
# request. What is returned later of a payment from before the request is owed in addition; it does
# not reduce what was paid since. Payments are read by (merchant_id, claim_id, transaction_id), and
# what was returned by the index payment_movements_claim. The payment of each movement is found by a
# subquery, because a join could read all payments for each modality.
_SELECT = """
SELECT p.modality_id, p.claim_id, p.type, p.state, p.amount_cents, p.deferred_until,
       p.requested_at, p.actor_kind, p.answered_at, p.reason, p.ended_at, p.ended_reason,
       c.currency, c.status AS claim_status, c.reference_number, r.due_ons, r.amounts_cents,
       r.awaited_ons,
       y.received_cents - z.returned_cents - p.paid_before_cents + z.undone_cents AS paid_cents
FROM payment_modalities p
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = p.claim_id
CROSS JOIN LATERAL (
    SELECT array_agg(due_on ORDER BY number) AS due_ons,
           array_agg(amount_cents ORDER BY number) AS amounts_cents,
           array_agg(awaited_on ORDER BY number) AS awaited_ons
    FROM instalments
    WHERE merchant_id = $1 AND modality_id = p.modality_id) r
CROSS JOIN LATERAL (
    SELECT coalesce(sum(amount_cents), 0)::bigint AS received_cents
    FROM payments
    WHERE merchant_id = $1 AND claim_id = p.claim_id
      AND (p.ended_at IS NULL OR recorded_at <= p.ended_at)) y
CROSS JOIN LATERAL (
    SELECT coalesce(sum(m.cents), 0)::bigint AS returned_cents,
           coalesce(sum(m.cents) FILTER (
               WHERE m.paid_at < p.requested_at AND m.recorded_at > p.requested_at),
               0)::bigint AS undone_cents
    FROM (
        SELECT moved.recorded_at,
               (SELECT recorded_at FROM payments
                WHERE merchant_id = $1 AND payment_id = moved.payment_id) AS paid_at,
               CASE WHEN kind IN ('REFUND_FAILED', 'CHARGEBACK_REVERSED') THEN -booked_cents
                    ELSE booked_cents END AS cents
        FROM payment_movements moved
        WHERE merchant_id = $1 AND claim_id = p.claim_id AND kind <> 'PAID'
          AND payment_id IS NOT NULL
          AND (p.ended_at IS NULL OR recorded_at <= p.ended_at)) m) z
WHERE p.merchant_id = $1
"""
# Nested in the statement of the debtor's page. Uses primary keys.
LOAD_ONE = compose("{select} AND p.claim_id = $2 AND p.modality_id = $3", select=_SELECT)
# Nested in the statement of each debtor's page. Uses the index payment_modalities_one.
LOAD_LIVE = compose(
    "{select} AND p.claim_id = ANY($2::bigint[]) AND p.ended_at IS NULL", select=_SELECT
)
# Uses primary keys.
_LOAD_BY_ID = compose("{select} AND p.modality_id = ANY($2::uuid[])", select=_SELECT)
# The newest modality, if it was broken or rejected. Nested in the statement of each debtor's page.
# Uses the index payment_modalities_claim.
LOAD_UNSUCCESSFUL = compose(
    """{select} AND p.claim_id = $2 AND p.ended_reason IN ('BROKEN', 'REJECTED')
  AND NOT EXISTS (
      SELECT FROM payment_modalities later
      WHERE later.merchant_id = $1 AND later.claim_id = $2
        AND (later.requested_at, later.modality_id) > (p.requested_at, p.modality_id))
""",
    select=_SELECT,
)
# Newest first. Uses the index payment_modalities_claim.
_LIST_NEWEST = compose(
    """{select} AND p.claim_id = $2
ORDER BY p.requested_at DESC, p.modality_id DESC
LIMIT $3
""",
    select=_SELECT,
)
_INSERT = """
WITH modality AS (
    INSERT INTO payment_modalities
        (merchant_id, claim_id, modality_id, type, state, amount_cents, deferred_until,
         requested_at, answered_at, actor_kind, actor_id, check_at, paid_before_cents)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
           coalesce(sum(amount_cents - returned_cents), 0)
    FROM payments
    WHERE merchant_id = $1 AND claim_id = $2 AND reversed_at IS NULL
)
INSERT INTO instalments (merchant_id, modality_id, number, due_on, amount_cents)
SELECT $1, $3, number, due_on, cents
FROM unnest($13::date[], $14::bigint[]) WITH ORDINALITY AS i (due_on, cents, number)
"""
_APPROVE = """
UPDATE payment_modalities
SET state = 'APPROVED', answered_at = $3,
    -- A plan is checked at once, because notices of its instalments may be due.
    check_at = CASE WHEN type = 'PAYMENT_PLAN' THEN least(check_at, $3) ELSE check_at END
WHERE merchant_id = $1 AND modality_id = $2
"""
_REJECT = """
UPDATE payment_modalities
SET state = 'REJECTED', answered_at = $3, reason = $4,
    ended_at = $3, ended_reason = 'REJECTED', check_at = NULL
WHERE merchant_id = $1 AND modality_id = $2
"""
_END = """
UPDATE payment_modalities p
SET ended_at = $2, ended_reason = e.reason, check_at = NULL
FROM unnest($3::uuid[], $4::text[]) AS e (modality_id, reason)
WHERE p.merchant_id = $1 AND p.modality_id = e.modality_id
"""


class ModalityRow(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A row of `_SELECT`, on which the statements above are based."""

    modality_id: UUID
    claim_id: int
    type: ModalityType
    state: ModalityState
    amount_cents: int
    deferred_until: date | None
    requested_at: datetime
    actor_kind: ActorKind
    answered_at: datetime | None
    reason: str | None
    ended_at: datetime | None
    ended_reason: ModalityEndReason | None
    currency: str
    claim_status: Status
    # The plan's instalments, earliest first.
    due_ons: list[date] | None
    amounts_cents: list[int] | None
    # Until when each is awaited, if it is collected by direct debit.
    awaited_ons: list[date | None] | None
    paid_cents: int


@dataclass(frozen=True, slots=True)
class ListedModality:
    """A modality with its claim's reference number."""

    modality: Modality
    reference_number: str


async def load_modality_facts(tx: Connection, merchant_id: int, claim_id: int) -> ModalityFacts:
    """Return the facts that the limits depend on. The claim must exist."""
    row = await tx.fetchrow(_LOAD_FACTS, merchant_id, claim_id)
    assert row is not None
    return ModalityFacts(row["outstanding_cents"], row["max_deferral_on"])


async def find_modality(
    tx: Connection, merchant_id: int, claim_id: int, modality_id: UUID
) -> Modality | None:
    row = await tx.fetchrow(LOAD_ONE, merchant_id, claim_id, modality_id)
    return None if row is None else _build_from_row(row)


async def list_recent_modalities(
    tx: Connection, merchant_id: int, claim_id: int, *, limit: int
) -> list[Modality]:
    """Return the claim's newest modalities, at most `limit`, newest first."""
    rows = await tx.fetch(_LIST_NEWEST, merchant_id, claim_id, limit)
    return [_build_from_row(row) for row in rows]


async def list_live_modalities(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int]
) -> list[tuple[Modality, str, Status]]:
    """Return the claims' modalities that have not ended, each with the claim's reference number and
    status."""
    rows = await tx.fetch(LOAD_LIVE, merchant_id, list(claim_ids))
    return [
        (_build_from_row(row), row["reference_number"], Status(row["claim_status"])) for row in rows
    ]


async def load_listed_modalities(
    tx: Connection, merchant_id: int, modality_ids: Sequence[UUID]
) -> dict[UUID, ListedModality]:
    """Return the modalities by id, each with its claim."""
    rows = await tx.fetch(_LOAD_BY_ID, merchant_id, list(modality_ids))
    return {
        row["modality_id"]: ListedModality(_build_from_row(row), row["reference_number"])
        for row in rows
    }


async def insert_modality(
    tx: Connection,
    merchant_id: int,
    modality: Modality,
    *,
    actor_id: str | None,
    check_at: datetime,
) -> None:
    """Insert a modality of a locked claim, with the amount that has been paid so far."""
    is_plan = modality.type is ModalityType.PAYMENT_PLAN
    instalments = modality.schedule if is_plan else ()
    await tx.execute(
        _INSERT, merchant_id, modality.claim_id, modality.modality_id, modality.type,
        modality.state,
        modality.amount_cents, None if is_plan else modality.schedule[0].due_on,
        modality.requested_at, modality.answered_at, modality.actor_kind, actor_id, check_at,
        [instalment.due_on for instalment in instalments],
        [instalment.amount_cents for instalment in instalments],
    )  # fmt: skip


async def save_approval(tx: Connection, merchant_id: int, modality_id: UUID, now: datetime) -> None:
    await tx.execute(_APPROVE, merchant_id, modality_id, now)


async def save_rejection(
    tx: Connection, merchant_id: int, modality_id: UUID, now: datetime, reason: str | None
) -> None:
    await tx.execute(_REJECT, merchant_id, modality_id, now, reason)


async def save_ends(
    tx: Connection, merchant_id: int, now: datetime, reasons: Mapping[UUID, ModalityEndReason]
) -> None:
    """End modalities, and save why (modality id -> reason). Their claims must be locked."""
    await tx.execute(_END, merchant_id, now, list(reasons), list(reasons.values()))


def build_modality(row: ModalityRow) -> Modality:
    """Build the modality. Paid amounts are applied to the earliest instalments first."""
    paid_cents = max(0, row.paid_cents)
    return Modality(
        modality_id=row.modality_id,
        claim_id=row.claim_id,
        type=row.type,
        state=row.state,
        currency=row.currency,
        amount_cents=row.amount_cents,
        schedule=apply_payments(_build_schedule_from_row(row), paid_cents),
        paid_cents=paid_cents,
        requested_at=row.requested_at,
        actor_kind=row.actor_kind,
        answered_at=row.answered_at,
        reason=row.reason,
        ended_at=row.ended_at,
        ended_reason=row.ended_reason,
    )


def _build_from_row(row: Row) -> Modality:
    return build_modality(msgspec.convert(dict(row), ModalityRow))


def _build_schedule_from_row(row: ModalityRow) -> list[Instalment]:
    if row.deferred_until is not None:
        return [Instalment(1, row.deferred_until, row.amount_cents)]
    rows = zip(row.due_ons or (), row.amounts_cents or (), row.awaited_ons or (), strict=True)
    return [
        Instalment(number, day, cents, awaited_on=awaited_on)
        for number, (day, cents, awaited_on) in enumerate(rows, start=1)
    ]


# Uses the primary key.
_FIND_ASSIGNEE = (
    "SELECT assignee_id FROM payment_modalities WHERE merchant_id = $1 AND modality_id = $2"
)
_LIST_ASSIGNEES = """
SELECT modality_id, assignee_id
FROM payment_modalities
WHERE merchant_id = $1 AND modality_id = ANY($2::uuid[]) AND assignee_id IS NOT NULL
"""
_SAVE_ASSIGNEE = (
    "UPDATE payment_modalities SET assignee_id = $3 WHERE merchant_id = $1 AND modality_id = $2"
)


async def find_assignee_id(tx: Connection, merchant_id: int, modality_id: UUID) -> UUID | None:
    assignee_id: UUID | None = await tx.fetchval(_FIND_ASSIGNEE, merchant_id, modality_id)
    return assignee_id


async def list_assignee_ids(
    tx: Connection, merchant_id: int, modality_ids: Collection[UUID]
) -> Mapping[UUID, UUID]:
    """Return modality id -> user id, for modalities with an assignee."""
    rows = await tx.fetch(_LIST_ASSIGNEES, merchant_id, list(modality_ids))
    return {row["modality_id"]: row["assignee_id"] for row in rows}


async def save_assignee(
    tx: Connection, merchant_id: int, modality_id: UUID, assignee_id: UUID | None
) -> None:
    """Save the assignee. The claim must be locked."""
    await tx.execute(_SAVE_ASSIGNEE, merchant_id, modality_id, assignee_id)


# Uses the index payment_modalities_check_anywhere and then payment_modalities_check. Whatever ends
# a claim schedules an immediate check of its modality (`end_claim`, `schedule_check_now`), so only
# due modalities are read.
_LIST_MERCHANTS = compose(
    """
SELECT due.merchant_id
FROM {due} due
WHERE $2::integer IS NULL OR due.merchant_id = $2
""",
    due=render_due_merchants(
        DueTable("payment_modalities", "d.ended_at IS NULL AND d.check_at <= {now}")
    ),
)
_LOCK_DUE_CLAIMS = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND claim_id IN (
    SELECT claim_id
    FROM payment_modalities
    WHERE merchant_id = $1 AND ended_at IS NULL AND check_at <= $2
      AND ($4::bigint IS NULL OR claim_id = $4)
    ORDER BY check_at
    LIMIT $3)
ORDER BY claim_id
FOR NO KEY UPDATE SKIP LOCKED
"""
# Uses the index payment_modalities_check.
_LIST_DUE_CLAIMS = """
SELECT claim_id
FROM payment_modalities
WHERE merchant_id = $1 AND ended_at IS NULL AND check_at <= $2
ORDER BY check_at
LIMIT $3
"""
# Uses the index payment_modalities_one.
_POSTPONE_CHECK = """
UPDATE payment_modalities
SET check_at = $3
WHERE merchant_id = $1 AND claim_id = $2 AND ended_at IS NULL
"""
_SAVE_NEXT_CHECKS = """
UPDATE payment_modalities p
SET check_at = n.check_at
FROM unnest($2::uuid[], $3::timestamptz[]) AS n (modality_id, check_at)
WHERE p.merchant_id = $1 AND p.modality_id = n.modality_id
"""
# Uses the index payment_modalities_one, which has at most one row per claim.
_SCHEDULE_CHECK_NOW = """
UPDATE payment_modalities
SET check_at = least(check_at, $3)
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND ended_at IS NULL
"""
# Uses the primary key.
_SAVE_AWAITED = """
UPDATE instalments
SET awaited_on = $4
WHERE merchant_id = $1 AND modality_id = $2 AND number = $3
"""
# Payments are applied to the earliest instalments, so what is returned of one may be missing of a
# later one. Uses the primary key.
_SAVE_RETURN_DAY = """
UPDATE instalments
SET awaited_on = $4
WHERE merchant_id = $1 AND modality_id = $2
  AND (number = $3 OR greatest(due_on, awaited_on) < $4)
"""


async def save_awaited_day(
    tx: Connection, merchant_id: int, modality_id: UUID, number: int, awaited_on: date | None
) -> None:
    """Save until when an instalment is awaited, or None if it is not collected by direct debit
    (`Instalment.awaited_on`). The claim must be locked."""
    await tx.execute(_SAVE_AWAITED, merchant_id, modality_id, number, awaited_on)


async def save_return_day(
    tx: Connection, merchant_id: int, modality_id: UUID, number: int, returned_on: date
) -> None:
    """Let the grace period of an instalment begin on the day on which its debit was returned, and
    also that of each instalment whose day is past by then. The claim must be locked."""
    await tx.execute(_SAVE_RETURN_DAY, merchant_id, modality_id, number, returned_on)


async def list_merchants_to_check(
    tx: Connection, now: datetime, merchant_id: int | None
) -> list[int]:
    """Return the merchants with modalities due by their own clocks. With `merchant_id`, return only
    that one, if it has any."""
    rows = await tx.fetch(_LIST_MERCHANTS, now, merchant_id)
    return [row["merchant_id"] for row in rows]


async def lock_claims_to_check(
    tx: Connection, merchant_id: int, now: datetime, limit: int, *, claim_id: int | None = None
) -> list[int]:
    """Lock and return claims whose modalities are due, skipping those that others have locked. With
    `claim_id`, only that claim."""
    rows = await tx.fetch(_LOCK_DUE_CLAIMS, merchant_id, now, limit, claim_id)
    return [row["claim_id"] for row in rows]


async def list_claims_to_check(
    tx: Connection, merchant_id: int, now: datetime, limit: int
) -> list[int]:
    """Return claims whose modalities are due, the longest due first. Locks nothing."""
    rows = await tx.fetch(_LIST_DUE_CLAIMS, merchant_id, now, limit)
    return [row["claim_id"] for row in rows]


async def postpone_check(tx: Connection, merchant_id: int, claim_id: int, until: datetime) -> None:
    """Save that the claim's modality is checked at `until`."""
    await tx.execute(_POSTPONE_CHECK, merchant_id, claim_id, until)


async def save_next_checks(
    tx: Connection, merchant_id: int, next_checks: Mapping[UUID, datetime]
) -> None:
    """Save when each modality is checked next (modality id -> time)."""
    await tx.execute(_SAVE_NEXT_CHECKS, merchant_id, list(next_checks), list(next_checks.values()))


async def schedule_check_now(
    tx: Connection, merchant_id: int, claim_id: int, now: datetime
) -> None:
    """Schedule an immediate check of the claim's modality, if one has not ended."""
    await schedule_checks_now(tx, merchant_id, [claim_id], now)


async def schedule_checks_now(
    tx: Connection, merchant_id: int, claim_ids: Sequence[int], now: datetime
) -> None:
    """Schedule an immediate check of each claim's modality that has not ended."""
    await tx.execute(_SCHEDULE_CHECK_NOW, merchant_id, list(claim_ids), now)
