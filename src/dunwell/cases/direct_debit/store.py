"""The SQL of mandates and collections. `files/store.py` has the SQL of the files for the bank."""

from collections.abc import Collection as Ids
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import date, datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.due_merchants import DueTable, render_due_merchants
from dunwell.cases.direct_debit.debit_values import (
    CancelReason,
    Collection,
    CollectionState,
    Mandate,
    MandateEndReason,
    MandateState,
    SequenceType,
)
from dunwell.contact.escalation.statement_age import normalize_account
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

_MANDATE_COLUMNS = ", ".join(each.name for each in fields(Mandate))
_COLLECTION_COLUMNS = ", ".join(each.name for each in fields(Collection))
_INSERT_MANDATE = compose(
    """
INSERT INTO mandates (merchant_id, check_at, {columns})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21)
""",
    columns=_MANDATE_COLUMNS,
)
# Uses the primary key.
_FIND_MANDATE = compose(
    """
SELECT {columns}
FROM mandates
WHERE merchant_id = $1 AND mandate_id = $2
""",
    columns=_MANDATE_COLUMNS,
)
# Uses the primary key.
_LOAD_MANDATES = compose(
    """
SELECT {columns}
FROM mandates
WHERE merchant_id = $1 AND mandate_id = ANY($2::uuid[])
""",
    columns=_MANDATE_COLUMNS,
)
# Newest first. Uses the index mandates_claim.
_LIST_CLAIM_MANDATES = compose(
    """
SELECT {columns}
FROM mandates
WHERE merchant_id = $1 AND claim_id = $2
ORDER BY signed_at DESC, mandate_id DESC
""",
    columns=_MANDATE_COLUMNS,
)
# Uses the index mandates_modality.
_COUNT_MANDATES = """
SELECT count(*)::integer FROM mandates WHERE merchant_id = $1 AND modality_id = $2
"""
_END_MANDATE = """
UPDATE mandates
SET state = $3, ended_at = $4, ended_reason = $5, check_at = NULL
WHERE merchant_id = $1 AND mandate_id = $2 AND state = 'ACTIVE'
"""
_SAVE_NEXT_CHECK = """
UPDATE mandates
SET check_at = $3
WHERE merchant_id = $1 AND mandate_id = $2 AND state = 'ACTIVE'
"""
_SAVE_USED = """
UPDATE mandates m
SET expires_on = greatest(m.expires_on, u.expires_on)
FROM unnest($2::uuid[], $3::date[]) AS u (mandate_id, expires_on)
WHERE m.merchant_id = $1 AND m.mandate_id = u.mandate_id
"""
# Uses the indexes mandates_check_anywhere and mandates_check.
_LIST_MERCHANTS = compose(
    """
SELECT due.merchant_id
FROM {due} due
WHERE $2::integer IS NULL OR due.merchant_id = $2
""",
    due=render_due_merchants(DueTable("mandates", "d.check_at <= {now}")),
)
# Uses the index mandates_check.
_LOCK_DUE_CLAIMS = """
SELECT claim_id
FROM claims
WHERE merchant_id = $1 AND claim_id IN (
    SELECT claim_id
    FROM mandates
    WHERE merchant_id = $1 AND check_at <= $2
    ORDER BY check_at
    LIMIT $3)
ORDER BY claim_id
FOR NO KEY UPDATE SKIP LOCKED
"""
# Uses the index mandates_claim.
_LIST_DUE_MANDATES = compose(
    """
SELECT {columns}
FROM mandates
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND check_at <= $3
ORDER BY claim_id
""",
    columns=_MANDATE_COLUMNS,
)
_INSERT_COLLECTION = compose(
    """
INSERT INTO debit_collections (merchant_id, changed_at, {columns})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20,
        $21)
""",
    columns=_COLLECTION_COLUMNS,
)
# Uses the index debit_collections_mandate.
_LIST_MANDATE_COLLECTIONS = compose(
    """
SELECT {columns}
FROM debit_collections
WHERE merchant_id = $1 AND mandate_id = ANY($2::uuid[])
ORDER BY instalment, collection_id
""",
    columns=_COLLECTION_COLUMNS,
)
# A plan's earlier mandates may have debits that were not cancelled. Uses the index
# debit_collections_modality.
_LIST_PLAN_COLLECTIONS = compose(
    """
SELECT {columns}
FROM debit_collections
WHERE merchant_id = $1 AND modality_id = ANY($2::uuid[])
ORDER BY instalment, collection_id
""",
    columns=_COLLECTION_COLUMNS,
)
# Uses the primary key.
_LOAD_COLLECTIONS = compose(
    """
SELECT {columns}
FROM debit_collections
WHERE merchant_id = $1 AND collection_id = ANY($2::uuid[])
ORDER BY collected_on, collection_id
""",
    columns=_COLLECTION_COLUMNS,
)
# Uses the index debit_collections_releasable.
_LIST_RELEASABLE = compose(
    """
SELECT {columns}
FROM debit_collections
WHERE merchant_id = $1 AND state = 'PRENOTIFIED' AND file_id IS NULL
ORDER BY collected_on, collection_id
LIMIT $2
""",
    columns=_COLLECTION_COLUMNS,
)
# Uses the unique key debit_collections_end_to_end.
_FIND_COLLECTION = compose(
    """
SELECT {columns}
FROM debit_collections
WHERE merchant_id = $1 AND end_to_end_id = $2
""",
    columns=_COLLECTION_COLUMNS,
)
# Uses the unique key debit_collections_end_to_end.
_LIST_END_TO_END_IDS = """
SELECT end_to_end_id
FROM debit_collections
WHERE merchant_id = $1 AND end_to_end_id = ANY($2::text[])
"""
# Uses the primary key. The state is compared, so that nothing changes twice.
_SAVE_PRENOTIFIED = """
UPDATE debit_collections
SET state = 'PRENOTIFIED', collected_on = $3, amount_cents = $4, notified_at = $5, changed_at = $5
WHERE merchant_id = $1 AND collection_id = $2 AND state = 'PLANNED'
"""
_SAVE_CANCELLED = """
UPDATE debit_collections
SET state = 'CANCELLED', cancel_reason = $3, changed_at = $4, file_id = NULL
WHERE merchant_id = $1 AND collection_id = $2 AND state IN ('PLANNED', 'PRENOTIFIED', 'RELEASED')
"""
_SAVE_RESULT = """
UPDATE debit_collections
SET state = $4, return_reason = $5, payment_id = $6, changed_at = $7
WHERE merchant_id = $1 AND collection_id = $2 AND state = $3
RETURNING collection_id
"""
# The collections whose pre-notification a channel accepted. Uses primary keys.
_LIST_NOTIFIED = """
SELECT o.subject
FROM debtor_occasions o
JOIN debtor_notices n ON n.merchant_id = $1 AND n.notice_id = o.notice_id
WHERE o.merchant_id = $1 AND o.claim_id = ANY($2::bigint[]) AND o.occasion = $3
  AND o.subject = ANY($4::text[]) AND n.state = 'ACCEPTED'
"""

