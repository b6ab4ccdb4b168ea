"""Web processes, workers and the database are killed at random while debtors pay, banks take money
back, and refunds are sent. Afterwards the money that is booked equals the money that the provider
has moved, to the cent, for every checkout.
"""

import asyncio
import contextlib
import os
import random
from collections.abc import AsyncIterator
from dataclasses import replace
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
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake
from tests.support.harness import Harness, a_harness
from tests.support.payments import PAYING
from tests.support.payments_process import ACCOUNT, build_stripe, run_worker
from tests.support.processes import a_process

# `make faults FAULTS=long` kills 200 times.
_KILLS = int(os.environ.get("FAULT_KILLS", "12"))
_CLAIMS = 20
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
FROM payments WHERE merchant_id = $1 AND amount_cents > returned_cents
"""
_PENDING = "SELECT FROM payment_refunds WHERE merchant_id = $1 AND state = 'CREATED'"
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
    methods = PaymentSettings(methods=(PaymentMethod(ACCOUNT),))
    harness = await a_harness(
        own, MovableClock(datetime.now(UTC)), a_definition(),
        configuration=msgspec.structs.replace(PAYING, payment=methods),
    )  # fmt: skip
    await harness.create(*(f"INV-5{number:03}" for number in range(_CLAIMS)))
    yield harness
    await database.close()


async def test_money_that_is_booked_equals_money_that_was_moved_after_each_kill(
    harness: Harness, cluster: Cluster, tmp_path: Path
) -> None:
    chance = random.Random(20261127)
    with a_fake("stripe", tmp_path / "stripe.json") as fake:
        for kill in range(_KILLS):
            await _run_and_kill(harness, cluster, fake, chance, kill)
            if kill % 20 == 19 or kill == _KILLS - 1:
                await _check_money(harness, fake)


async def _run_and_kill(
    harness: Harness, cluster: Cluster, fake: FakeProviderProcess, chance: random.Random, kill: int
) -> None:
    """Let all parts work for a moment, and kill one of them."""
    merchant_id = str(harness.merchant.merchant_id)
    settings, module = harness.resources.settings, "tests.support.payments_process"
    with (
        a_process(settings, module, "web", merchant_id, fake.origin, f"web-{kill}") as web,
        a_process(settings, module, "web", merchant_id, fake.origin, f"web2-{kill}"),
        a_process(settings, module, "worker", merchant_id, fake.origin, f"worker-{kill}") as worker,
    ):
        for _ in range(chance.randint(3, 8)):
            await asyncio.sleep(chance.uniform(0.0, 0.15))
            await _move_money(harness, fake, chance)
        victim = chance.choice(["web", "worker", "database"])
        if victim == "web":
            web.kill()
        elif victim == "worker":
            worker.kill()
        else:
            cluster.kill()
            await cluster.start()
        await asyncio.sleep(0.1)


async def _move_money(harness: Harness, fake: FakeProviderProcess, chance: random.Random) -> None:
    """Let one debtor or bank do something at the provider, or the merchant order a refund."""
    rows = await harness.rows(
        "SELECT provider_reference FROM payment_requests"
        " WHERE merchant_id = $1 AND provider_reference IS NOT NULL"
    )
    if rows:
        checkout_id = chance.choice(rows)["provider_reference"]
        action = chance.choice(
            ["pay", "pay", "later", "settle", "bounce", "dispute", "expire", "refund_one_cent"]
        )
        # Not everything is possible in every state.
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


async def _check_money(harness: Harness, fake: FakeProviderProcess) -> None:
    """Compare the books with the provider once everything that was begun is done."""
    merchant_id = harness.merchant.merchant_id
    provider = build_stripe(fake.origin, WEBHOOK_SECRET, harness.resources.clock)
    for _ in range(10):
        await harness.rows(_SEND_NOW)
        await run_worker(harness.resources, provider, merchant_id)
        if not await harness.rows(_PENDING):
            break
    await run_worker(harness.resources, provider, merchant_id)
    await provider.close()
    moved = {key: cents for key, cents in fake.count_money().items() if cents}
    booked = {
        row["provider_reference"]: row["cents"]
        for row in await harness.rows(_BOOKED)
        if row["cents"]
    }
    assert booked == moved
    print(f"{len(moved)} checkouts with money, {sum(moved.values())} cents moved and booked")
    assert await harness.rows(_MOVED_TWICE) == []
    assert await harness.rows(_UNBALANCED) == []
