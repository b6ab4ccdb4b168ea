"""List payments and payment requests, newest first: all of a merchant's, or those of one claim."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.movements import PaymentMovement
from dunwell.cases.payments.refunds.store import StoredRefund, list_claim_refunds
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.store import (
    ListedPayment,
    ListedPaymentRequest,
    list_payment_movements,
    load_listed_payments,
    load_listed_requests,
)
from dunwell.core.claims.access import check_claim_exists
from dunwell.platform.database.database import snapshot
from dunwell.platform.database.listed_table import (
    ListedTable,
    ListPage,
    ListScope,
    NarrowIndex,
    Test,
)
from dunwell.platform.database.lists import list_page
from dunwell.platform.errors import NotFound

# The condition of `ListedPayment.is_unmatched` in SQL. Uses the primary keys of allocations and
# claims.
_UNALLOCATED = (
    "l.reversed_at IS NULL AND (l.amount_cents - l.returned_cents >"
    " (SELECT coalesce(sum(a.amount_cents), 0)"
    " FROM allocations a WHERE a.merchant_id = l.merchant_id AND a.claim_id = l.claim_id"
    " AND a.payment_id = l.payment_id) OR EXISTS (SELECT FROM claims c"
    " WHERE c.merchant_id = l.merchant_id AND c.claim_id = l.claim_id"
    " AND c.status = 'WITHDRAWN'))"
)
# Uses the index payment_movements_claim.
_RECEIVED_BY_PROVIDER = (
    "EXISTS (SELECT FROM payment_movements m WHERE m.merchant_id = l.merchant_id"
    " AND m.claim_id = l.claim_id AND m.payment_id = l.payment_id AND m.kind = 'PAID'"
    " AND m.provider = {})"
)
# Uses the index bank_matches_claim and the primary key of bank_transactions.
_RECEIVED_BY_BANK = (
    "EXISTS (SELECT FROM bank_matches b JOIN bank_transactions t ON t.merchant_id = b.merchant_id"
    " AND t.entry_id = b.entry_id AND t.number = b.number WHERE b.merchant_id = l.merchant_id"
    " AND b.claim_id = l.claim_id AND b.payment_id = l.payment_id AND t.account = {})"
)
_BANK = "bank:"


def _list_account_tests(account: str, _: ListScope) -> list[Test]:
    """Return the SQL test for the account. The name of a bank account begins with `bank:`, as in
    movements."""
    if account.startswith(_BANK):
        return [(_RECEIVED_BY_BANK, (account.removeprefix(_BANK),))]
    return [(_RECEIVED_BY_PROVIDER, (account,))]


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """All given conditions must match. `since` (inclusive) and `until` (exclusive) apply to the
    time of recording."""

    is_reversed: bool | None = None
    provider_name: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    # The name of the account at a provider or bank that received the payments.
    account: str | None = None
    # True selects only payments for which `ListedPayment.is_unmatched` is true.
    is_unmatched: bool = False


@dataclass(frozen=True, slots=True)
class PaymentRequestFilter:
    """All given conditions must match. `since` (inclusive) and `until` (exclusive) apply to the
    time of creation, in real time."""

    state: PaymentRequestState | None = None
    provider_name: str | None = None
    since: datetime | None = None
    until: datetime | None = None


PAYMENTS: ListedTable[PaymentFilter, UUID, ListedPayment] = ListedTable(
    name="payments",
    table="payments",
    key="payment_id",
    key_type="uuid",
    index="payments_list",
    at="recorded_at",
    filter=PaymentFilter,
    filters={
        "is_reversed": "(l.reversed_at IS NOT NULL) = {}",
        "provider_name": "l.provider_name = {}",
        "account": _list_account_tests,
        "is_unmatched": lambda is_asked, _: [(_UNALLOCATED, ())] if is_asked else [],
    },
    load=load_listed_payments,
)
PAYMENT_REQUESTS: ListedTable[PaymentRequestFilter, UUID, ListedPaymentRequest] = ListedTable(
    name="requests",
    table="payment_requests",
    key="request_id",
    key_type="uuid",
    index="payment_requests_list",
    narrow_indexes=(
        NarrowIndex(
            "payment_requests_pending",
            "l.state = 'PENDING'",
            lambda wanted: () if wanted.state is PaymentRequestState.PENDING else None,
            covers=("state",),
        ),
    ),
    at="created_at",
    filter=PaymentRequestFilter,
    filters={"state": "l.state = {}", "provider_name": "l.provider_name = {}"},
    load=load_listed_requests,
)
_PAYMENTS_OF_CLAIM = PAYMENTS.within(
    "claim_id", name="claim payments", index="payments_merchant_id_claim_id_transaction_id_key"
)
_REQUESTS_OF_CLAIM = PAYMENT_REQUESTS.within(
    "claim_id", name="claim requests", index="payment_requests_claim"
)
ALL_PAYMENTS, ALL_PAYMENT_REQUESTS = PaymentFilter(), PaymentRequestFilter()


async def list_payments(
    work: Work, *, limit: int, cursor: str | None = None, wanted: PaymentFilter = ALL_PAYMENTS,
    oldest_first: bool = False,
) -> ListPage[ListedPayment]:  # fmt: skip
    """List the merchant's payments. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(), PAYMENTS, wanted, limit=limit, cursor=cursor, oldest_first=oldest_first
    )


