"""Send ordered refunds to the providers.

The refunds of one payment are sent one after the other, over all workers, because some providers
refuse two refunds of a payment that are ordered at the same time. A refund waits until the provider
has answered those before it. After a crash, the call is repeated with the same key, so nothing is
refunded twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog
from asyncpg import UniqueViolationError

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.provider import (
    REFUSAL,
    PaymentProviderKeyRejected,
    PaymentProviderRefused,
    PaymentProviders,
)
from dunwell.cases.payments.refunds.refund_payment import get_paid_movement
from dunwell.cases.payments.refunds.store import (
    RefundRefusal,
    RefundState,
    StoredRefund,
    give_up_refunds,
    lease_due_refunds,
    list_accounts_with_refunds,
    save_next_attempt,
    save_refund_state,
    save_refusal,
)
from dunwell.cases.payments.requests.account_rounds import AccountRounds, BatchResult
from dunwell.cases.payments.requests.provider_calls import (
    get_provider,
    report_provider_failures,
)
from dunwell.cases.payments.requests.store import PendingAccount, find_request, save_refund_time
from dunwell.cases.payments.store import StoredPayment, find_payment
from dunwell.contact.messages.templates.formatting import render_line
from dunwell.core.claims.store import lock_claim
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources

# How often the worker looks for waiting orders.
REFUND_SECONDS = 2.0
# An order without an answer is sent again after these delays. The last one repeats.
REPEAT_DELAYS = (timedelta(minutes=5), timedelta(minutes=10))
# The most characters that are kept of what a provider says about a refusal.
_MAX_TEXT = 255

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Why a refund is not made, and what the provider said."""

    reason: RefundRefusal
    text: str | None = None


class RefundOrders:
    """The refunds of each account that are due to be sent; implements `AccountWork`."""

    batch_size = 1

    def __init__(self, resources: Resources, providers: PaymentProviders) -> None:
        self._resources = resources
        self._providers = providers

    async def list_accounts(self, tx: Connection) -> Sequence[PendingAccount]:
        return await list_accounts_with_refunds(tx)

    async def give_up(self, tx: Connection, provider: str) -> None:
        await give_up_refunds(tx, provider)

    async def run_batch(self, provider: str, limit: int) -> BatchResult:
        now = self._resources.clock.now()
        try:
            async with self._resources.database.transaction() as tx:
                due = await lease_due_refunds(
                    tx, provider, now, duration=REPEAT_DELAYS[0], limit=limit
                )
        except UniqueViolationError:
            # Another worker has leased a refund of the same payment at this moment.
            return BatchResult(0)
        sent = [await self._send(merchant_id, refund) for merchant_id, refund in due]
        return BatchResult(len(due), sent.count(False))

    async def _send(self, merchant_id: int, refund: StoredRefund) -> bool:
        """Send one order and record the answer. Return False if the provider gave no usable answer.
        After any failure, which is logged, the order is sent again later."""
        try:
            answer = await self._call_provider(merchant_id, refund)
            await self._record_answer(merchant_id, refund, answer)
        except Refusal as refusal:
            log.warning("refund not sent", refund_id=str(refund.refund_id), error=refusal.type)
            can_continue = False
        except Exception:
            log.exception("refund not sent", refund_id=str(refund.refund_id))
            can_continue = True
        else:
            return True
        delay = REPEAT_DELAYS[min(refund.attempts, len(REPEAT_DELAYS)) - 1]
        async with self._resources.database.transaction() as tx:
            at = self._resources.clock.now() + delay
            await save_next_attempt(tx, merchant_id, refund.refund_id, at)
        return can_continue

    async def _call_provider(self, merchant_id: int, refund: StoredRefund) -> str | _Refusal:
        """Order the refund, and return its id at the provider or why it is not made. Raises
        PaymentProviderUnavailable."""
        provider = get_provider(self._providers, refund.provider)
        async with self._resources.database.transaction() as tx:
            merchant = await load_merchant(tx, merchant_id)
            request = await find_request(tx, merchant_id, refund.request_id)
            payment = await find_payment(tx, merchant_id, refund.claim_id, refund.payment_id)
            assert merchant is not None
            assert payment is not None
            work = Work.open(self._resources, tx, merchant, SYSTEM)
            paid = await get_paid_movement(work, payment)
        if not _is_enough_left(refund, payment):
            log.warning("refund not sent, too little is left", refund_id=str(refund.refund_id))
            # NOTHING_LEFT also stands for a payment of which something, but too little, is left.
            return _Refusal(RefundRefusal.NOTHING_LEFT)
        assert request is not None
        assert request.provider_reference is not None
        try:
            async with report_provider_failures(provider.name, merchant_id):
                return await provider.refund(
                    request.provider_reference, paid.movement, refund.amount_cents,
                    refund.refund_id,
                )  # fmt: skip
        except PaymentProviderKeyRejected:
            if not provider.is_closed:
                raise
            return _Refusal(RefundRefusal.ACCOUNT_CLOSED)
        except PaymentProviderRefused as refused:
            text = render_line(refused.message.removeprefix(REFUSAL))
            return _Refusal(RefundRefusal.PROVIDER, text[:_MAX_TEXT])

    async def _record_answer(
        self, merchant_id: int, refund: StoredRefund, answer: str | _Refusal
    ) -> None:
        """Store the provider's id of the refund, or why it is not made. After an accepted refund,
        the payment request is checked for the refund's movement at once, and often for a while."""
        is_refused = isinstance(answer, _Refusal)
        state = RefundState.REFUSED if is_refused else RefundState.ACCEPTED
        async with self._resources.database.transaction() as tx:
            merchant = await load_merchant(tx, merchant_id)
            assert merchant is not None
            work = Work.open(self._resources, tx, merchant, SYSTEM)
            # Booking locks the claim first as well, so it does not matter in which order the refund
            # and the payment request are changed.
            await lock_claim(tx, merchant_id, refund.claim_id)
            if isinstance(answer, _Refusal):
                await save_refusal(
                    tx, merchant_id, refund.refund_id, answer.reason, text=answer.text
                )
            else:
                await save_refund_state(
                    tx, merchant_id, refund.refund_id, state, provider_refund_id=answer
                )
                now = work.real_now
                await save_refund_time(
                    tx, merchant_id, refund.request_id, now=now, next_check_at=now
                )
            await save_audit(
                work, "payment.refundAnswer", f"claim:{refund.claim_id}",
                after={"state": state}, paymentId=str(refund.payment_id),
                refundId=str(refund.refund_id), state=state,
            )  # fmt: skip


def _is_enough_left(refund: StoredRefund, payment: StoredPayment) -> bool:
    """Return False if the money went back in another way before the order was sent for the first
    time, for example by a chargeback. A later attempt may repeat an order that the provider has
    executed."""
    left_cents = payment.amount_cents - payment.returned_cents
    return refund.attempts > 1 or left_cents >= refund.amount_cents


def open_refund_orders(resources: Resources, providers: PaymentProviders) -> AccountRounds:
    """Return the rounds that send the ordered refunds of each account."""
    return AccountRounds(resources, providers, RefundOrders(resources, providers))
