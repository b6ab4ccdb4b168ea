"""Web processes, workers and the database are killed at random while debtors pay and give mandates,
debits are ordered, banks take money back, and refunds are sent. Afterwards the money that is booked
equals the money that the providers have moved, to the cent, for every checkout and debit, and each
debit was ordered once.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import httpx
import msgspec
import pytest

from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, order_refund
from dunwell.cases.payments.refunds.store import RefundEffect
from dunwell.platform.clock import MovableClock, SystemClock
from dunwell.platform.database.database import Database
from dunwell.platform.database.migrate import migrate
from dunwell.platform.errors import Refusal
from dunwell.platform.resources import Resources
from tests.support.clusters import Cluster, Servers
from tests.support.definitions import a_definition
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.harness import Harness, a_harness
from tests.support.modalities import OFFERED
from tests.support.payments import PAYING
from tests.support.payments_process import ACCOUNT, build_providers, run_worker
from tests.support.processes import a_process
from tests.support.provider_debit_kills import agree_plans, check_debits, move_debit
from tests.support.provider_plans import ACCOUNT as DEBIT_ACCOUNT

# `make faults FAULTS=long` kills 200 times.
_KILLS = int(os.environ.get("FAULT_KILLS", "12"))
_CLAIMS = 20
# Claims whose debtors pay in instalments, by direct debit.
_PLANS = 12 + _KILLS // 4
_BOOKED = """
SELECT r.provider_reference,
       coalesce(sum(p.amount_cents - p.returned_cents), 0)::bigint AS cents
FROM payment_requests r
LEFT JOIN payment_movements m
    ON m.merchant_id = $1 AND m.request_id = r.request_id AND m.kind = 'PAID'
LEFT JOIN payments p ON p.merchant_id = $1 AND p.payment_id = m.payment_id
WHERE r.merchant_id = $1 AND r.provider_reference IS NOT NULL
GROUP BY r.provider_reference
"""
_MOVED_TWICE = """
SELECT payment_id FROM payment_movements
WHERE merchant_id = $1 AND kind = 'PAID' GROUP BY payment_id HAVING count(*) > 1
"""
_PAYMENTS = """
SELECT claim_id, payment_id, amount_cents - returned_cents AS left_cents
FROM payments
WHERE merchant_id = $1 AND amount_cents > returned_cents AND provider_name = 'STRIPE'
"""
_CHECKOUTS = """
SELECT provider_reference FROM payment_requests
WHERE merchant_id = $1 AND provider_reference IS NOT NULL AND provider_name = 'STRIPE'
"""
_PENDING = """
SELECT FROM payment_refunds WHERE merchant_id = $1 AND state = 'CREATED'
UNION ALL
SELECT FROM provider_debits WHERE merchant_id = $1 AND next_attempt_at IS NOT NULL
UNION ALL
SELECT FROM provider_mandates WHERE merchant_id = $1 AND state = 'CANCELLING'
"""
_SEND_NOW = """
UPDATE payment_refunds SET next_attempt_at = now()
WHERE merchant_id = $1 AND next_attempt_at IS NOT NULL
"""
# The balance of a claim is what its items are worth, without what was paid and not returned.
_UNBALANCED = """
SELECT c.claim_id
FROM claims c
WHERE c.merchant_id = $1
  AND (SELECT coalesce(sum(a.amount_cents), 0) FROM allocations a
       WHERE a.merchant_id = $1 AND a.claim_id = c.claim_id)
   <> least(
      (SELECT coalesce(sum(i.value_cents), 0) FROM items i
       WHERE i.merchant_id = $1 AND i.claim_id = c.claim_id),
      (SELECT coalesce(sum(p.amount_cents - p.returned_cents), 0) FROM payments p
       WHERE p.merchant_id = $1 AND p.claim_id = c.claim_id))
