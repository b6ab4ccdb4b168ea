"""A claim with a payment plan whose debtor gives a mandate at a fake GoCardless."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import msgspec

from dunwell.accounts.installation.payment_providers import GoCardlessAccount
from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.cases.direct_debit.debit_values import Collection, Mandate
from dunwell.cases.direct_debit.plan_collections import plan_collections
from dunwell.cases.direct_debit.providers.collect_debits import DebitOrders
from dunwell.cases.direct_debit.providers.settle_mandates import (
    MandateChecks,
    MandatePageRequest,
    open_mandate_page,
)
from dunwell.cases.direct_debit.store import list_claim_mandates, list_mandate_collections
from dunwell.cases.modalities.modality import Modality
from dunwell.cases.payments.provider import PaymentProvider
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess
from tests.support.modalities import DEBTOR, OFFERING, Arrangement, an_arrangement

ACCOUNT = "bank"
WITH_PROVIDER = msgspec.structs.replace(
    OFFERING,
    payment=msgspec.structs.replace(OFFERING.payment, direct_debit_provider=ACCOUNT),
)


def build_gocardless(origin: str) -> GoCardlessProvider:
    """Return the adapter of a live account at the fake GoCardless."""
    account = GoCardlessAccount(
        access_token_file="token", webhook_secret_file="secret",
        base_url=origin, networks=("127.0.0.1",),
    )  # fmt: skip
    secrets = {
        f"paymentProviders/{ACCOUNT}/accessTokenFile": b"live_9k",
        f"paymentProviders/{ACCOUNT}/webhookSecretFile": WEBHOOK_SECRET.encode(),
    }
    return GoCardlessProvider(ACCOUNT, account, secrets, wait_seconds=(0.0, 0.0))


@asynccontextmanager
async def open_gocardless(fake: FakeProviderProcess) -> AsyncIterator[GoCardlessProvider]:
    adapter = build_gocardless(fake.origin)
    try:
        yield adapter
    finally:
        await adapter.close()


@dataclass
class ProviderPlan:
    """A claim with an agreed plan of three instalments, from 16 March on, and the provider."""

    arrangement: Arrangement
    modality: Modality
    providers: Mapping[str, PaymentProvider]
    fake: FakeProviderProcess

    @property
    def resources(self) -> Resources:
        return self.arrangement.harness.resources

    async def open_page(self) -> str:
        """Open the provider's page for the mandate. Return its checkout's id."""
        harness = self.arrangement.harness
        page = MandatePageRequest(
            self.modality.modality_id, "https://pay.example.org/claim/ab/mandate", "en"
        )
        url = await open_mandate_page(
            harness.resources, self.providers, harness.merchant, DEBTOR,
            claim_id=self.arrangement.claim_id, page=page,
        )  # fmt: skip
        return url.rpartition("/pay/")[2].partition("?")[0]

    async def give(self) -> Mandate:
        """Let the debtor give the mandate, and let the worker find that out."""
        self.fake.act(await self.open_page(), "give")
        await self.check_mandates()
        (mandate,) = await self.mandates()
        return mandate

    async def check_mandates(self, after: timedelta = timedelta(days=1)) -> None:
        """Move the clock until all mandates are due, and check them."""
        self.arrangement.harness.clock.advance(after)
        await MandateChecks(self.resources, self.providers).run_batch(ACCOUNT, 20)

    async def run(self) -> None:
        """Plan and order what is due."""
        while await plan_collections(self.resources):
            pass
        await self.order()

    async def order(self) -> int:
        """Call the provider for what is due. Return how many calls there were."""
        done = await DebitOrders(self.resources, self.providers).run_batch(ACCOUNT, 20)
        return done.calls

    async def mandates(self) -> list[Mandate]:
        harness = self.arrangement.harness
        async with harness.work() as work:
            return await list_claim_mandates(work.tx, work.merchant_id, self.arrangement.claim_id)

    async def collections(self) -> list[Collection]:
        ids = [each.mandate_id for each in await self.mandates()]
        async with self.arrangement.harness.work() as work:
            return await list_mandate_collections(work.tx, work.merchant_id, ids)

    async def first(self) -> Collection:
        return (await self.collections())[0]

    async def payment_id(self) -> str:
        """Return the provider's id of the first instalment's payment."""
        rows = await self.arrangement.harness.rows(
            "SELECT provider_reference FROM payment_requests WHERE merchant_id = $1 "
            "ORDER BY created_at, request_id LIMIT 1"
        )
        reference: str = rows[0]["provider_reference"]
        return reference

    async def act(self, *actions: str, **details: Any) -> None:
        """Let this happen to the first instalment's payment, and settle it after each step."""
        payment_id, first = await self.payment_id(), await self.first()
        for action in actions:
            self.fake.act(payment_id, action, **details)
            await self.settle(first)

    async def settle(self, collection: Collection) -> None:
        merchant_id = self.arrangement.harness.merchant.merchant_id
        await settle_payment(self.resources, self.providers, merchant_id, collection.collection_id)

    async def look(self) -> Modality:
        return await self.arrangement.look(self.modality.modality_id)


async def a_provider_plan(
    resources: Resources, clock: MovableClock, fake: FakeProviderProcess,
    provider: PaymentProvider, *, sandbox: bool = False,
) -> ProviderPlan:  # fmt: skip
    fake.repair()
    fake.act("", "set_next_charge", on="2026-03-10")
    arrangement = await an_arrangement(
        resources, clock, configuration=WITH_PROVIDER, sandbox=sandbox
    )
    return ProviderPlan(arrangement, await arrangement.agree(), {ACCOUNT: provider}, fake)
