"""List movements of money and refunds, newest first, all of a merchant's or those of one claim.
`review_money` decides which of them staff has to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.movements import PaymentMovement
from dunwell.cases.payments.refunds.store import ListedRefund, load_refunds
from dunwell.cases.payments.store import build_movement
from dunwell.core.claims.access import check_claim_exists
from dunwell.platform.database.database import Connection, snapshot
from dunwell.platform.database.listed_table import ListedTable, ListPage, NarrowIndex
from dunwell.platform.database.lists import list_page
from dunwell.platform.database.sql import compose

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
    movements = {}
    for row in await tx.fetch(_LOAD, merchant_id, list(record_ids)):
        values = dict(row)
        reference = values.pop("reference_number")
        movements[row["record_id"]] = ListedMovement(build_movement(values), reference)
    return movements


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


@dataclass(frozen=True, slots=True)
class RefundFilter:
    # Only refunds that staff has to look at: those that were refused, and those that were ordered
    # before this time (real time) and are not made.
    to_review: datetime | None = None


_NOT_MADE = "l.state IN ('CREATED', 'ACCEPTED', 'REFUSED') AND l.reviewed_at IS NULL"
REFUNDS: ListedTable[RefundFilter, UUID, ListedRefund] = ListedTable(
    name="refunds",
    table="payment_refunds",
    key="refund_id",
    key_type="uuid",
    index="payment_refunds_list",
    narrow_indexes=(
        NarrowIndex(
            "payment_refunds_review",
            _NOT_MADE,
            lambda wanted: () if wanted.to_review is not None else None,
        ),
    ),
    at="created_at",
    filter=RefundFilter,
    filters={"to_review": f"{_NOT_MADE} AND (l.state = 'REFUSED' OR l.created_at < {{}})"},
    load=load_refunds,
)
_REFUNDS_OF_CLAIM = REFUNDS.within("claim_id", name="claim refunds", index="payment_refunds_claim")
ALL_MOVEMENTS, ALL_REFUNDS = MovementFilter(), RefundFilter()


async def list_movements(
    work: Work, *, limit: int, cursor: str | None = None, wanted: MovementFilter = ALL_MOVEMENTS,
    oldest_first: bool = False,
) -> ListPage[ListedMovement]:  # fmt: skip
    """List the merchant's movements. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), MOVEMENTS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def list_claim_movements(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedMovement]:
    """List the movements of a claim. Raises NotFound, and ValidationError for an invalid
    cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(
            scope, _MOVEMENTS_OF_CLAIM, ALL_MOVEMENTS, limit=limit, cursor=cursor
        )


async def list_claim_refunds(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedRefund]:
    """List the refunds of a claim's payments, newest first. Raises NotFound, and ValidationError
    for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _REFUNDS_OF_CLAIM, ALL_REFUNDS, limit=limit, cursor=cursor)