# Uses the primary key.
_LIST_DISPUTED = """
SELECT DISTINCT claim_id
FROM holds
WHERE merchant_id = $1 AND claim_id = ANY($2::bigint[]) AND kind = 'DISPUTE'
  AND lifted_at IS NULL AND (until IS NULL OR until > $3)
"""


# Uses bank_accounts_iban.
_IS_CLOSED = """
SELECT EXISTS (
    SELECT
    FROM bank_accounts
    WHERE merchant_id = $1 AND iban = $2 AND closed_at IS NOT NULL)
"""


async def is_account_closed(tx: Connection, merchant_id: int, iban: str) -> bool:
    """Return whether the merchant has closed the bank account to which debits are credited."""
    is_closed: bool = await tx.fetchval(_IS_CLOSED, merchant_id, normalize_account(iban))
    return is_closed


async def insert_mandate(
    tx: Connection, merchant_id: int, mandate: Mandate, check_at: datetime
) -> None:
    """Insert a mandate of a locked claim."""
    values = [getattr(mandate, each.name) for each in fields(Mandate)]
    await tx.execute(_INSERT_MANDATE, merchant_id, check_at, *values)


async def find_mandate(tx: Connection, merchant_id: int, mandate_id: UUID) -> Mandate | None:
    row = await tx.fetchrow(_FIND_MANDATE, merchant_id, mandate_id)
    return None if row is None else build_mandate(row)


