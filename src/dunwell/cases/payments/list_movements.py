"""List movements of money, newest first, all of a merchant's or those of one claim; list a claim's
refunds; and record that staff has looked at a movement."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.movements import PaymentMovement
from dunwell.cases.payments.refunds.store import StoredRefund, load_refunds
from dunwell.cases.payments.requests.store import make_requests_due
from dunwell.cases.payments.store import build_movement
from dunwell.core.claims.access import check_claim_exists
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage, NarrowIndex, NoFilter
from dunwell.platform.database.lists import list_page
from dunwell.platform.database.sql import compose
from dunwell.platform.errors import InvalidState, NotFound

# Uses payment_movements_merchant_id_record_id_key, and the primary key of claims.
_LOAD = compose(
    """
SELECT {columns}, c.reference_number
FROM payment_movements m
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = m.claim_id
WHERE m.merchant_id = $1 AND m.record_id = ANY($2::uuid[])
""",
    columns=", ".join(f"m.{each.name}" for each in fields(PaymentMovement)),
)
# Uses the same key.
_SAVE_REVIEWED = """
UPDATE payment_movements
SET reviewed_at = $3
WHERE merchant_id = $1 AND record_id = $2 AND review_reason IS NOT NULL AND reviewed_at IS NULL
RETURNING record_id
"""
_NEEDS_REVIEW = "l.review_reason IS NOT NULL AND l.reviewed_at IS NULL"


@dataclass(frozen=True, slots=True)
class ListedMovement:
    movement: PaymentMovement
    # The claim's reference number.
    reference_number: str


@dataclass(frozen=True, slots=True)
class MovementFilter:
    """All given conditions must match. `since` (inclusive) and `until` (exclusive) apply to the
    time of recording."""

    # The name of the provider's account.
    account: str | None = None
    kind: str | None = None
    needs_review: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


async def load_movements(
    tx: Connection, merchant_id: int, record_ids: Sequence[UUID]
) -> Mapping[UUID, ListedMovement]:
    """Return the movements by id, each with its claim."""
    found = {}
    for row in await tx.fetch(_LOAD, merchant_id, list(record_ids)):
        values = dict(row)
        reference = values.pop("reference_number")
        found[row["record_id"]] = ListedMovement(build_movement(values), reference)
    return found


MOVEMENTS: ListedTable[MovementFilter, UUID, ListedMovement] = ListedTable(
    name="movements",
    table="payment_movements",
    key="record_id",
    key_type="uuid",
    index="payment_movements_list",
    narrow_indexes=(
        NarrowIndex(
            "payment_movements_review",
            _NEEDS_REVIEW,
            lambda wanted: () if wanted.needs_review else None,
            covers=("needs_review",),
        ),
    ),
    at="recorded_at",
    filter=MovementFilter,
    filters={
        "account": "l.provider = {}",
        "kind": "l.kind = {}",
        "needs_review": f"({_NEEDS_REVIEW}) = {{}}",
    },
    load=load_movements,
)
_MOVEMENTS_OF_CLAIM = MOVEMENTS.within(
    "claim_id", name="claim movements", index="payment_movements_claim"
)
_REFUNDS: ListedTable[NoFilter, UUID, StoredRefund] = ListedTable(
    name="refunds",
    table="payment_refunds",
    key="refund_id",
    key_type="uuid",
    index="payment_refunds_list",
    filter=NoFilter,
    load=load_refunds,
)
_REFUNDS_OF_CLAIM = _REFUNDS.within("claim_id", name="claim refunds", index="payment_refunds_claim")
ALL_MOVEMENTS = MovementFilter()


async def list_movements(
    work: Work, *, limit: int, cursor: str | None = None, wanted: MovementFilter = ALL_MOVEMENTS,
    oldest_first: bool = False,
) -> ListPage[ListedMovement]:  # fmt: skip
    """Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), MOVEMENTS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def list_claim_movements(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedMovement]:
    """Raises NotFound, and ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(
            scope, _MOVEMENTS_OF_CLAIM, ALL_MOVEMENTS, limit=limit, cursor=cursor
        )


async def list_claim_refunds(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[StoredRefund]:
    """List the refunds of a claim's payments, newest first. Raises NotFound, and ValidationError
    for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _REFUNDS_OF_CLAIM, NoFilter(), limit=limit, cursor=cursor)


async def review_movement(work: Work, record_id: UUID) -> ListedMovement:
    """Record that staff has looked at a movement, and return it. For a movement that was reviewed
    nothing changes. Raises NotFound; InvalidState: it needs no review."""
    work.require(Right.RECORD_MONEY)
    is_changed = await work.tx.fetchval(_SAVE_REVIEWED, work.merchant_id, record_id, work.now)
    listed = (await load_movements(work.tx, work.merchant_id, [record_id])).get(record_id)
    if listed is None:
        raise NotFound(f"There is no movement {record_id}.")
    movement = listed.movement
    if movement.review_reason is None:
        raise InvalidState("This movement needs no review.", state="NO_REVIEW")
    if is_changed is not None:
        await save_audit(
            work, "payment.reviewMovement", f"claim:{movement.claim_id}",
            before={"reviewedAt": None}, after={"reviewedAt": work.now.isoformat()},
            movementId=str(record_id), kind=movement.kind, reason=movement.review_reason,
        )  # fmt: skip
        if movement.request_id is not None:
            # Its payment request can end now.
            requests = [(work.merchant_id, movement.request_id)]
            await make_requests_due(work.tx, requests, work.real_now)
    return listed
