"""Finds a merchant's payments over all claims, and its payment requests, the newest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.newest_first import ListedTable, Test, Wanted, find_newest
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.request_states import RequestState
from dunwell.cases.payments.store_lists import (
    ListedPayment,
    ListedRequest,
    load_payments,
    load_requests,
)
from dunwell.platform.database.database import snapshot
from dunwell.platform.errors import NotFound
from dunwell.platform.text.cursor import CursorForm

# Rides on payments_list.
PAYMENTS: ListedTable[UUID] = ListedTable(
    "payments", "payment_id", cast="uuid", at="recorded_at", cursors=CursorForm(b"pay1", "Q16s")
)
# Rides on payment_requests_list; of those whose money is under way on payment_requests_pending.
REQUESTS: ListedTable[UUID] = ListedTable(
    "payment_requests",
    "request_id",
    cast="uuid",
    at="created_at",
    cursors=CursorForm(b"prq1", "Q16s"),
)
# The debtor is done, and the money is under way.
PENDING: Test = ("l.state = 'PENDING'", ())

# As ListedPayment has it; by the primary keys of allocations and claims.
_UNMATCHED = (
    "l.reversed_at IS NULL AND (l.amount_cents > (SELECT coalesce(sum(a.amount_cents), 0)"
    " FROM allocations a WHERE a.merchant_id = l.merchant_id AND a.claim_id = l.claim_id"
    " AND a.payment_id = l.payment_id) OR EXISTS (SELECT FROM claims c"
    " WHERE c.merchant_id = l.merchant_id AND c.claim_id = l.claim_id"
    " AND c.status = 'WITHDRAWN'))"
)


@dataclass(frozen=True, slots=True)
class PaymentFilter:
    """All that is given must hold. Recorded since, inclusive, and until, exclusive."""

    is_reversed: bool | None = None
    provider_name: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    # It stands, and pays more than is owed, or a withdrawn claim (`ListedPayment.is_unmatched`).
    is_unmatched: bool = False


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """All that is given must hold. Created since, inclusive, and until, exclusive: real time."""

    state: RequestState | None = None
    provider: str | None = None
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class FoundPayments:
    """No cursor when these are the last."""

    payments: Sequence[ListedPayment]
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class FoundRequests:
    """No cursor when these are the last."""

    requests: Sequence[ListedRequest]
    next_cursor: str | None


EVERY_PAYMENT, EVERY_REQUEST = PaymentFilter(), RequestFilter()


async def find_payments(
    work: Work, *, limit: int, cursor: str | None = None, wanted: PaymentFilter = EVERY_PAYMENT,
    oldest_first: bool = False,
) -> FoundPayments:  # fmt: skip
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    filters = tuple(_list_payment_filters(wanted))
    narrowed: Wanted[UUID] = Wanted(
        filters=filters, since=wanted.since, until=wanted.until,
        oldest_first=oldest_first,
    )  # fmt: skip
    async with snapshot(work.tx):
        found = await find_newest(work, PAYMENTS, narrowed, limit=limit, cursor=cursor)
        loaded = await load_payments(work.tx, work.merchant_id, found.keys)
    return FoundPayments([loaded[each] for each in found.keys], found.next_cursor)


async def read_payment(work: Work, payment_id: UUID) -> ListedPayment:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = await load_payments(work.tx, work.merchant_id, [payment_id])
    if payment_id not in found:
        raise NotFound(f"There is no payment {payment_id}.")
    return found[payment_id]


async def read_payment_request(work: Work, request_id: UUID) -> ListedRequest:
    """Raises NotFound."""
    work.need(Right.READ_CLAIMS)
    found = await load_requests(work.tx, work.merchant_id, [request_id])
    if request_id not in found:
        raise NotFound(f"There is no payment request {request_id}.")
    return found[request_id]


async def find_payment_requests(
    work: Work, *, limit: int, cursor: str | None = None, wanted: RequestFilter = EVERY_REQUEST,
    oldest_first: bool = False,
) -> FoundRequests:  # fmt: skip
    """Raises ValidationError for a bad cursor."""
    work.need(Right.READ_CLAIMS)
    is_pending = wanted.state is RequestState.PENDING
    narrowed: Wanted[UUID] = Wanted(
        seek=(PENDING,) if is_pending else (), filters=tuple(_list_request_filters(wanted)),
        since=wanted.since, until=wanted.until, oldest_first=oldest_first,
    )  # fmt: skip
    async with snapshot(work.tx):
        found = await find_newest(work, REQUESTS, narrowed, limit=limit, cursor=cursor)
        loaded = await load_requests(work.tx, work.merchant_id, found.keys)
    return FoundRequests([loaded[each] for each in found.keys], found.next_cursor)


def _list_payment_filters(wanted: PaymentFilter) -> Iterator[Test]:
    if wanted.is_reversed is not None:
        yield "(l.reversed_at IS NOT NULL) = {}", (wanted.is_reversed,)
    if wanted.is_unmatched:
        yield _UNMATCHED, ()
    if wanted.provider_name is not None:
        yield "l.provider_name = {}", (wanted.provider_name,)


def _list_request_filters(wanted: RequestFilter) -> Iterator[Test]:
    if wanted.state is not None:
        yield "l.state = {}", (wanted.state,)
    if wanted.provider is not None:
        yield "l.provider = {}", (wanted.provider,)
