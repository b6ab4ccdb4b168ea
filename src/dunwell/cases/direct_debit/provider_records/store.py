"""The SQL of mandates and debits at payment providers. All instants are real time."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime, timedelta
from enum import StrEnum
from uuid import UUID

from dunwell.cases.direct_debit.debit_values import CancelReason, CollectionState
from dunwell.cases.payments.requests.store import PendingAccount
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose


class ProviderMandateState(StrEnum):
    # The debtor was sent to the provider's page.
    OPEN = "OPEN"
    ACTIVE = "ACTIVE"
    # The mandate has ended here and still has to be cancelled at the provider.
    CANCELLING = "CANCELLING"
    ENDED = "ENDED"


@dataclass(frozen=True, slots=True)
class StoredProviderMandate:
    # The idempotency key at the provider, and the id of the mandate once it is given.
    mandate_id: UUID
    claim_id: int
    modality_id: UUID
    # The name of the provider's account, and its kind.
    provider: str
    provider_name: str
    state: ProviderMandateState
    # The provider's ids of its page and of the mandate. None until they are known.
    checkout_id: str | None
    provider_mandate_id: str | None
    language: str
    actor_kind: str
    actor_id: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ProviderDebit:
    """A debit that is to be ordered or cancelled at a provider, with what the call needs."""

    merchant_id: int
    collection_id: UUID
    claim_id: int
    provider: str
    # Why the debit is to be cancelled. None if it is to be ordered.
    cancel_reason: CancelReason | None
    state: CollectionState
    collected_on: date
    amount_cents: int
    currency: str
    reference: str
    provider_mandate_id: str
    # The provider's id of the payment. None until it is known.
    payment_reference: str | None


_COLUMNS = ", ".join(each.name for each in fields(StoredProviderMandate))
_INSERT_MANDATE = compose(
    """
INSERT INTO provider_mandates (merchant_id, next_check_at, {columns})
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
""",
    columns=_COLUMNS,
)
# Uses the primary key.
_FIND_MANDATE = compose(
    """
SELECT {columns}
FROM provider_mandates
WHERE merchant_id = $1 AND mandate_id = $2
""",
    columns=_COLUMNS,
)
# Uses the unique index provider_mandates_open.
_FIND_OPEN = compose(
    """
SELECT {columns}
FROM provider_mandates
WHERE merchant_id = $1 AND modality_id = $2 AND state = 'OPEN'
""",
    columns=_COLUMNS,
)
# Repeated calls with one key get the same checkout id, so the last one can save it again.
_SAVE_CHECKOUT = """
UPDATE provider_mandates
SET checkout_id = $3, next_check_at = $4
WHERE merchant_id = $1 AND mandate_id = $2 AND state = 'OPEN'
"""
# The state is compared, so that an answer changes it once.
_SAVE_STATE = """
UPDATE provider_mandates
SET state = $4, provider_mandate_id = coalesce($5, provider_mandate_id), next_check_at = $6
WHERE merchant_id = $1 AND mandate_id = $2 AND state = $3
"""
_MAKE_DUE = """
UPDATE provider_mandates
SET next_check_at = $3
WHERE merchant_id = $1 AND mandate_id = $2 AND state <> 'ENDED'
"""
# Covers all merchants, because a notification does not name the merchant. Uses the unique keys.
_MAKE_NAMED_DUE = """
UPDATE provider_mandates
SET next_check_at = $3
WHERE (provider, checkout_id) IN (SELECT $1, unnest($2::text[])) AND state <> 'ENDED'
   OR (provider, provider_mandate_id) IN (SELECT $1, unnest($2::text[])) AND state <> 'ENDED'
