"""Calls to payment providers are made account by account: one that hangs, is away or is missing
delays no other, pauses, and is alerted."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.installation.payment_providers import StripeAccount
from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.adapters.payments.stripe.provider import StripeProvider
from dunwell.cases.payments.provider import CheckoutState, CheckoutStatus, PaymentProviders
from dunwell.cases.payments.refunds.refund_payment import RefundOrder, order_refund
from dunwell.cases.payments.refunds.send_refunds import RefundOrders
from dunwell.cases.payments.requests.account_rounds import AccountRounds
from dunwell.cases.payments.requests.check_payments import PaymentChecks
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.requests.start_payment import PaymentIntent, start_payment
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Database
from dunwell.platform.resources import Resources
from tests.support.durations import JUST
from tests.support.fake_providers import FakeProviderProcess, a_fake
from tests.support.merchants import CONFIGURATION
from tests.support.payments import (
    DEBTOR,
    RETURN_URL,
    PaymentHarness,
    ScriptedPaymentProvider,
    a_payment_harness,
)

_MINUTE, _HOUR, _DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
_ALERTS = "SELECT kind, subject, began_at, seen_at FROM alerts WHERE $1 > 0 ORDER BY kind"
_REQUESTS = "SELECT checks, next_check_at FROM payment_requests WHERE merchant_id = $1"
_REFUNDS = "SELECT state, attempts FROM payment_refunds WHERE merchant_id = $1"
_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1"
_STATES = """
SELECT provider, state, provider_reference FROM payment_requests WHERE merchant_id = $1
ORDER BY provider, created_at
"""


def _check(payments: PaymentHarness, providers: PaymentProviders) -> AccountRounds:
    work = PaymentChecks(payments.resources, providers)
    return AccountRounds(payments.resources, providers, work)


def _send(payments: PaymentHarness, providers: PaymentProviders) -> AccountRounds:
    work = RefundOrders(payments.resources, providers)
    return AccountRounds(payments.resources, providers, work)


async def _make_due(payments: PaymentHarness) -> None:
    await payments.harness.rows(
        "UPDATE payment_requests SET next_check_at = created_at WHERE merchant_id = $1"
    )


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, FakeProviderProcess]]:
    with a_fake("stripe") as first, a_fake("stripe") as second:
        yield {"a-hanging": first, "b-quick": second}


@pytest.fixture
async def stripes(
    fakes: dict[str, FakeProviderProcess], clock: MovableClock
) -> AsyncIterator[dict[str, StripeProvider]]:
    async with AsyncExitStack() as closing:
        providers = {}
        for name, fake in fakes.items():
            account = StripeAccount(
                secret_key_file="key", webhook_secret_file="secret", base_url=fake.origin,
                networks=("127.0.0.1",),
            )  # fmt: skip
            keys = {
                f"paymentProviders/{name}/{key}": b"sk_live_1"
                for key in ("secretKeyFile", "webhookSecretFile")
            }
            providers[name] = StripeProvider(name, account, keys, clock, wait_seconds=())
            closing.push_async_callback(providers[name].close)
        yield providers


async def _start(payments: PaymentHarness, providers: PaymentProviders, *names: str) -> None:
    """Open a checkout of a new claim at each of these accounts."""
    claims = await payments.harness.create(*(f"INV-{number}" for number in range(len(names))))
    for claim_id, name in zip(claims, names, strict=True):
        intent = PaymentIntent(name, 10_240, RETURN_URL)
        await start_payment(
            payments.resources, providers, payments.harness.merchant, DEBTOR, claim_id, intent
        )


async def test_a_provider_that_hangs_delays_no_other_and_gets_few_calls_at_once(
    resources: Resources,
    database: Database,
    fakes: dict[str, FakeProviderProcess],
    stripes: dict[str, StripeProvider],
) -> None:
    clock = MovableClock(datetime.now(UTC))
    live = Resources(resources.settings, database, clock, resources.ids, resources.keys)
    methods = PaymentSettings(methods=tuple(PaymentMethod(name) for name in fakes))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=methods)
    payments = await a_payment_harness(live, clock, configuration=configuration)
    await _start(payments, stripes, *["a-hanging"] * 7, "b-quick")
    hanging, quick = fakes["a-hanging"], fakes["b-quick"]
    *_, last = await payments.harness.rows(_STATES)
    quick.act(last["provider_reference"], "pay")
    clock.advance(_MINUTE)
    hanging.break_answers("SLOW", seconds=3)
    hanging.take_requests()
    rounds = _check(payments, stripes)
    assert await rounds.run_once() == 1
    states = [(row["provider"], row["state"]) for row in await payments.harness.rows(_STATES)]
    assert states == [("a-hanging", "OPEN")] * 7 + [("b-quick", "COMPLETED")]
    # The provider has five calls, and none was answered yet.
    assert len(hanging.take_requests()) == 5
    # The account's round goes on, and no second one starts beside it.
    assert await rounds.run_once() == 0
    assert hanging.take_requests() == []
    hanging.repair()
    while not await rounds.run_once():
        pass
    assert sum(row["checks"] for row in await payments.harness.rows(_REQUESTS)) == 8
    await rounds.close()


async def test_an_account_without_answers_pauses_and_is_alerted_after_an_hour(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    payments.provider.is_away = True
    rounds = _check(payments, payments.providers)
    began = clock.now() + _MINUTE
    calls = []
    while clock.now() < began + _HOUR - _MINUTE:
        clock.advance(_MINUTE)
        calls.append(await rounds.run_once())
        assert await payments.harness.rows(_ALERTS) == []
    # The first check of a payment is after a minute, the second five minutes later.
    assert [place for place, made in enumerate(calls) if made] == [0, 5, 15, 25, 35, 45, 55]
    while not await payments.harness.rows(_ALERTS):
        clock.advance(_MINUTE)
        await rounds.run_once()
    [alert] = await payments.harness.rows(_ALERTS)
    assert (alert["kind"], alert["subject"]) == ("PAYMENT_ACCOUNT_FAILING", "sandbox")
    assert began + _HOUR <= alert["began_at"] < began + _HOUR + 10 * _MINUTE
    # The alert is renewed often enough not to end.
    for _ in range(60):
        clock.advance(_MINUTE)
        await rounds.run_once()
        [alert] = await payments.harness.rows(_ALERTS)
        assert clock.now() - alert["seen_at"] < 15 * _MINUTE
    payments.provider.is_away = False
    payments.pays()
    clock.advance(10 * _MINUTE)
    assert await rounds.run_once() == 1
    assert await payments.states() == ["COMPLETED"]


async def test_each_failure_in_a_row_makes_the_pause_of_an_account_longer(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    payments.provider.is_away = True
    rounds = _check(payments, payments.providers)
    clock.advance(_MINUTE)
    assert await rounds.run_once() == 1
    for minutes in (1, 2, 5, 10, 10):
        await _make_due(payments)
        clock.advance(minutes * _MINUTE - JUST)
        assert await rounds.run_once() == 0
        clock.advance(JUST)
        assert await rounds.run_once() == 1


async def test_after_an_answer_the_pauses_of_an_account_are_short_again(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    rounds = _check(payments, payments.providers)
    for is_away in (True, True, True, True, False, True):
        payments.provider.is_away = is_away
        clock.advance(10 * _MINUTE)
        await _make_due(payments)
        assert await rounds.run_once() == 1
    await _make_due(payments)
    clock.advance(_MINUTE)
    assert await rounds.run_once() == 1


async def test_nothing_is_called_for_a_missing_account_and_nothing_is_lost(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    installed: dict[str, Any] = {}
    rounds = _check(payments, installed)
    for _ in range(60):
        clock.advance(_HOUR)
        assert await rounds.run_once() == 0
    assert payments.provider.fetched == []
    [request] = await payments.harness.rows(_REQUESTS)
    assert request["checks"] == 0
    # One alert, which is renewed.
    [alert] = await payments.harness.rows(_ALERTS)
    assert (alert["kind"], alert["subject"]) == ("PAYMENT_ACCOUNT_MISSING", "sandbox")
    assert alert["seen_at"] == clock.now()
    installed.update(payments.providers)
    assert await rounds.run_once() == 1
    assert await payments.settle(started.request_id) is PaymentRequestState.COMPLETED
    assert await payments.count("payments") == 1


async def test_a_refund_waits_for_a_missing_account_and_is_then_sent_with_its_key(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays(12_000)
    await payments.settle(started.request_id)
    [paid] = await payments.harness.rows(_PAYMENTS)
    async with payments.harness.work() as work:
        order = await order_refund(work, payments.claim_id, paid["payment_id"], RefundOrder())
    installed: dict[str, Any] = {}
    rounds = _send(payments, installed)
    for _ in range(12):
        clock.advance(5 * _MINUTE)
        assert await rounds.run_once() == 0
    [refund] = await payments.harness.rows(_REFUNDS)
    assert (refund["state"], refund["attempts"]) == ("CREATED", 0)
    [alert] = await payments.harness.rows(_ALERTS)
    assert (alert["kind"], alert["subject"]) == ("PAYMENT_ACCOUNT_MISSING", "sandbox")
    installed.update(payments.providers)
    assert await rounds.run_once() == 1
    assert payments.provider.refunds == {order.refund_id: 1_760}


async def test_a_missing_account_is_alerted_before_its_next_check_is_due(
    payments: PaymentHarness,
) -> None:
    started = await payments.start()
    payments.pays()
    await payments.settle(started.request_id)
    # The next check is in a week.
    assert await _check(payments, {}).run_once() == 0
    [alert] = await payments.harness.rows(_ALERTS)
    assert alert["kind"] == "PAYMENT_ACCOUNT_MISSING"


async def test_a_weekly_check_without_an_answer_is_repeated_after_ten_minutes(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    await payments.settle(started.request_id)
    clock.advance(7 * _DAY)
    payments.provider.is_away = True
    assert await payments.sweep() == 1
    [request] = await payments.harness.rows(_REQUESTS)
    assert request["next_check_at"] == clock.now() + 10 * _MINUTE


async def test_the_last_check_of_a_payment_is_repeated_until_it_is_answered(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.pays()
    await payments.settle(started.request_id)
    clock.advance(401 * _DAY)
    payments.provider.is_away = True
    assert await payments.sweep() == 1
    payments.provider.is_away = False
    clock.advance(10 * _MINUTE)
    assert await payments.sweep() == 1
    [request] = await payments.harness.rows(_REQUESTS)
    assert request["next_check_at"] is None


async def test_a_check_that_fails_here_does_not_pause_the_account(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    await payments.start()
    wrong = CheckoutState(CheckoutStatus.PAID, [None])  # type: ignore[list-item]
    rounds = _check(payments, {"sandbox": ScriptedPaymentProvider(answer=wrong)})
    clock.advance(_MINUTE)
    assert await rounds.run_once() == 1
    await _make_due(payments)
    assert await rounds.run_once() == 1
