"""Reads the payments and the payment requests of one claim: page by page, the newest first, or one
of them."""

from dataclasses import replace
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import ListedTable
from dunwell.accounts.merchants.newest_of_claim import find_newest_of_claim
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.find_payments import PAYMENTS, REQUESTS, FoundPayments, FoundRequests
from dunwell.cases.payments.store_lists import (
    ListedPayment,
    ListedRequest,
    load_payments,
    load_requests,
)
from dunwell.core.claims.access import check_claim
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.text.cursor import CursorForm

# By the unique key (merchant_id, claim_id, transaction_id).
_PAYMENTS_OF_CLAIM: ListedTable[UUID] = replace(
    PAYMENTS, cursors=CursorForm(b"pyc1", "Q16s", owner_layout="IQ")
)
# Rides on payment_requests_claim.
_REQUESTS_OF_CLAIM: ListedTable[UUID] = replace(
    REQUESTS, cursors=CursorForm(b"prc1", "Q16s", owner_layout="IQ")
)


async def list_payments(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> FoundPayments:
    """Raises NotFound, and ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        found = await find_newest_of_claim(
            work, _PAYMENTS_OF_CLAIM, claim_id, limit=limit, cursor=cursor
        )
        loaded = await load_payments(work.tx, work.merchant_id, found.keys)
    return FoundPayments([loaded[each] for each in found.keys], found.next_cursor)


async def list_payment_requests(
    work: Work, claim_id: int, *, limit: int, cursor: str | None = None
) -> FoundRequests:
    """Raises NotFound, and ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        found = await find_newest_of_claim(
            work, _REQUESTS_OF_CLAIM, claim_id, limit=limit, cursor=cursor
        )
        loaded = await load_requests(work.tx, work.merchant_id, found.keys)
    return FoundRequests([loaded[each] for each in found.keys], found.next_cursor)


async def get_payment(work: Work, claim_id: int, payment_id: UUID) -> ListedPayment:
    """Raises NotFound, in the words of what is missing first."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        found = (await load_payments(work.tx, work.merchant_id, [payment_id])).get(payment_id)
    if found is None or found.payment.claim_id != claim_id:
        raise NotFound(f"There is no payment {payment_id}.")
    return found


async def get_payment_request(work: Work, claim_id: int, request_id: UUID) -> ListedRequest:
    """Raises NotFound, in the words of what is missing first."""
    work.need(Right.READ_CLAIMS)
    async with snapshot(work.tx):
        await check_claim(work, claim_id)
        found = (await load_requests(work.tx, work.merchant_id, [request_id])).get(request_id)
    if found is None or found.request.claim_id != claim_id:
        raise NotFound(f"There is no payment request {request_id}.")
    return found