async def list_payment_requests(
    work: Work, *, limit: int, cursor: str | None = None,
    wanted: PaymentRequestFilter = ALL_PAYMENT_REQUESTS,
    oldest_first: bool = False,
) -> ListPage[ListedPaymentRequest]:  # fmt: skip
    """List the merchant's payment requests. Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await list_page(
        work.scope(),
        PAYMENT_REQUESTS,
        wanted,
        limit=limit,
        cursor=cursor,
        oldest_first=oldest_first,
    )


async def list_claim_payments(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedPayment]:
    """List the payments of a claim. Raises NotFound, and ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(scope, _PAYMENTS_OF_CLAIM, ALL_PAYMENTS, limit=limit, cursor=cursor)


async def list_claim_payment_requests(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> ListPage[ListedPaymentRequest]:
    """List the payment requests of a claim. Raises NotFound, and ValidationError for an invalid
    cursor."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim_exists(work, claim_id)
        scope = work.scope(claim_id)
        return await list_page(
            scope, _REQUESTS_OF_CLAIM, ALL_PAYMENT_REQUESTS, limit=limit, cursor=cursor
        )


async def get_payment(
    work: Work, payment_id: UUID, *, claim_id: int | None = None
) -> ListedPayment:
    """Return the payment; with `claim_id`, only if it belongs to this claim.

    Raises NotFound. If claim and payment are missing, the message names the claim.
    """
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        if claim_id is not None:
            await check_claim_exists(work, claim_id)
        listed = (await load_listed_payments(work.tx, work.merchant_id, [payment_id])).get(
            payment_id
        )
    if listed is None or claim_id not in (None, listed.payment.claim_id):
        raise NotFound(f"There is no payment {payment_id}.")
    return listed


@dataclass(frozen=True, slots=True)
class PaymentHistory:
    """The movements of one payment, and the refunds of it that were ordered, each in the order in
    which they were recorded."""

    movements: Sequence[PaymentMovement]
    refunds: Sequence[StoredRefund]


async def get_payment_history(work: Work, payment_id: UUID) -> PaymentHistory:
    """Return the movements and refunds of a payment. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        payment = (await get_payment(work, payment_id)).payment
        movements = await list_payment_movements(work.tx, work.merchant_id, payment)
        refunds = await list_claim_refunds(work.tx, work.merchant_id, payment.claim_id)
    return PaymentHistory(movements, [each for each in refunds if each.payment_id == payment_id])


async def get_payment_request(
    work: Work, request_id: UUID, *, claim_id: int | None = None
) -> ListedPaymentRequest:
    """Return the payment request; with `claim_id`, only if it belongs to this claim.

    Raises NotFound. If claim and request are missing, the message names the claim.
    """
    work.require(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        if claim_id is not None:
            await check_claim_exists(work, claim_id)
        listed = (await load_listed_requests(work.tx, work.merchant_id, [request_id])).get(
            request_id
        )
    if listed is None or claim_id not in (None, listed.request.claim_id):
        raise NotFound(f"There is no payment request {request_id}.")
    return listed
