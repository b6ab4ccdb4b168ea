"""Ends a payment that a debtor has begun and that nobody should wait for any more.

An announced transfer ends, and its hold with it: the process goes on. A checkout that the debtor
has not paid ends too, but the provider is still asked about it, as it can still be paid. Money that
is under way at a provider cannot be called back.
"""

from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.rights import Right
from dunwell.cases.payments.requests.request_states import BANK_TRANSFER, LIVE, RequestState
from dunwell.cases.payments.requests.store import (
    StoredPaymentRequest,
    lift_request_hold,
    load_request,
    lock_request,
    move_request,
)
from dunwell.core.claims.store import lock_claim
from dunwell.platform.errors import InvalidState, NotFound


def is_cancellable(request: StoredPaymentRequest) -> bool:
    is_under_way = request.state is RequestState.PENDING and request.provider != BANK_TRANSFER
    return request.state in LIVE and not is_under_way


async def cancel_request(work: Work, request_id: UUID) -> None:
    """Raises NotFound, and InvalidState for one that has ended or whose money is under way."""
    work.need(Right.RECORD_MONEY)
    known = await load_request(work.tx, work.merchant_id, request_id)
    if known is None:
        raise NotFound(f"There is no payment request {request_id}.")
    await lock_claim(work.tx, work.merchant_id, known.claim_id)
    request = await lock_request(work.tx, work.merchant_id, request_id)
    assert request is not None, "its claim is locked"
    if not is_cancellable(request):
        message = "This payment has ended, or its money is under way. Nothing was done."
        raise InvalidState(message, state=request.state)
    if request.state is RequestState.PENDING:
        await lift_request_hold(work, request)
    await move_request(
        work.tx, work.merchant_id, request_id, RequestState.CANCELLED,
        now=work.real_now, keeps_checking=request.state is RequestState.OPEN,
    )  # fmt: skip
    await save_audit(
        work, "paymentRequest.cancel", f"claim:{request.claim_id}",
        before={"state": request.state}, after={"state": RequestState.CANCELLED},
        paymentRequestId=str(request_id),
    )  # fmt: skip
