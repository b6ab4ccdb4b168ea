"""Notifications of GoCardless about mandates and debits that arrive once, twice, late, in another
order, forged, or never: mandates and debits have the state that GoCardless says, and the money that
is booked equals the money that moved."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation
from dunwell.adapters.payment_providers import open_payment_providers
from dunwell.cases.direct_debit.debit_values import CollectionState, MandateState
from dunwell.cases.modalities.limits import PlanTerms
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake
from tests.support.modalities import an_arrangement
from tests.support.payments import sweep_requests
from tests.support.provider_plans import ACCOUNT, WITH_PROVIDER, ProviderPlan
from tests.support.served import serve

_SECRETS = {"accessTokenFile": b"live_1", "webhookSecretFile": WEBHOOK_SECRET.encode()}
_BOOKED = "SELECT sum(amount_cents - returned_cents) AS cents FROM payments WHERE merchant_id = $1"
_MOVEMENTS = "SELECT FROM payment_movements WHERE merchant_id = $1"
_AT_PROVIDER = "SELECT provider_mandate_id FROM provider_mandates WHERE merchant_id = $1"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as fake:
        yield fake


@dataclass
class NotifiedPlan:
    """A plan with the page for its mandate at a fake GoCardless, which notifies a running
    Dunwell."""

    plan: ProviderPlan
    # The address for notifications.
    url: str
    checkout_id: str

    def notify(self, mode: str) -> None:
        self.plan.fake.call("notifications", mode=mode, url=self.url)

    async def act(self, object_id: str, *actions: str) -> None:
        for action in actions:
            await asyncio.to_thread(self.plan.fake.act, object_id, action)

    async def work(self, after: timedelta = timedelta(0)) -> None:
        """Let the worker do what is due after this time."""
        await self.plan.check_mandates(after)
        await self.plan.run()
        await sweep_requests(self.plan.resources, self.plan.providers)

    async def count_booked(self) -> int:
        [row] = await self.plan.arrangement.harness.rows(_BOOKED)
        return row["cents"] or 0

    async def count_movements(self) -> int:
        return len(await self.plan.arrangement.harness.rows(_MOVEMENTS))

    async def read(self) -> tuple[MandateState | None, CollectionState | None, int]:
        """Return the states of the mandate and of the first debit, and the cents that are
        booked."""
        mandates, collections = await self.plan.mandates(), await self.plan.collections()
        return (
            mandates[0].state if mandates else None,
            collections[0].state if collections else None,
            await self.count_booked(),
        )

    async def wait_until(
        self, mandate: MandateState, debit: CollectionState, cents: int, *, works: bool = True
    ) -> None:
        """Wait for these states and this amount, and let the worker run meanwhile if `works`. Its
        clock stands still, so that only notifications can lead to them."""
        async with asyncio.timeout(30):
            while await self.read() != (mandate, debit, cents):
                if works:
                    await self.work()
                await asyncio.sleep(0.02)

    async def find_mandate_id(self) -> str:
        [row] = await self.plan.arrangement.harness.rows(_AT_PROVIDER)
        mandate_id: str = row["provider_mandate_id"]
        return mandate_id


@pytest.fixture
async def notified(
    resources: Resources, database: Database, fake: FakeProviderProcess
) -> AsyncIterator[NotifiedPlan]:
    fake.repair()
    fake.act("", "set_next_charge", on=f"{datetime.now(UTC):%Y-%m-%d}")
    clock = MovableClock(datetime.now(UTC))
    live = Resources(resources.settings, database, clock, resources.ids, resources.keys)
    account = {
        "adapter": "gocardless", "baseUrl": fake.origin, "networks": ["127.0.0.1"],
        **dict.fromkeys(_SECRETS, "file"),
    }  # fmt: skip
    named = {f"paymentProviders/{ACCOUNT}/{key}": value for key, value in _SECRETS.items()}
    installation = check_installation({"paymentProviders": {ACCOUNT: account}})
    await apply_installation(live, installation, named)
    async with (
        serve(live) as served,
        open_payment_providers(served.resources, served.installation) as providers,
    ):
        arrangement = await an_arrangement(served.resources, clock, configuration=WITH_PROVIDER)
        terms = PlanTerms(3, clock.now().date() + timedelta(days=14))
        modality = await arrangement.agree(terms)
        plan = ProviderPlan(arrangement, modality, providers, fake)
        url = f"{served.origin}/callbacks/payments/{ACCOUNT}"
        yield NotifiedPlan(plan, url, await plan.open_page())


GIVEN = (MandateState.ACTIVE, CollectionState.DELIVERED, 0)


@pytest.mark.parametrize("mode", ["ONCE", "TWICE", "LATE"])
async def test_each_notification_records_what_happened(notified: NotifiedPlan, mode: str) -> None:
    notified.notify(mode)
    await notified.act(notified.checkout_id, "give")
    await notified.wait_until(*GIVEN)
    payment_id = await notified.plan.payment_id()
    for actions, debit, cents in (
        (("submit", "settle"), CollectionState.COLLECTED, 3414),
        (("dispute",), CollectionState.RETURNED, 0),
        (("win",), CollectionState.COLLECTED, 3414),
    ):
        await notified.act(payment_id, *actions)
        await notified.wait_until(MandateState.ACTIVE, debit, cents)
    assert await notified.count_movements() == 3
    await notified.act(await notified.find_mandate_id(), "cancel")
    await notified.wait_until(MandateState.REVOKED, CollectionState.COLLECTED, 3414)


async def test_notifications_in_the_opposite_order_record_the_same(notified: NotifiedPlan) -> None:
    notified.notify("HELD")
    await notified.act(notified.checkout_id, "give")
    await notified.work()
    assert await notified.read() == (None, None, 0)
    assert notified.plan.fake.call("release")["released"] >= 2
    await notified.wait_until(*GIVEN)
    await notified.act(await notified.plan.payment_id(), "submit", "settle", "dispute", "win")
    await notified.act(await notified.find_mandate_id(), "cancel")
    await notified.work()
    assert await notified.read() == GIVEN
    assert notified.plan.fake.call("release")["released"] >= 5
    await notified.wait_until(MandateState.REVOKED, CollectionState.COLLECTED, 3414)
    assert await notified.count_movements() == 3


async def test_lost_notifications_are_made_up_for_by_the_periodic_checks(
    notified: NotifiedPlan,
) -> None:
    notified.notify("LOST")
    await notified.act(notified.checkout_id, "give")
    await notified.work(timedelta(minutes=10))
    assert await notified.read() == GIVEN
    payment_id = await notified.plan.payment_id()
    for actions, debit, cents in (
        (("submit", "settle"), CollectionState.COLLECTED, 3414),
        (("dispute",), CollectionState.RETURNED, 0),
        (("win",), CollectionState.COLLECTED, 3414),
    ):
        await notified.act(payment_id, *actions)
        await notified.work(timedelta(days=8))
        assert await notified.read() == (MandateState.ACTIVE, debit, cents)
    await notified.act(await notified.find_mandate_id(), "cancel")
    await notified.work(timedelta(days=1))
    assert (await notified.read())[0] is MandateState.REVOKED


# A request is repeated twice or three times if the provider is down; a wrong answer is not.
@pytest.mark.parametrize(("mode", "times"), [("DOWN", 5), ("GARBAGE", 2), ("WRONG", 2)])
async def test_a_provider_that_is_unavailable_is_asked_again_when_it_repeats_its_notification(
    notified: NotifiedPlan, mode: str, times: int
) -> None:
    notified.notify("LOST")
    await notified.act(notified.checkout_id, "give")
    await notified.work(timedelta(minutes=10))
    payment_id = await notified.plan.payment_id()
    notified.notify("ONCE")
    notified.plan.fake.break_answers(mode, times=times)
    await notified.act(payment_id, "settle")
    await notified.wait_until(MandateState.ACTIVE, CollectionState.COLLECTED, 3414, works=False)
    assert {*notified.plan.fake.call("sent")} == {200, 503}


async def test_a_forged_notification_changes_nothing(notified: NotifiedPlan) -> None:
    """Even a notification that the provider signed only leads to a question."""
    fake = notified.plan.fake
    notified.notify("LOST")

    async def post(object_id: str) -> tuple[int, int]:
        headers, body = fake.build_notification(object_id)
        forged = await asyncio.to_thread(fake.post, notified.url, headers, body + b" ")
        return forged, await asyncio.to_thread(fake.post, notified.url, headers, body)

    assert await post(notified.checkout_id) == (400, 200)
    await notified.work()
    assert await notified.read() == (None, None, 0)
    await notified.act(notified.checkout_id, "give")
    await notified.work(timedelta(minutes=10))
    for object_id in (await notified.plan.payment_id(), await notified.find_mandate_id()):
        assert await post(object_id) == (400, 200)
        await notified.work()
        assert await notified.read() == GIVEN
