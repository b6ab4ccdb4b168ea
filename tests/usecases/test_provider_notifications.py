"""Notifications of providers that arrive once, twice, late, in another order, or never, and of a
provider that is unavailable for a while: the money that is booked equals the money that moved."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.adapters.payment_providers import PaymentProviderAdapters, open_payment_providers
from dunwell.cases.payments.requests.start_payment import PaymentIntent, start_payment
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake
from tests.support.merchants import CONFIGURATION
from tests.support.payments import DEBTOR, PaymentHarness, a_payment_harness, sweep_requests
from tests.support.served import serve

# The secrets of an account by kind, and what happens to its money after the payment: it is taken
# back, and comes again.
KINDS: dict[str, tuple[dict[str, bytes], str, str]] = {
    "stripe": (
        {"secretKeyFile": b"rk_live_1", "webhookSecretFile": WEBHOOK_SECRET.encode()},
        "dispute", "win",
    ),
    "mollie": ({"apiKeyFile": b"live_1"}, "dispute", "win"),
    "gocardless": (
        {"accessTokenFile": b"live_1", "webhookSecretFile": WEBHOOK_SECRET.encode()},
        "bounce", "settle",
    ),
}  # fmt: skip
_BOOKED = "SELECT sum(amount_cents - returned_cents) AS cents FROM payments WHERE merchant_id = $1"
_CHECKOUT = "SELECT provider_reference AS id FROM payment_requests WHERE merchant_id = $1"


@pytest.fixture(scope="module", params=[*KINDS])
def fake(request: pytest.FixtureRequest) -> Iterator[FakeProviderProcess]:
    with a_fake(request.param) as fake:
        yield fake


@dataclass
class RealPayment:
    """A claim with an open checkout at a fake provider, which notifies a running Dunwell."""

    payments: PaymentHarness
    providers: PaymentProviderAdapters
    clock: MovableClock
    fake: FakeProviderProcess
    checkout_id: str
    # The address for notifications.
    url: str
    dispute_id: str = ""

    async def count_booked(self) -> int:
        [row] = await self.payments.harness.rows(_BOOKED)
        return row["cents"] or 0

    async def wait_until_booked(self) -> int:
        """Wait until the booked money equals the money that moved, and return it."""
        async with asyncio.timeout(30):
            while True:
                booked = await self.count_booked()
                if booked == self.fake.count_money().get(self.checkout_id, 0):
                    return booked
                await asyncio.sleep(0.02)

    async def act(self, action: str) -> None:
        object_id = self.dispute_id if action == "win" else self.checkout_id
        found = await asyncio.to_thread(self.fake.act, object_id, action)
        self.dispute_id = found.get("_dispute", "")

    async def check_later(self) -> None:
        """Let the periodic check come, which asks the provider even after a payment."""
        self.clock.advance(timedelta(days=8))
        await sweep_requests(self.payments.resources, self.providers)


@pytest.fixture
async def payment(
    resources: Resources, database: Database, fake: FakeProviderProcess
) -> AsyncIterator[RealPayment]:
    fake.repair()
    clock = MovableClock(datetime.now(UTC))
    live = Resources(resources.settings, database, clock, resources.ids, resources.keys)
    secrets, _, _ = KINDS[fake.name]
    account: dict[str, Any] = {
        "adapter": fake.name, "baseUrl": fake.origin, "networks": ["127.0.0.1"],
        **dict.fromkeys(secrets, "file"),
    }  # fmt: skip
    installation = check_installation({"paymentProviders": {"shop": account}})
    named = {f"paymentProviders/shop/{key}": value for key, value in secrets.items()}
    await apply_installation(live, installation, named)
    methods = PaymentSettings(methods=(PaymentMethod("shop"),))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=methods)
    async with (
        serve(live) as served,
        open_payment_providers(served.resources, served.installation) as providers,
    ):
        payments = await a_payment_harness(served.resources, clock, configuration=configuration)
        wanted = PaymentIntent("shop", 10_240, f"{served.origin}/claim/{{request_id}}")
        await start_payment(
            served.resources,
            providers,
            payments.harness.merchant,
            DEBTOR,
            payments.claim_id,
            wanted,
        )
        [row] = await payments.harness.rows(_CHECKOUT)
        url = f"{served.origin}/callbacks/payments/shop"
        yield RealPayment(payments, providers, clock, fake, row["id"], url)


@pytest.mark.parametrize("mode", ["ONCE", "TWICE", "LATE"])
async def test_each_notification_books_what_moved(payment: RealPayment, mode: str) -> None:
    payment.fake.call("notifications", mode=mode, url=payment.url)
    _, taken_back, again = KINDS[payment.fake.name]
    for action, cents in (("pay", 10_240), (taken_back, 0), (again, 10_240)):
        await payment.act(action)
        assert await payment.wait_until_booked() == cents
    assert await payment.payments.count("payment_movements") == 3


async def test_notifications_in_the_opposite_order_book_the_same(payment: RealPayment) -> None:
    payment.fake.call("notifications", mode="HELD", url=payment.url)
    _, taken_back, again = KINDS[payment.fake.name]
    for action in ("pay", taken_back, again):
        await payment.act(action)
    assert await payment.count_booked() == 0
    assert payment.fake.call("release")["released"] >= 3
    assert await payment.wait_until_booked() == 10_240
    assert await payment.payments.count("payment_movements") == 3


async def test_lost_notifications_are_made_up_for_by_the_periodic_check(
    payment: RealPayment,
) -> None:
    payment.fake.call("notifications", mode="LOST")
    _, taken_back, again = KINDS[payment.fake.name]
    for action, cents in (("pay", 10_240), (taken_back, 0), (again, 10_240)):
        await payment.act(action)
        await payment.check_later()
        assert await payment.count_booked() == cents
        assert await payment.wait_until_booked() == cents


# A request is repeated twice or three times if the provider is down; a wrong answer is not.
@pytest.mark.parametrize(("mode", "times"), [("DOWN", 5), ("GARBAGE", 2), ("WRONG", 2)])
async def test_a_provider_that_is_unavailable_is_asked_again_when_it_repeats_its_notification(
    payment: RealPayment, mode: str, times: int
) -> None:
    payment.fake.call("notifications", mode="ONCE", url=payment.url)
    payment.fake.break_answers(mode, times=times)
    await payment.act("pay")
    assert await payment.wait_until_booked() == 10_240
    assert await payment.payments.count("payment_movements") == 1
    refused = [each for each in payment.fake.call("sent") if each != 200]
    assert refused
    assert {*refused} == {503}


async def test_a_forged_notification_books_nothing(payment: RealPayment) -> None:
    """Even a notification that the provider signed only leads to a question."""
    headers, body = payment.fake.build_notification(payment.checkout_id)
    served = payment.url
    answer = await asyncio.to_thread(payment.fake.post, served, headers, body + b" ")
    # Mollie's signed notifications need a secret, which this account does not have.
    assert answer == 400
    if payment.fake.name != "mollie":
        assert await asyncio.to_thread(payment.fake.post, served, headers, body) == 200
    assert await payment.count_booked() == 0
    assert await payment.payments.states() == ["OPEN"]