async def load_mandates(
    tx: Connection, merchant_id: int, mandate_ids: Ids[UUID]
) -> dict[UUID, Mandate]:
    rows = await tx.fetch(_LOAD_MANDATES, merchant_id, list(mandate_ids))
    return {row["mandate_id"]: build_mandate(row) for row in rows}


async def list_claim_mandates(tx: Connection, merchant_id: int, claim_id: int) -> list[Mandate]:
    """Return the mandates of a claim's plans, newest first."""
    rows = await tx.fetch(_LIST_CLAIM_MANDATES, merchant_id, claim_id)
    return [build_mandate(row) for row in rows]


async def count_mandates(tx: Connection, merchant_id: int, modality_id: UUID) -> int:
    count: int = await tx.fetchval(_COUNT_MANDATES, merchant_id, modality_id)
    return count


async def end_mandate(
    tx: Connection, merchant_id: int, mandate_id: UUID, *, reason: MandateEndReason, now: datetime
) -> None:
    """End an active mandate. The claim must be locked."""
    is_revoked = reason in (MandateEndReason.REVOKED, MandateEndReason.RETURNED)
    state = MandateState.REVOKED if is_revoked else MandateState.EXPIRED
    await tx.execute(_END_MANDATE, merchant_id, mandate_id, state, now, reason)


async def save_next_mandate_check(
    tx: Connection, merchant_id: int, mandate_id: UUID, check_at: datetime
) -> None:
    """Save when an active mandate is checked next."""
    await tx.execute(_SAVE_NEXT_CHECK, merchant_id, mandate_id, check_at)


async def save_used(tx: Connection, merchant_id: int, expiries: Mapping[UUID, date]) -> None:
    """Save until when each mandate can be used, now that it has a new debit (mandate id -> last
    day)."""
    await tx.execute(_SAVE_USED, merchant_id, list(expiries), list(expiries.values()))


async def list_merchants_to_check(
    tx: Connection, now: datetime, merchant_id: int | None
) -> list[int]:
    """Return the merchants with mandates that are due by the merchant's own clock. With
    `merchant_id`, return only that one, if it has any."""
    rows = await tx.fetch(_LIST_MERCHANTS, now, merchant_id)
    return [row["merchant_id"] for row in rows]


async def lock_due_mandates(
    tx: Connection, merchant_id: int, now: datetime, limit: int
) -> list[Mandate]:
    """Lock claims with due mandates, skipping those that others have locked, and return the due
    mandates of the locked claims."""
    locked = await tx.fetch(_LOCK_DUE_CLAIMS, merchant_id, now, limit)
    claim_ids = [row["claim_id"] for row in locked]
    # A separate statement sees what was committed while it waited for the locks.
    rows = await tx.fetch(_LIST_DUE_MANDATES, merchant_id, claim_ids, now)
    return [build_mandate(row) for row in rows]


async def insert_collection(
    tx: Connection, merchant_id: int, collection: Collection, now: datetime
) -> None:
    values = [getattr(collection, each.name) for each in fields(Collection)]
    await tx.execute(_INSERT_COLLECTION, merchant_id, now, *values)


async def list_mandate_collections(
    tx: Connection, merchant_id: int, mandate_ids: Ids[UUID]
) -> list[Collection]:
    """Return the collections of mandates, ordered by instalment and time of creation."""
    rows = await tx.fetch(_LIST_MANDATE_COLLECTIONS, merchant_id, list(mandate_ids))
    return [build_collection(row) for row in rows]


async def list_plan_collections(
    tx: Connection, merchant_id: int, modality_ids: Ids[UUID]
) -> list[Collection]:
    """Return the collections of all mandates of these plans, ordered by instalment and time of
    creation."""
    rows = await tx.fetch(_LIST_PLAN_COLLECTIONS, merchant_id, list(modality_ids))
    return [build_collection(row) for row in rows]


