"""The SQL of payment requests, and the hold of each request while its money is on its way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import date, datetime
from typing import Any, TypeAlias
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.configuration import PaymentMeans
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.core.claims.claim_holds import lift_holds, open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.core.claims.store import load_holds
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# A merchant's id and a request's.
RequestKey: TypeAlias = tuple[int, UUID]


@dataclass(frozen=True, slots=True)
class PendingAccount:
    """An account at a payment provider for which calls are planned."""

    provider: str
    # When the first of the calls is due (real time).
    due_at: datetime


@dataclass(frozen=True, slots=True)
class StoredPaymentRequest:
    request_id: UUID
    claim_id: int
    # The name of the provider's account, or BANK_TRANSFER.
    provider: str
    # The kind of provider, as in events: STRIPE, or BANK_TRANSFER.
    provider_name: str
    amount_cents: int
    currency: str
    reference: str
    state: PaymentRequestState
    # The provider's id of the checkout, or of the payment that it collects. None until the
    # provider's answer is stored.
    provider_reference: str | None
    checkout_url: str | None = field(repr=False)
    # All times of a request are real time.
    created_at: datetime
    settled_at: datetime | None
    # How many regular checks were begun.
    checks: int
    # The items that the debtor chose, in ascending order; empty without a choice.
    item_ids: Sequence[int] = ()
    # When the debtor sent an announced bank transfer.
    sent_on: date | None = None
    # The means of payment that the debtor chose; None lets the provider ask.
    means: PaymentMeans | None = None
    # When a refund of its payment was last accepted or listed by the provider. It may still fail.
    refunded_at: datetime | None = None


_COLUMNS = ", ".join(each.name for each in fields(StoredPaymentRequest))
_FIND = compose(
    """
SELECT {columns}
FROM payment_requests
WHERE merchant_id = $1 AND request_id = $2
""",
    columns=_COLUMNS,
)
_LOCK = compose("{load} FOR NO KEY UPDATE", load=_FIND)
# Uses the index payment_requests_one_open.
_LIST_LIVE = compose(
    """
SELECT {columns}
FROM payment_requests
WHERE merchant_id = $1 AND claim_id = $2 AND state IN ('CREATED', 'OPEN', 'PENDING')
ORDER BY created_at, request_id
""",
    columns=_COLUMNS,
)
# An expired request is checked as long as its provider leaves the checkout open. Uses the index
# payment_requests_claim.
_LIST_EXPIRED_OPEN = compose(
    """
SELECT {columns}
FROM payment_requests
WHERE merchant_id = $1 AND claim_id = $2 AND state = 'EXPIRED' AND next_check_at IS NOT NULL
ORDER BY created_at DESC
LIMIT 3
""",
    columns=_COLUMNS,
)
# Covers all merchants, because a notification does not name the merchant. Uses the unique key
# (provider, provider_reference) and the index provider_ids_by_id.
_LIST_BY_PROVIDER_IDS = """
SELECT merchant_id, request_id
FROM payment_requests
WHERE provider = $1 AND provider_reference = ANY($2::text[])
UNION
SELECT merchant_id, request_id
FROM provider_ids
WHERE provider = $1 AND provider_id = ANY($2::text[])
"""
_INSERT = """
INSERT INTO payment_requests (merchant_id, request_id, claim_id, provider, provider_name,
                              amount_cents, currency, reference, state, created_at, next_check_at,
                              item_ids, sent_on, means)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
