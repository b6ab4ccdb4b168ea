"""Order debits from their providers, and cancel them there.

`plan_collections` writes a row for each order. A worker leases the row, calls the provider with the
id of the debit as the idempotency key, and records the answer. If the worker dies in between,
another one repeats the call and gets the same payment for the same key: no debit is ordered twice.
The result is booked like that of any other payment request.
"""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import date, timedelta

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.direct_debit.debit_values import RESULT_WITHIN, CollectionState
from dunwell.cases.direct_debit.provider_records.store import (
    ProviderDebit,
    finish_debit,
    give_up_debits,
    lease_debits,
    list_accounts_with_debits,
    save_accepted_debit,
)
from dunwell.cases.direct_debit.store import load_collections
from dunwell.cases.modalities.store import save_awaited_day
from dunwell.cases.payments.book_movements import RequestSettlement
from dunwell.cases.payments.mandate_provider import (
    CollectionRequest,
    MandateProvider,
    ProviderMandateStatus,
    find_mandate_provider,
)
from dunwell.cases.payments.provider import (
    CheckoutState,
    CheckoutStatus,
    PaymentProviderKeyRejected,
    PaymentProviderRefused,
    PaymentProviders,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.requests.account_rounds import AccountRounds, BatchResult
from dunwell.cases.payments.requests.provider_calls import report_provider_failures
from dunwell.cases.payments.requests.request_states import decide_next_check
from dunwell.cases.payments.requests.settle_payment import record_checkout_state, settle_payment
from dunwell.cases.payments.requests.store import (
    PendingAccount,
    lock_request,
    save_collection,
)
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.platform.database.database import Connection
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources

# How often the worker looks for debits to order or cancel.
COLLECT_SECONDS = 2.0
# A call that gave no answer is repeated after this time. It is longer than a call can take, so that
# no two workers order the same debit at once.
_LEASE = timedelta(minutes=5)
_CALLS_PER_ACCOUNT = 5

log = structlog.get_logger(__name__)


class DebitOrders:
    """The debits of each account that are to be ordered or cancelled; implements `AccountWork`."""

    batch_size = _CALLS_PER_ACCOUNT

    def __init__(self, resources: Resources, providers: PaymentProviders) -> None:
        self._resources = resources
        self._providers = providers

    async def list_accounts(self, tx: Connection) -> Sequence[PendingAccount]:
        return await list_accounts_with_debits(tx)

    async def give_up(self, tx: Connection, provider: str) -> None:
        await give_up_debits(tx, provider)

    async def run_batch(self, provider: str, limit: int) -> BatchResult:
        async with self._resources.database.transaction() as tx:
            leased = await lease_debits(
                tx, provider, self._resources.clock.now(), duration=_LEASE, limit=limit
            )
        answered = await asyncio.gather(*map(self._call, leased))
        return BatchResult(len(leased), answered.count(False))

    async def _call(self, debit: ProviderDebit) -> bool:
        """Call the provider for one debit. Return False if the provider gave no usable answer.
        After any failure, the call is repeated when the lease ends."""
        try:
            await self._order_or_cancel(debit)
        except Refusal as refusal:
            log.warning(
                "debit not ordered", collection_id=str(debit.collection_id), error=refusal.type
            )
            return False
        except Exception:
            log.exception("debit order failed", collection_id=str(debit.collection_id))
        return True

    async def _order_or_cancel(self, debit: ProviderDebit) -> None:
        provider = find_mandate_provider(self._providers, debit.provider)
        if provider is None:
            raise PaymentProviderUnavailable("The payment provider is not installed here.")
        is_ordered = debit.state is CollectionState.RELEASED
        # A debit that was ordered before the account was closed may already be at the provider.
        if debit.cancel_reason is not None or (is_ordered and provider.is_closed):
            try:
                await _cancel(self._resources, self._providers, provider, debit)
            except PaymentProviderKeyRejected:
                if not provider.is_closed:
                    raise
                await _give_up(self._resources, debit)
        elif is_ordered:
            await _order(self._resources, provider, debit)
        else:
            async with self._resources.database.transaction() as tx:
                await finish_debit(tx, debit, self._resources.clock.now())


def open_debit_orders(resources: Resources, providers: PaymentProviders) -> AccountRounds:
    """Return the rounds that order and cancel the debits of each account."""
    return AccountRounds(resources, providers, DebitOrders(resources, providers))


async def _order(resources: Resources, provider: MandateProvider, debit: ProviderDebit) -> None:
    async with report_provider_failures(provider.name, debit.merchant_id):
        mandate = await provider.fetch_mandate(debit.provider_mandate_id)
    due_on = max(debit.collected_on, mandate.next_collection_on or debit.collected_on)
    payment_reference = await _collect(
        provider, debit, due_on, is_active=mandate.status is ProviderMandateStatus.ACTIVE
    )
    if payment_reference is None:
        await _record_cancelled(resources, debit)
        return
    async with resources.database.transaction() as tx:
        settlement = await _lock(resources, tx, debit)
        work = settlement.work
        now = work.real_now
        await save_collection(
            tx, debit.merchant_id, debit.collection_id, reference=payment_reference,
            next_check_at=decide_next_check(now, 0, now),
        )  # fmt: skip
        await save_accepted_debit(
            tx, debit.merchant_id, debit.collection_id, collected_on=due_on, now=work.now
        )
        (collection,) = await load_collections(tx, debit.merchant_id, [debit.collection_id])
        await save_awaited_day(
            tx, debit.merchant_id, collection.modality_id, collection.instalment,
            awaited_on=due_on + RESULT_WITHIN,
        )  # fmt: skip
        await finish_debit(tx, debit, now)
        await save_audit(
            work, "debit.accept", f"claim:{debit.claim_id}",
            before={"state": CollectionState.RELEASED}, after={"state": CollectionState.DELIVERED},
            collectionId=str(debit.collection_id),
        )  # fmt: skip


async def _collect(
    provider: MandateProvider, debit: ProviderDebit, due_on: date, *, is_active: bool
) -> str | None:
    """Order a debit and return its id at the provider. If the mandate is not active (`is_active`)
    or the provider refuses the order, return the id from an earlier call whose answer was lost, or
    None if the provider does not have the debit."""
    if is_active:
        request = CollectionRequest(
            debit.collection_id, debit.provider_mandate_id,
            amount_cents=debit.amount_cents, currency=debit.currency, due_on=due_on,
            description=debit.reference,
        )  # fmt: skip
        with contextlib.suppress(PaymentProviderRefused):
            async with report_provider_failures(provider.name, debit.merchant_id):
                return await provider.collect(request)
    async with report_provider_failures(provider.name, debit.merchant_id):
        return await provider.find_collection(debit.provider_mandate_id, debit.collection_id)


async def _cancel(
    resources: Resources, providers: PaymentProviders, provider: MandateProvider,
    debit: ProviderDebit,
) -> None:  # fmt: skip
    """Cancel a debit at its provider. If it is too late for that, the debit's result is awaited."""
    async with report_provider_failures(provider.name, debit.merchant_id):
        reference = debit.payment_reference or await provider.find_collection(
            debit.provider_mandate_id, debit.collection_id
        )
        if reference is not None:
            await provider.cancel_collection(reference)
    if reference is None:
        await _record_cancelled(resources, debit)
        return
    async with resources.database.transaction() as tx:
        work = (await _lock(resources, tx, debit)).work
        await save_collection(
            tx, debit.merchant_id, debit.collection_id, reference=reference,
            next_check_at=work.real_now,
        )  # fmt: skip
        await finish_debit(tx, debit, work.real_now)
    await settle_payment(resources, providers, debit.merchant_id, debit.collection_id)


async def _give_up(resources: Resources, debit: ProviderDebit) -> None:
    """Record that the provider can no longer be called for a debit. If the provider has the debit,
    it may still be collected, and its result will not become known here."""
    if debit.payment_reference is None:
        await _record_cancelled(resources, debit)
        return
    async with resources.database.transaction() as tx:
        await finish_debit(tx, debit, resources.clock.now())


async def _record_cancelled(resources: Resources, debit: ProviderDebit) -> None:
    """Record a debit that the provider does not have and will not get."""
    async with resources.database.transaction() as tx:
        settlement = await _lock(resources, tx, debit)
        await record_checkout_state(settlement, CheckoutState(CheckoutStatus.CANCELLED))
        await finish_debit(tx, debit, settlement.work.real_now)


async def _lock(resources: Resources, tx: Connection, debit: ProviderDebit) -> RequestSettlement:
    """Lock the claim and the request of a debit."""
    merchant = await load_merchant(tx, debit.merchant_id)
    assert merchant is not None, "the debit belongs to the merchant"
    work = Work.open(resources, tx, merchant, SYSTEM)
    claim = await lock_claim_of_merchant(work, debit.claim_id)
    request = await lock_request(tx, debit.merchant_id, debit.collection_id)
    assert request is not None, "the request was inserted when the debit was ordered"
    return RequestSettlement(work, claim, request)