"""


@pytest.fixture
async def cluster(servers: Servers) -> Cluster:
    """A server that only this test uses, because it is killed."""
    cluster = await servers.start_new()
    await asyncio.to_thread(migrate, cluster.url)
    return cluster


@pytest.fixture
async def harness(cluster: Cluster, resources: Resources) -> AsyncIterator[Harness]:
    settings = replace(resources.settings, database_url=cluster.url)
    database = await Database.open(cluster.url, size=4)
    own = replace(resources, settings=settings, database=database, clock=SystemClock())
    methods = PaymentSettings(
        methods=(PaymentMethod(ACCOUNT),), direct_debit_provider=DEBIT_ACCOUNT
    )
    offering = msgspec.structs.replace(PAYING, payment=methods, modalities=OFFERED)
    harness = await a_harness(
        own, MovableClock(datetime.now(UTC)), a_definition(),
        configuration=offering,
    )  # fmt: skip
    await harness.create(*(f"INV-5{number:03}" for number in range(_CLAIMS)))
    await agree_plans(
        harness, await harness.create(*(f"INV-6{number:03}" for number in range(_PLANS)))
    )
    yield harness
    await database.close()


@dataclass(frozen=True, slots=True)
class Fakes:
    stripe: FakeProviderProcess
    gocardless: FakeProviderProcess

    @property
    def origins(self) -> tuple[str, str]:
        return self.stripe.origin, self.gocardless.origin


@pytest.fixture
def fakes(tmp_path: Path) -> Iterator[Fakes]:
    with (
        a_fake("stripe", tmp_path / "stripe.json") as stripe,
        a_fake("gocardless", tmp_path / "gocardless.json") as gocardless,
    ):
        gocardless.act("", "set_next_charge", on=f"{datetime.now(UTC):%Y-%m-%d}")
        yield Fakes(stripe, gocardless)


async def test_money_that_is_booked_equals_money_that_was_moved_after_each_kill(
    harness: Harness, cluster: Cluster, fakes: Fakes
) -> None:
    chance = random.Random(20261127)
    for kill in range(_KILLS):
        await _run_and_kill(harness, cluster, fakes, chance, kill)
        if kill % 20 == 19 or kill == _KILLS - 1:
            await _check_money(harness, fakes)


async def _run_and_kill(
    harness: Harness, cluster: Cluster, fakes: Fakes, chance: random.Random, kill: int
) -> None:
    """Let all parts work for a moment, and kill one of them."""
    merchant_id = str(harness.merchant.merchant_id)
    settings, module = harness.resources.settings, "tests.support.payments_process"
    common = (merchant_id, *fakes.origins)
    with (
        a_process(settings, module, "web", *common, f"web-{kill}") as web,
        a_process(settings, module, "web", *common, f"web2-{kill}"),
        a_process(settings, module, "worker", *common, f"worker-{kill}") as worker,
    ):
        await _wait_until_working(settings.data_dir, f"web-{kill}", f"worker-{kill}")
        for _ in range(chance.randint(3, 8)):
            await asyncio.sleep(chance.uniform(0.0, 0.15))
            await _move_money(harness, fakes.stripe, chance)
            for _ in range(2):
                await move_debit(harness, fakes.gocardless, chance)
        victim = chance.choice(["web", "worker", "database"])
        if victim == "web":
            web.kill()
        elif victim == "worker":
            worker.kill()
        else:
            cluster.kill()
            await cluster.start()
        await asyncio.sleep(0.1)


async def _wait_until_working(folder: Path, *names: str) -> None:
    """Wait until these processes have done something, however busy the machine is."""
    files = [folder / f"{name}.working" for name in names]
    async with asyncio.timeout(120):
        while not all(each.exists() for each in files):  # noqa: ASYNC110 - other processes
            await asyncio.sleep(0.05)


async def _move_money(harness: Harness, fake: FakeProviderProcess, chance: random.Random) -> None:
    """Let one debtor or bank do something at the provider, or the merchant order a refund."""
    rows = await harness.rows(_CHECKOUTS)
    if rows:
        checkout_id = chance.choice(rows)["provider_reference"]
        action = chance.choice(
            ["pay", "pay", "later", "settle", "bounce", "dispute", "expire", "refund_one_cent"]
        )
        # The fake provider refuses actions that are impossible in the state of the checkout.
        with contextlib.suppress(httpx.HTTPError):
            fake.act(checkout_id, action)
    payments = await harness.rows(_PAYMENTS)
    if payments and chance.random() < 0.3:
        payment = chance.choice(payments)
        cents = chance.randint(1, payment["left_cents"])
        effect = chance.choice([RefundEffect.REDUCE_CLAIM, RefundEffect.REOPEN])
        with contextlib.suppress(Refusal):
            async with harness.work() as work:
                order = RefundOrder(cents, effect=effect)
                await order_refund(work, payment["claim_id"], payment["payment_id"], order)


async def _check_money(harness: Harness, fakes: Fakes) -> None:
    """Compare the books with the providers once everything that was begun is done."""
    merchant_id = harness.merchant.merchant_id
    providers = build_providers(*fakes.origins, harness.resources.clock)
    for _ in range(10):
        await harness.rows(_SEND_NOW)
        await run_worker(harness.resources, providers, merchant_id)
        if not await harness.rows(_PENDING):
            break
    await run_worker(harness.resources, providers, merchant_id)
    for provider in providers.values():
        await provider.close()
    counted = {**fakes.stripe.count_money(), **fakes.gocardless.count_money()}
    moved = {key: cents for key, cents in counted.items() if cents}
    booked = {
        row["provider_reference"]: row["cents"]
        for row in await harness.rows(_BOOKED)
        if row["cents"]
    }
    assert booked == moved
    assert moved, "nothing was paid"
    print(f"{len(moved)} payments with money, {sum(moved.values())} cents moved and booked")
    print(await check_debits(harness, fakes.gocardless))
    assert await harness.rows(_MOVED_TWICE) == []
    assert await harness.rows(_UNBALANCED) == []
