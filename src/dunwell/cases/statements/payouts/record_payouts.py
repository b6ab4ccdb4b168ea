"""Record the payouts that payment providers pay to the merchant's account, or take back from it.
They are known before the statement arrives, so the matching does not mistake them for payments of
debtors."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta

import structlog

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.rights import Right
from dunwell.accounts.merchants.store import load_merchant
from dunwell.cases.payments.provider import (
    PaymentProviderRefused,
    PaymentProviders,
    PaymentProviderUnavailable,
    Payout,
)
from dunwell.cases.statements.payouts.store import insert_payouts, match_entries_again
from dunwell.cases.statements.store import list_merchants_with_accounts
from dunwell.platform.resources import Resources

PAYOUT_SECONDS = 1800.0
# Every turn lists the payouts of this time, because a provider can be unavailable for some days.
_LISTED_SINCE = timedelta(days=14)
_ACCOUNTS_AT_ONCE = 10
# A list of payouts takes several calls.
_LIST_SECONDS = 120

log = structlog.get_logger(__name__)


async def record_payouts(work: Work, provider: str, listed: Sequence[Payout]) -> int:
    """Store the payouts that a provider's account lists, and return how many are new. A payout of 0
    is left out, because no bank has an entry for it. If the statement arrived before the payout was
    known, its entry is matched again."""
    work.require(Right.RECORD_MONEY)
    moving = [each for each in listed if each.amount_cents != 0]
    listed_by_id = {work.ids.new(work.now): each for each in moving}
    new = await insert_payouts(work.tx, work.merchant_id, provider, listed_by_id, now=work.now)
    if new:
        await match_entries_again(work.tx, work.merchant_id, new)
        await save_audit(
            work, "payout.record", f"paymentProvider:{provider}", after={"payouts": len(new)}
        )
    return len(new)


async def fetch_payouts(resources: Resources, providers: PaymentProviders) -> int:
    """Ask the providers of every merchant with a bank account for payouts. Return how many are new.
    A provider that hangs or is away delays no other."""
    async with resources.database.connection() as connection:
        merchant_ids = await list_merchants_with_accounts(connection)
    by_account: dict[str, list[Merchant]] = {}
    for merchant_id in merchant_ids:
        async with resources.database.connection() as connection:
            merchant = await load_merchant(connection, merchant_id)
        assert merchant is not None
        for name in _list_providers(merchant, providers):
            by_account.setdefault(name, []).append(merchant)
    slots = asyncio.Semaphore(_ACCOUNTS_AT_ONCE)

    async def fetch(name: str) -> int:
        async with slots:
            return await _fetch_account(resources, providers, name, by_account[name])

    return sum(await asyncio.gather(*map(fetch, by_account)))


async def _fetch_account(
    resources: Resources, providers: PaymentProviders, name: str, merchants: Sequence[Merchant]
) -> int:
    """Store the payouts of an account for each merchant that uses it. Return how many are new."""
    listed = await _list_payouts(resources, providers, name)
    new = 0
    for merchant in merchants if listed else ():
        async with resources.database.transaction() as tx:
            work = Work.open(resources, tx, merchant, SYSTEM)
            new += await record_payouts(work, name, listed)
    return new


def _list_providers(merchant: Merchant, providers: PaymentProviders) -> list[str]:
    """Return the providers' accounts that the merchant uses and that pay out."""
    payment = merchant.configuration.payment
    named = {each.provider: None for each in payment.methods}
    if payment.direct_debit_provider is not None:
        named[payment.direct_debit_provider] = None
    return [name for name in named if name in providers and providers[name].moves_money]


async def _list_payouts(
    resources: Resources, providers: PaymentProviders, name: str
) -> Sequence[Payout]:
    try:
        async with asyncio.timeout(_LIST_SECONDS):
            return await providers[name].list_payouts(resources.clock.now() - _LISTED_SINCE)
    except (PaymentProviderUnavailable, PaymentProviderRefused, TimeoutError) as error:
        log.warning("payouts not listed", provider=name, error=type(error).__name__)
        return ()
