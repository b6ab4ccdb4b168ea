"""A part of the service that moves money, in its own process, which a test kills.

Arguments: the role, the merchant's id, the origin of the fake Stripe, and a number that makes the
choices. The role `web` starts payments of random claims and checks random payment requests, as the
debtor's page, the debtor's return and notifications do. The role `worker` runs the periodic check
and sends refunds.
"""

import asyncio
import contextlib
import random
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from dunwell.accounts.installation.payment_providers import StripeAccount
from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.accounts.merchants.store import load_merchant
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.start_payment import PaymentIntent, start_payment
from dunwell.core.claims.store import load_items
from dunwell.platform.clock import Clock, SystemClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.errors import Refusal
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.payments import send_refunds, sweep_requests

ACCOUNT = "cards"
_CLAIMS = "SELECT claim_id FROM claims WHERE merchant_id = $1"
_REQUESTS = "SELECT request_id FROM payment_requests WHERE merchant_id = $1"
_MAKE_DUE = """
UPDATE payment_requests SET next_check_at = $2
WHERE merchant_id = $1 AND next_check_at IS NOT NULL AND next_check_at > $2
"""


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


async def run_web(
    resources: Resources, provider: StripeProvider, merchant_id: int, chance: random.Random
) -> None:
    """Start one payment and check one request, both chosen at random."""
    providers = {provider.name: provider}
    async with resources.database.connection() as connection:
        merchant = await load_merchant(connection, merchant_id)
        claims = [row["claim_id"] for row in await connection.fetch(_CLAIMS, merchant_id)]
        requests = [row["request_id"] for row in await connection.fetch(_REQUESTS, merchant_id)]
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
    if requests:
        await settle_payment(resources, providers, merchant_id, chance.choice(requests))


async def run_worker(resources: Resources, provider: StripeProvider, merchant_id: int) -> None:
    """Check all requests, due or not, and send the refunds that are due."""
    async with resources.database.connection() as connection:
        await connection.execute(_MAKE_DUE, merchant_id, datetime.now(UTC) - timedelta(seconds=1))
    providers = {provider.name: provider}
    await send_refunds(resources, providers)
    while await sweep_requests(resources, providers):
        pass


async def _main(role: str, merchant_id: int, origin: str, seed: str) -> None:
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    settings = load_settings()
    assert settings.database_url is not None
    clock, chance = SystemClock(), random.Random(seed)
    provider = build_stripe(origin, "whsec_unused", clock)
    while True:
        with contextlib.suppress(Exception):  # The database may be away.
            database = await Database.open(settings.database_url, size=4)
            break
    keys = KeyRing(settings.secret_key)
    resources = Resources(settings, database, clock, RandomIds(), keys)
    while True:
        try:
            if role == "web":
                await run_web(resources, provider, merchant_id, chance)
            else:
                await run_worker(resources, provider, merchant_id)
        except (Refusal, OSError):  # The database or the provider is away.
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    arguments: list[Any] = sys.argv[1:]
    asyncio.run(_main(arguments[0], int(arguments[1]), arguments[2], arguments[3]))