# Of several callers that asked the provider at once, only the first stores its answer.
_SAVE_CHECKOUT = """
UPDATE payment_requests
SET state = $3, provider_reference = $4, checkout_url = $5
WHERE merchant_id = $1 AND request_id = $2 AND state = 'CREATED'
RETURNING request_id
"""
# A repeated order has the same id. The request is checked in every state.
_SAVE_COLLECTION = """
UPDATE payment_requests
SET provider_reference = $3, next_check_at = $4
WHERE merchant_id = $1 AND request_id = $2
"""
_SAVE_STATE = """
UPDATE payment_requests
SET state = $3,
    settled_at = CASE WHEN $3 IN ('CREATED', 'OPEN', 'PENDING', 'COLLECTING') THEN NULL
                      ELSE coalesce(settled_at, $4) END,
    next_check_at = CASE WHEN $5 THEN coalesce($6, next_check_at) END
WHERE merchant_id = $1 AND request_id = $2
"""
_SAVE_PROVIDER_IDS = """
INSERT INTO provider_ids (merchant_id, provider, provider_id, request_id)
SELECT $1, $2, provider_id, $3
FROM unnest($4::text[]) AS i (provider_id)
ON CONFLICT DO NOTHING
"""
# Uses primary keys. An earlier time stays.
_MAKE_DUE = """
UPDATE payment_requests r
SET next_check_at = least(r.next_check_at, $1)
FROM unnest($2::integer[], $3::uuid[]) AS d (merchant_id, request_id)
WHERE r.merchant_id = d.merchant_id AND r.request_id = d.request_id
"""
# Steps from one account to the next in the index payment_requests_due.
_LIST_ACCOUNTS = """
WITH RECURSIVE pending AS (
    (SELECT provider, next_check_at
     FROM payment_requests
     WHERE next_check_at IS NOT NULL
     ORDER BY provider, next_check_at
     LIMIT 1)
    UNION ALL
    SELECT following.provider, following.next_check_at
    FROM pending
    CROSS JOIN LATERAL (
        SELECT provider, next_check_at
        FROM payment_requests
        WHERE provider > pending.provider AND next_check_at IS NOT NULL
        ORDER BY provider, next_check_at
        LIMIT 1) following
)
SELECT provider, next_check_at AS due_at FROM pending
"""
# Uses the same index. Rows that another worker has locked are skipped, so no request is checked
# twice at once.
_LOCK_DUE = compose(
    """
SELECT merchant_id, {columns}
FROM payment_requests
WHERE provider = $1 AND next_check_at <= $2
ORDER BY next_check_at
LIMIT $3
FOR NO KEY UPDATE SKIP LOCKED
""",
    columns=_COLUMNS,
)
_SAVE_NEXT_CHECKS = """
UPDATE payment_requests r
SET checks = r.checks + 1, next_check_at = n.next_check_at
FROM unnest($1::integer[], $2::uuid[], $3::timestamptz[])
    AS n (merchant_id, request_id, next_check_at)
WHERE r.merchant_id = n.merchant_id AND r.request_id = n.request_id
"""
_SAVE_REFUND_TIME = """
UPDATE payment_requests
SET refunded_at = $3, next_check_at = least(next_check_at, $4)
WHERE merchant_id = $1 AND request_id = $2
"""
# The debit that the provider collects with a request. Both have the same id. A debit that was
# replaced by another one of its instalment is left out, so that it stays cancelled. Uses primary
# keys and the unique index debit_collections_once.
_FIND_COLLECTED_DEBIT = """
SELECT d.state, d.modality_id, d.instalment, d.due_on,
       coalesce(p.cancel_reason, 'MANDATE_ENDED') AS cancel_reason
FROM debit_collections d
LEFT JOIN provider_debits p ON p.merchant_id = $1 AND p.collection_id = d.collection_id
WHERE d.merchant_id = $1 AND d.collection_id = $2 AND d.provider IS NOT NULL
  AND NOT EXISTS (
      SELECT FROM debit_collections o
      WHERE o.merchant_id = $1 AND o.modality_id = d.modality_id AND o.instalment = d.instalment
        AND o.state <> 'CANCELLED' AND o.collection_id <> d.collection_id)
"""
_SAVE_COLLECTED_DEBIT = """
UPDATE debit_collections
SET state = $3, return_reason = $4, cancel_reason = $5, payment_id = $6, changed_at = $7
WHERE merchant_id = $1 AND collection_id = $2
"""


# Over all merchants. Uses the index payment_requests_due.
_GIVE_UP = """
UPDATE payment_requests
SET next_check_at = NULL,
    state = CASE WHEN state IN ('CREATED', 'OPEN', 'PENDING') THEN 'EXPIRED' ELSE state END,
    settled_at = CASE WHEN state IN ('CREATED', 'OPEN', 'PENDING') THEN $2 ELSE settled_at END
WHERE provider = $1 AND next_check_at IS NOT NULL
"""


async def give_up_requests(tx: Connection, provider: str, now: datetime) -> None:
    """Stop checking the requests of an account, over all merchants, and expire the live ones. Their
    holds end by themselves."""
    await tx.execute(_GIVE_UP, provider, now)


# Uses the primary key.
_LIST_ELSEWHERE = """
SELECT movement_id, kind
FROM payment_movements
WHERE merchant_id = $1 AND provider = $2 AND movement_id = ANY($3::text[])
  AND request_id IS DISTINCT FROM $4
"""
# Uses payment_movements_merchant_id_record_id_key.
_SAVE_REVIEW_REASON = """
UPDATE payment_movements
SET review_reason = $3, reviewed_at = NULL
WHERE merchant_id = $1 AND record_id = $2
"""
# Over all merchants, once after a restore. Uses the index payment_requests_due.
_MAKE_ALL_DUE = """
UPDATE payment_requests
SET next_check_at = $1
WHERE next_check_at > $1
"""


