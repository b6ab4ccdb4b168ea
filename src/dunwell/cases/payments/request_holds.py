"""The hold that a payment request opens: nobody is dunned while its money is under way.

It bears the request's id as its actor's, so that a request that ends lifts its own hold and no
other's. Part of use cases that hold the claim's lock.
"""

from dataclasses import replace
from datetime import datetime

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import debtor_actor
from dunwell.cases.payments.store_requests import PaymentRequest
from dunwell.core.claims.claim_holds import lift_hold, open_hold
from dunwell.core.claims.holds import HoldKind
from dunwell.core.claims.store import load_holds


async def open_request_hold(work: Work, request: PaymentRequest, until: datetime) -> None:
    """As the debtor's. Raises InvalidState (claim ended, too many in 30 days) and
    ValidationError."""
    debtor = debtor_actor(str(request.request_id))
    await open_hold(
        replace(work, actor=debtor), request.claim_id, HoldKind.PAYMENT_PENDING, until=until
    )


async def lift_request_hold(work: Work, request: PaymentRequest) -> None:
    """Nothing changes where the request has opened none, or it was lifted."""
    for hold in await load_holds(work.tx, work.merchant_id, request.claim_id):
        is_its_own = hold.actor_id == str(request.request_id) and hold.lifted_at is None
        if is_its_own and hold.kind is HoldKind.PAYMENT_PENDING:
            await lift_hold(work, request.claim_id, hold.kind, hold_id=hold.hold_id)
