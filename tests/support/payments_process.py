"""A part of the service that moves money, in its own process, which a test kills.

Arguments: the role, the merchant's id, the origins of the fake Stripe and the fake GoCardless, and
a number that makes the choices. The role `web` starts payments of random claims, opens and checks
mandates of random plans, and checks random payment requests, as the debtor's page, the debtor's
return and notifications do. The role `worker` runs the periodic checks, plans and orders debits,
and sends refunds. Each writes a file `<number>.working` when it has done something once.
"""

import asyncio
import contextlib
import random
import sys
from datetime import UTC, datetime

import structlog

from dunwell.accounts.installation.payment_providers import StripeAccount
from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.merchant import Merchant
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.cases.direct_debit.plan_collections import plan_collections
from dunwell.cases.direct_debit.providers.collect_debits import DebitOrders
from dunwell.cases.direct_debit.providers.settle_mandates import (
    MandateChecks,
    MandatePageRequest,
    open_mandate_page,
    settle_open_mandate,
)
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.cases.payments.requests.account_rounds import AccountRounds
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.start_payment import PaymentIntent, start_payment
from dunwell.core.claims.store import load_items
from dunwell.platform.clock import Clock, SystemClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database, Row
from dunwell.platform.errors import InvalidState, NotFound, Refusal
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.fake_providers import WEBHOOK_SECRET
from tests.support.payments import send_refunds, sweep_requests
from tests.support.provider_plans import build_gocardless

ACCOUNT = "cards"
_PLANS = """
SELECT claim_id, modality_id FROM payment_modalities WHERE merchant_id = $1 AND ended_at IS NULL
"""
_CLAIMS = "SELECT claim_id FROM claims WHERE merchant_id = $1"
_REQUESTS = "SELECT request_id FROM payment_requests WHERE merchant_id = $1"
# Makes everything due at once. Only one worker runs, so no other worker's leases are ended.
_MAKE_DUE = tuple(
    f"UPDATE {table} SET {column} = $2 WHERE merchant_id = $1 AND {column} > $2"
    for table, column in (
        ("payment_requests", "next_check_at"), ("provider_mandates", "next_check_at"),
        ("provider_debits", "next_attempt_at"), ("mandates", "check_at"),
    )
)  # fmt: skip


def build_stripe(origin: str, webhook_secret: str, clock: Clock) -> StripeProvider:
    """Return the adapter of a live account at the fake Stripe."""
    account = StripeAccount(
        secret_key_file="key", webhook_secret_file="secret", base_url=origin,
        networks=("127.0.0.1",),
    )  # fmt: skip
    secrets = {
        f"paymentProviders/{ACCOUNT}/secretKeyFile": b"sk_live_1",
        f"paymentProviders/{ACCOUNT}/webhookSecretFile": webhook_secret.encode(),
    }
    return StripeProvider(ACCOUNT, account, secrets, clock, wait_seconds=(0.0, 0.0))


def build_providers(
    stripe_origin: str, gocardless_origin: str, clock: Clock
) -> dict[str, StripeProvider | GoCardlessProvider]:
    """Return the accounts at both fakes by name."""
    stripe = build_stripe(stripe_origin, WEBHOOK_SECRET, clock)
    gocardless = build_gocardless(gocardless_origin)
    return {stripe.name: stripe, gocardless.name: gocardless}


async def run_web(
    resources: Resources, providers: PaymentProviders, merchant_id: int, chance: random.Random
) -> None:
    """Start one payment, ask for one mandate, and check one request, all chosen at random."""
    async with resources.database.connection() as connection:
        merchant = await load_merchant(connection, merchant_id)
        claims = [row["claim_id"] for row in await connection.fetch(_CLAIMS, merchant_id)]
        requests = [row["request_id"] for row in await connection.fetch(_REQUESTS, merchant_id)]
        plans = await connection.fetch(_PLANS, merchant_id)
        claim_id = chance.choice(claims)
        items = await load_items(connection, merchant_id, claim_id)
    assert merchant is not None
    owed = sum(item.outstanding_cents for item in items)
    if owed > 0:
        intent = PaymentIntent(ACCOUNT, owed, "http://127.0.0.1/claim/return/{request_id}")
        with contextlib.suppress(Refusal):  # A payment that is under way, for example.
            await start_payment(
                resources, providers, merchant, actor=build_debtor_actor("session-1"),
                claim_id=claim_id, intent=intent,
            )  # fmt: skip
    if plans:
        await _ask_for_mandate(resources, providers, merchant, chance.choice(plans), chance)
    if requests:
        await settle_payment(resources, providers, merchant_id, chance.choice(requests))


async def _ask_for_mandate(
    resources: Resources, providers: PaymentProviders, merchant: Merchant, plan: Row,
    chance: random.Random,
) -> None:  # fmt: skip
    """Open the page for the mandate of a plan, or let its debtor return from there."""
    if chance.random() < 0.5:
        page = MandatePageRequest(plan["modality_id"], "http://127.0.0.1/claim/mandate", "en")
        with contextlib.suppress(InvalidState, NotFound):  # It is given, or the plan has ended.
            await open_mandate_page(
                resources, providers, merchant, build_debtor_actor("session-1"),
                claim_id=plan["claim_id"], page=page,
            )  # fmt: skip
    else:
        await settle_open_mandate(resources, providers, merchant.merchant_id, plan["modality_id"])


async def run_worker(resources: Resources, providers: PaymentProviders, merchant_id: int) -> None:
    """Check all mandates and requests, due or not, and order what is due."""
    async with resources.database.connection() as connection:
        for statement in _MAKE_DUE:
            await connection.execute(statement, merchant_id, datetime.now(UTC))
    await sweep_modalities(resources)
    for work in (MandateChecks(resources, providers), DebitOrders(resources, providers)):
        while await plan_collections(resources):
            pass
        await AccountRounds(resources, providers, work, turn_seconds=60).run_once()
    await send_refunds(resources, providers)
    while await sweep_requests(resources, providers):
        pass


async def _main(role: str, merchant_id: int, origins: tuple[str, str], seed: str) -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    settings = load_settings()
    assert settings.database_url is not None
    clock, chance = SystemClock(), random.Random(seed)
    providers = build_providers(*origins, clock)
    while True:
        with contextlib.suppress(Exception):  # The database may be away.
            database = await Database.open(settings.database_url, size=4)
            break
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, clock, RandomIds(), keys)
    working = settings.data_dir / f"{seed}.working"
    while True:
        try:
            if role == "web":
                await run_web(resources, providers, merchant_id, chance)
            else:
                await run_worker(resources, providers, merchant_id)
            working.touch()
        except (Refusal, OSError):  # The database or the provider is away.
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    role, merchant, stripe, gocardless, number = sys.argv[1:]
    asyncio.run(_main(role, int(merchant), (stripe, gocardless), number))