async def list_movements_elsewhere(
    tx: Connection, merchant_id: int, request: StoredPaymentRequest, movement_ids: Sequence[str]
) -> set[tuple[str, str]]:
    """Return the keys (id, kind) of those movements of the request's account that are stored for
    another request."""
    rows = await tx.fetch(
        _LIST_ELSEWHERE, merchant_id, request.provider, list(movement_ids), request.request_id
    )
    return {(row["movement_id"], row["kind"]) for row in rows}


async def save_review_reason(
    tx: Connection, merchant_id: int, record_id: UUID, reason: str
) -> None:
    """Save why staff has to review a stored movement, even if it was reviewed before for another
    reason."""
    await tx.execute(_SAVE_REVIEW_REASON, merchant_id, record_id, reason)


async def make_all_requests_due(tx: Connection, now: datetime) -> None:
    """Make all requests that are to be checked later due now, over all merchants."""
    await tx.execute(_MAKE_ALL_DUE, now)


async def find_request(
    tx: Connection, merchant_id: int, request_id: UUID
) -> StoredPaymentRequest | None:
    row = await tx.fetchrow(_FIND, merchant_id, request_id)
    return None if row is None else _build_request(row)


async def lock_request(
    tx: Connection, merchant_id: int, request_id: UUID
) -> StoredPaymentRequest | None:
    """Lock and return the request, or return None if it does not exist. The claim must be locked
    first."""
    row = await tx.fetchrow(_LOCK, merchant_id, request_id)
    return None if row is None else _build_request(row)


async def list_live_requests(
    tx: Connection, merchant_id: int, claim_id: int
) -> Sequence[StoredPaymentRequest]:
    return [_build_request(row) for row in await tx.fetch(_LIST_LIVE, merchant_id, claim_id)]


async def list_expired_open_requests(
    tx: Connection, merchant_id: int, claim_id: int
) -> Sequence[StoredPaymentRequest]:
    """Return the claim's expired requests whose checkout may still be open: the newest three."""
    rows = await tx.fetch(_LIST_EXPIRED_OPEN, merchant_id, claim_id)
    return [_build_request(row) for row in rows]


async def list_requests_of_provider_ids(
    tx: Connection, provider: str, provider_ids: Sequence[str]
) -> list[RequestKey]:
    """Return the requests (merchant id, request id) that the provider's account names by one of
    these ids. Unknown ids are left out."""
    rows = await tx.fetch(_LIST_BY_PROVIDER_IDS, provider, list(provider_ids))
    return [(row["merchant_id"], row["request_id"]) for row in rows]


async def make_requests_due(tx: Connection, requests: Sequence[RequestKey], at: datetime) -> None:
    """Let the periodic check ask the provider about these requests at this time at the latest."""
    await tx.execute(
        _MAKE_DUE, at, [merchant_id for merchant_id, _ in requests],
        [request_id for _, request_id in requests],
    )  # fmt: skip


async def save_provider_ids(
    tx: Connection, merchant_id: int, request: StoredPaymentRequest, provider_ids: Sequence[str]
) -> None:
    """Save further ids by which notifications name the request's checkout."""
    await tx.execute(
        _SAVE_PROVIDER_IDS, merchant_id, request.provider, request.request_id, list(provider_ids)
    )


async def insert_request(
    tx: Connection, merchant_id: int, request: StoredPaymentRequest, next_check_at: datetime | None
) -> None:
    """Insert a request. `next_check_at` is None for a bank transfer, which has no provider."""
    await tx.execute(
        _INSERT, merchant_id, request.request_id, request.claim_id, request.provider,
        request.provider_name, request.amount_cents, request.currency, request.reference,
        request.state, request.created_at, next_check_at, list(request.item_ids), request.sent_on,
        request.means,
    )  # fmt: skip


async def save_checkout(
    tx: Connection,
    merchant_id: int,
    request_id: UUID,
    state: PaymentRequestState,
    checkout: tuple[str, str],
) -> bool:
    """Store the checkout (the provider's reference and address). Return False if the request is no
    longer CREATED."""
    saved = await tx.fetchval(_SAVE_CHECKOUT, merchant_id, request_id, state, *checkout)
    return saved is not None


