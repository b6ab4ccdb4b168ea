"""Ends announced bank transfers that nobody waits for any more, or that have arrived: part of use
cases that hold the claim's lock.

No provider can be asked about one, so it is waited for as long as its hold stands. Money that
arrives later is recorded all the same.
"""

from collections.abc import Sequence

from dunwell.accounts.merchants.account import Work
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER, RequestState
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    lift_request_hold,
    load_live_requests,
    move_request,
)
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.store import load_holds


async def load_awaited_requests(work: Work, claim_id: int) -> Sequence[StoredPaymentRequest]:
    """The claim's live requests, less a transfer whose hold has fallen, which ends here."""
    live = await load_live_requests(work.tx, work.merchant_id, claim_id)
    transfers = [request for request in live if request.provider == BANK_TRANSFER]
    if not transfers or await _is_waited_for(work, claim_id):
        return live
    for request in transfers:
        await _end(work, request, RequestState.EXPIRED)
    return [request for request in live if request.provider != BANK_TRANSFER]


async def find_arrived(work: Work, claim_id: int, amount_cents: int) -> StoredPaymentRequest | None:
    """The announced transfer that a payment of this amount is, or covers; None: there is none."""
    live = await load_awaited_requests(work, claim_id)
    fits = (each for each in live if each.provider == BANK_TRANSFER)
    return next((each for each in fits if each.amount_cents <= amount_cents), None)


async def complete_transfer(work: Work, request: StoredPaymentRequest) -> None:
    """Its hold falls. The merchant has recorded the money itself, so it is told of no event."""
    await lift_request_hold(work, request)
    await _end(work, request, RequestState.COMPLETED)


async def _end(work: Work, request: StoredPaymentRequest, state: RequestState) -> None:
    await move_request(
        work.tx,
        work.merchant_id,
        request.request_id,
        state,
        now=work.real_now,
        keeps_checking=False,
    )


async def _is_waited_for(work: Work, claim_id: int) -> bool:
    holds = await load_holds(work.tx, work.merchant_id, claim_id)
    return any(hold.kind is HoldKind.PAYMENT_PENDING and hold.stands(work.now) for hold in holds)
