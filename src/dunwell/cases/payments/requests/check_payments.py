"""The periodic check of payment requests at their providers.

Each check first saves the time of the next one. A crash therefore costs one check, and two workers
never check the same request at once. A request whose provider gave no answer is checked again soon,
even if its next regular check is a month away.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog

from dunwell.cases.payments.provider import PaymentProviders
from dunwell.cases.payments.requests.account_rounds import AccountRounds, BatchResult
from dunwell.cases.payments.requests.request_states import (
    PaymentRequestState,
    decide_next_check,
    decide_next_return_check,
)
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.store import (
    PendingAccount,
    RequestKey,
    StoredPaymentRequest,
    give_up_requests,
    list_accounts_to_check,
    lock_due_requests,
    make_requests_due,
    save_next_checks,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import NotFound, Refusal
from dunwell.platform.resources import Resources

# How long the worker waits before it looks for due checks again. A request is due at most once a
# minute, unless a notification makes it due.
PAYMENT_SECONDS = 5.0
_CALLS_PER_ACCOUNT = 5
# A check without an answer is repeated after this time. It is shorter than `QUIET_PERIOD`, after
# which an alert ends if its condition is not found again.
_REPEAT_AFTER = timedelta(minutes=10)

log = structlog.get_logger(__name__)


class PaymentChecks:
    """The requests of each account that are due for a check; implements `AccountWork`."""

    batch_size = _CALLS_PER_ACCOUNT

    def __init__(self, resources: Resources, providers: PaymentProviders) -> None:
        self._resources = resources
        self._providers = providers

    async def list_accounts(self, tx: Connection) -> Sequence[PendingAccount]:
        return await list_accounts_to_check(tx)

    async def give_up(self, tx: Connection, provider: str) -> None:
        await give_up_requests(tx, provider, self._resources.clock.now())

    async def run_batch(self, provider: str, limit: int) -> BatchResult:
        now = self._resources.clock.now()
        async with self._resources.database.transaction() as tx:
            due = await lock_due_requests(tx, provider, now, limit)
            next_checks = {
                (merchant_id, request.request_id): _decide_next_check(request, now)
                for merchant_id, request in due
            }
            await save_next_checks(tx, next_checks)
        answered = await asyncio.gather(*(self._check(key) for key in next_checks))
        return BatchResult(len(next_checks), answered.count(False))

    async def _check(self, key: RequestKey) -> bool:
        """Check one request. Return False if its provider gave no usable answer. A failure is
        logged, so that it does not stop the others, and the check is repeated soon."""
        merchant_id, request_id = key
        try:
            await settle_payment(self._resources, self._providers, merchant_id, request_id)
        except NotFound:
            # The request was deleted with its claim.
            return True
        except Refusal as refusal:
            log.warning(
                "payment request not checked",
                payment_request_id=str(request_id),
                error=refusal.type,
            )
            can_continue = False
        except Exception:
            log.exception("payment request check failed", payment_request_id=str(request_id))
            can_continue = True
        else:
            return True
        async with self._resources.database.transaction() as tx:
            await make_requests_due(tx, [key], self._resources.clock.now() + _REPEAT_AFTER)
        return can_continue


def open_payment_checks(resources: Resources, providers: PaymentProviders) -> AccountRounds:
    """Return the rounds that check the payment requests of each account."""
    return AccountRounds(resources, providers, PaymentChecks(resources, providers))


def _decide_next_check(request: StoredPaymentRequest, now: datetime) -> datetime | None:
    if request.state is PaymentRequestState.COMPLETED and request.settled_at is not None:
        return decide_next_return_check(request.settled_at, request.refunded_at, now)
    return decide_next_check(request.created_at, request.checks + 1, now)