async def load_collections(
    tx: Connection, merchant_id: int, collection_ids: Ids[UUID]
) -> list[Collection]:
    """Return collections, ordered by the day on which the account is debited."""
    rows = await tx.fetch(_LOAD_COLLECTIONS, merchant_id, list(collection_ids))
    return [build_collection(row) for row in rows]


async def list_releasable(tx: Connection, merchant_id: int, limit: int) -> list[Collection]:
    """Return the collections that wait for their release, earliest first."""
    rows = await tx.fetch(_LIST_RELEASABLE, merchant_id, limit)
    return [build_collection(row) for row in rows]


async def find_collection(
    tx: Connection, merchant_id: int, end_to_end_id: str
) -> Collection | None:
    row = await tx.fetchrow(_FIND_COLLECTION, merchant_id, end_to_end_id)
    return None if row is None else build_collection(row)


async def list_end_to_end_ids(tx: Connection, merchant_id: int, candidates: Ids[str]) -> set[str]:
    """Return those of the end-to-end ids that belong to debits of the merchant."""
    rows = await tx.fetch(_LIST_END_TO_END_IDS, merchant_id, list(candidates))
    return {row["end_to_end_id"] for row in rows}


async def save_prenotified(
    tx: Connection, merchant_id: int, collection: Collection, now: datetime
) -> None:
    """Save the day and amount of which the debtor was notified."""
    await tx.execute(
        _SAVE_PRENOTIFIED, merchant_id, collection.collection_id, collection.collected_on,
        collection.amount_cents, now,
    )  # fmt: skip


async def save_cancelled(
    tx: Connection, merchant_id: int, collection_id: UUID, *, reason: CancelReason, now: datetime
) -> None:
    """Cancel a collection that the bank does not have, and take it out of its file."""
    await tx.execute(_SAVE_CANCELLED, merchant_id, collection_id, reason, now)


async def save_result(  # noqa: PLR0913 - what a result changes
    tx: Connection, merchant_id: int, collection: Collection, state: CollectionState, *,
    return_reason: str | None, payment_id: UUID | None, now: datetime,
) -> bool:  # fmt: skip
    """Save the bank's result. Return False if the state has changed in the meantime."""
    saved = await tx.fetchval(
        _SAVE_RESULT, merchant_id, collection.collection_id, collection.state, state,
        return_reason, payment_id, now,
    )  # fmt: skip
    return saved is not None


async def list_notified(
    tx: Connection, merchant_id: int, collections: Sequence[Collection], occasion: str
) -> set[UUID]:
    """Return the ids of the collections whose pre-notification a channel accepted."""
    rows = await tx.fetch(
        _LIST_NOTIFIED, merchant_id, [each.claim_id for each in collections], occasion,
        [str(each.collection_id) for each in collections],
    )  # fmt: skip
    return {UUID(row["subject"]) for row in rows}


async def list_disputed_claims(
    tx: Connection, merchant_id: int, claim_ids: Ids[int], now: datetime
) -> set[int]:
    """Return the ids of those claims that are on hold for a dispute at `now`, the merchant's
    time."""
    rows = await tx.fetch(_LIST_DISPUTED, merchant_id, list(claim_ids), now)
    return {row["claim_id"] for row in rows}


def build_collection(row: Row | Mapping[str, Any]) -> Collection:
    sequence_type, cancel_reason = row["sequence_type"], row["cancel_reason"]
    return Collection(
        **{
            **row,
            "state": CollectionState(row["state"]),
            "sequence_type": None if sequence_type is None else SequenceType(sequence_type),
            "cancel_reason": None if cancel_reason is None else CancelReason(cancel_reason),
        }
    )


def build_mandate(row: Row | Mapping[str, Any]) -> Mandate:
    reason = row["ended_reason"]
    return Mandate(
        **{
            **row,
            "state": MandateState(row["state"]),
            "ended_reason": None if reason is None else MandateEndReason(reason),
        }
    )