"""
# Over all merchants. Uses the index provider_mandates_check.
_LEASE_MANDATES = """
WITH due AS MATERIALIZED (
    SELECT merchant_id, mandate_id
    FROM provider_mandates
    WHERE provider = $1 AND next_check_at <= $2
    ORDER BY next_check_at
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE provider_mandates m
SET next_check_at = $2::timestamptz + $3
FROM due
WHERE m.merchant_id = due.merchant_id AND m.mandate_id = due.mandate_id
RETURNING m.merchant_id, m.mandate_id
"""
# Uses the index provider_mandates_check.
_LIST_MANDATE_ACCOUNTS = """
SELECT provider, min(next_check_at) AS due_at
FROM provider_mandates
WHERE next_check_at IS NOT NULL
GROUP BY provider
"""
_INSERT_DEBIT = """
INSERT INTO provider_debits (merchant_id, collection_id, provider, next_attempt_at)
VALUES ($1, $2, $3, $4)
"""
# A debit that a worker is ordering is cancelled only when the worker's lease has ended: until then
# the provider may not have the debit.
_CANCEL_DEBIT = """
UPDATE provider_debits
SET cancel_reason = $3, next_attempt_at = coalesce(next_attempt_at, $4)
WHERE merchant_id = $1 AND collection_id = $2 AND cancel_reason IS NULL
"""
_SAVE_ORDERED = """
UPDATE debit_collections
SET state = 'RELEASED', amount_cents = $3, changed_at = $4
WHERE merchant_id = $1 AND collection_id = $2 AND state = 'PLANNED'
"""
_SAVE_ACCEPTED = """
UPDATE debit_collections
SET state = 'DELIVERED', collected_on = $3, changed_at = $4
WHERE merchant_id = $1 AND collection_id = $2 AND state = 'RELEASED'
"""
# Uses the index provider_debits_attempt.
_LIST_DEBIT_ACCOUNTS = """
SELECT provider, min(next_attempt_at) AS due_at
FROM provider_debits
WHERE next_attempt_at IS NOT NULL
GROUP BY provider
"""
# Over all merchants. Uses the index provider_debits_attempt and then primary keys.
_LEASE_DEBITS = """
WITH due AS MATERIALIZED (
    SELECT merchant_id, collection_id
    FROM provider_debits
    WHERE provider = $1 AND next_attempt_at <= $2
    ORDER BY next_attempt_at
    LIMIT $4
    FOR NO KEY UPDATE SKIP LOCKED
)
UPDATE provider_debits p
SET next_attempt_at = $2::timestamptz + $3
FROM due
JOIN debit_collections d
    ON d.merchant_id = due.merchant_id AND d.collection_id = due.collection_id
JOIN provider_mandates m ON m.merchant_id = d.merchant_id AND m.mandate_id = d.mandate_id
JOIN payment_requests r ON r.merchant_id = d.merchant_id AND r.request_id = d.collection_id
WHERE p.merchant_id = due.merchant_id AND p.collection_id = due.collection_id
RETURNING p.merchant_id, p.collection_id, d.claim_id, p.provider, p.cancel_reason, d.state,
          d.collected_on, d.amount_cents, d.currency, r.reference, m.provider_mandate_id,
          r.provider_reference AS payment_reference
"""
# A cancellation that was asked for in the meantime is still to be done.
_FINISH_DEBIT = """
UPDATE provider_debits
SET next_attempt_at = CASE WHEN cancel_reason IS NOT DISTINCT FROM $3 THEN NULL
                           ELSE $4::timestamptz END
WHERE merchant_id = $1 AND collection_id = $2
"""


# Over all merchants. The mandates of an account that was removed.
_GIVE_UP_MANDATES = """
UPDATE provider_mandates
SET state = 'ENDED', next_check_at = NULL
WHERE provider = $1 AND state <> 'ENDED' AND next_check_at IS NOT NULL
"""
# Over all merchants. Uses the index provider_debits_attempt.
_GIVE_UP_DEBITS = """
UPDATE provider_debits
SET next_attempt_at = NULL
WHERE provider = $1 AND next_attempt_at IS NOT NULL
"""


async def give_up_mandates(tx: Connection, provider: str) -> None:
    """Stop checking the mandates of an account that was removed, over all merchants."""
    await tx.execute(_GIVE_UP_MANDATES, provider)


async def give_up_debits(tx: Connection, provider: str) -> None:
    """Stop ordering and cancelling debits at an account that was removed, over all merchants."""
    await tx.execute(_GIVE_UP_DEBITS, provider)


async def insert_provider_mandate(
    tx: Connection, merchant_id: int, mandate: StoredProviderMandate, next_check_at: datetime
) -> None:
    values = [getattr(mandate, each.name) for each in fields(StoredProviderMandate)]
    await tx.execute(_INSERT_MANDATE, merchant_id, next_check_at, *values)


async def find_provider_mandate(
    tx: Connection, merchant_id: int, mandate_id: UUID
) -> StoredProviderMandate | None:
    row = await tx.fetchrow(_FIND_MANDATE, merchant_id, mandate_id)
    return None if row is None else _build_mandate(row)


async def find_open_provider_mandate(
    tx: Connection, merchant_id: int, modality_id: UUID
) -> StoredProviderMandate | None:
    """Return the mandate of a plan that the debtor has not given yet, or None."""
    row = await tx.fetchrow(_FIND_OPEN, merchant_id, modality_id)
    return None if row is None else _build_mandate(row)


async def save_mandate_checkout(
    tx: Connection, merchant_id: int, mandate_id: UUID, *, checkout_id: str, next_check_at: datetime
) -> None:
    await tx.execute(_SAVE_CHECKOUT, merchant_id, mandate_id, checkout_id, next_check_at)


async def save_provider_mandate(
    tx: Connection, merchant_id: int, mandate: StoredProviderMandate, state: ProviderMandateState,
    *, provider_mandate_id: str | None = None, next_check_at: datetime | None = None,
) -> None:  # fmt: skip
    """Save a state and the provider's id of the mandate, unless the state has changed in the
    meantime. With `next_check_at` None, the mandate is not checked again. The claim must be
    locked."""
    await tx.execute(
        _SAVE_STATE, merchant_id, mandate.mandate_id, mandate.state, state, provider_mandate_id,
        next_check_at,
    )  # fmt: skip


async def make_mandate_due(
    tx: Connection, merchant_id: int, mandate_id: UUID, now: datetime
) -> None:
    """Let the worker check a mandate at the provider at once."""
    await tx.execute(_MAKE_DUE, merchant_id, mandate_id, now)


async def make_named_mandates_due(
    tx: Connection, provider: str, provider_ids: Sequence[str], now: datetime
) -> None:
    """Let the worker check at once those mandates that the provider's account knows by one of these
    ids. Unknown ids are ignored."""
    await tx.execute(_MAKE_NAMED_DUE, provider, list(provider_ids), now)


async def list_accounts_with_mandates(tx: Connection) -> list[PendingAccount]:
    """Return the accounts at which mandates are to be checked, now or later."""
    return [PendingAccount(**row) for row in await tx.fetch(_LIST_MANDATE_ACCOUNTS)]


async def list_accounts_with_debits(tx: Connection) -> list[PendingAccount]:
    """Return the accounts that are to be called for debits, now or later."""
    return [PendingAccount(**row) for row in await tx.fetch(_LIST_DEBIT_ACCOUNTS)]


async def lease_mandates(
    tx: Connection, provider: str, now: datetime, *, duration: timedelta, limit: int
) -> list[tuple[int, UUID]]:
    """Lease mandates of a provider's account that are due for a check, over all merchants. Return
    their keys: merchant id and mandate id."""
    rows = await tx.fetch(_LEASE_MANDATES, provider, now, duration, limit)
    return [(row["merchant_id"], row["mandate_id"]) for row in rows]


async def order_debit(  # noqa: PLR0913 - what an order consists of
    tx: Connection, merchant_id: int, collection_id: UUID, *, provider: str, amount_cents: int,
    now: datetime, real_now: datetime,
) -> None:  # fmt: skip
    """Release a planned debit, and let the worker order it. The claim must be locked."""
    await tx.execute(_SAVE_ORDERED, merchant_id, collection_id, amount_cents, now)
    await tx.execute(_INSERT_DEBIT, merchant_id, collection_id, provider, real_now)


async def ask_to_cancel_debit(
    tx: Connection, merchant_id: int, collection_id: UUID, *, reason: CancelReason, now: datetime
) -> None:
    """Let the worker cancel a debit at its provider."""
    await tx.execute(_CANCEL_DEBIT, merchant_id, collection_id, reason, now)


async def lease_debits(
    tx: Connection, provider: str, now: datetime, *, duration: timedelta, limit: int
) -> list[ProviderDebit]:
    """Lease debits that are due to be ordered or cancelled at a provider's account, over all
    merchants."""
    rows = await tx.fetch(_LEASE_DEBITS, provider, now, duration, limit)
    return [
        ProviderDebit(
            **{
                **row,
                "state": CollectionState(row["state"]),
                "cancel_reason": row["cancel_reason"] and CancelReason(row["cancel_reason"]),
            }
        )
        for row in rows
    ]


async def save_accepted_debit(
    tx: Connection, merchant_id: int, collection_id: UUID, *, collected_on: date, now: datetime
) -> None:
    """Save that the provider has a debit, and when it is collected."""
    await tx.execute(_SAVE_ACCEPTED, merchant_id, collection_id, collected_on, now)


async def finish_debit(tx: Connection, debit: ProviderDebit, now: datetime) -> None:
    """Save that the call for a leased debit is done. If a cancellation was asked for after the
    debit was leased, the next call is due at `now`."""
    await tx.execute(
        _FINISH_DEBIT, debit.merchant_id, debit.collection_id, debit.cancel_reason, now
    )


def _build_mandate(row: Row) -> StoredProviderMandate:
    return StoredProviderMandate(**{**row, "state": ProviderMandateState(row["state"])})