async def save_collection(
    tx: Connection, merchant_id: int, request_id: UUID, *, reference: str, next_check_at: datetime
) -> None:
    """Save the provider's id of a payment that it collects (`reference`), and when the payment is
    checked next."""
    await tx.execute(_SAVE_COLLECTION, merchant_id, request_id, reference, next_check_at)


async def save_request_state(  # noqa: PLR0913 - what a change of the state carries
    tx: Connection, merchant_id: int, request_id: UUID, state: PaymentRequestState,
    *, now: datetime, keeps_checking: bool, next_check_at: datetime | None = None,
) -> None:  # fmt: skip
    """Save the state of a request. With `keeps_checking`, its next check is at `next_check_at` or,
    if that is None, at the time that is already stored. Without, the request is not checked
    again."""
    await tx.execute(
        _SAVE_STATE, merchant_id, request_id, state, now, keeps_checking, next_check_at
    )


async def list_accounts_to_check(tx: Connection) -> list[PendingAccount]:
    """Return the accounts whose requests are to be checked, now or later."""
    return [PendingAccount(**row) for row in await tx.fetch(_LIST_ACCOUNTS)]


async def lock_due_requests(
    tx: Connection, provider: str, now: datetime, limit: int
) -> Sequence[tuple[int, StoredPaymentRequest]]:
    """Lock due requests of an account, over all merchants. Return them with their merchant's id."""
    locked = []
    for row in await tx.fetch(_LOCK_DUE, provider, now, limit):
        values = dict(row)
        locked.append((values.pop("merchant_id"), _build_request(values)))
    return locked


async def save_next_checks(
    tx: Connection, next_checks: Mapping[RequestKey, datetime | None]
) -> None:
    """Save when each request is checked next (None: never again), and count this check."""
    await tx.execute(
        _SAVE_NEXT_CHECKS, [merchant_id for merchant_id, _ in next_checks],
        [request_id for _, request_id in next_checks], list(next_checks.values()),
    )  # fmt: skip


async def save_refund_time(
    tx: Connection, merchant_id: int, request_id: UUID, *, now: datetime, next_check_at: datetime
) -> None:
    """Save that a refund was accepted or listed now, and check the request at this time at the
    latest. The claim must be locked."""
    await tx.execute(_SAVE_REFUND_TIME, merchant_id, request_id, now, next_check_at)


def _build_request(row: Mapping[str, Any]) -> StoredPaymentRequest:
    return StoredPaymentRequest(**{**row, "state": PaymentRequestState(row["state"])})


async def open_request_hold(work: Work, request: StoredPaymentRequest, until: datetime) -> None:
    """Open the request's hold on behalf of the debtor.

    Raises ValidationError, and InvalidState if the claim has ended or the debtor opened too many
    holds in 30 days.
    """
    debtor = build_debtor_actor(str(request.request_id))
    await open_hold(
        replace(work, actor=debtor), request.claim_id, HoldKind.PAYMENT_PENDING, until=until
    )


async def lift_request_hold(work: Work, request: StoredPaymentRequest) -> None:
    """Lift the request's hold, if it has one that is not lifted yet."""
    for hold in await load_holds(work.tx, work.merchant_id, request.claim_id):
        is_own_open_hold = hold.actor_id == str(request.request_id) and hold.lifted_at is None
        if is_own_open_hold and hold.kind is HoldKind.PAYMENT_PENDING:
            await lift_holds(work, request.claim_id, hold.kind, hold_id=hold.hold_id)


async def find_collected_debit(tx: Connection, merchant_id: int, request_id: UUID) -> Row | None:
    """Return the debit that the request collects (state, modality_id, instalment, due_on, and the
    cancel_reason that it gets if it is cancelled), or None. A debit that another one has replaced
    is left out."""
    debit: Row | None = await tx.fetchrow(_FIND_COLLECTED_DEBIT, merchant_id, request_id)
    return debit


async def save_collected_debit(  # noqa: PLR0913 - what a result consists of
    tx: Connection, merchant_id: int, request_id: UUID, *, state: str, return_reason: str | None,
    cancel_reason: str | None, payment_id: UUID | None, now: datetime,
) -> None:  # fmt: skip
    """Save the result of the debit that the request collects. The claim must be locked."""
    await tx.execute(
        _SAVE_COLLECTED_DEBIT, merchant_id, request_id, state, return_reason, cancel_reason,
        payment_id, now,
    )  # fmt: skip
