"""Checkouts that debtors leave, pay late, pay after they were cancelled, or pay twice: each cent is
booked once."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import PaymentMethod, PaymentSettings
from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutState,
    CheckoutStatus,
    PaymentProviders,
)
from dunwell.cases.payments.requests.live_requests import cancel_request
from dunwell.cases.payments.requests.request_states import PaymentRequestState
from dunwell.cases.payments.requests.settle_payment import settle_payment
from dunwell.cases.payments.requests.start_payment import (
    PaymentIntent,
    StartedPayment,
    start_payment,
)
from dunwell.cases.payments.requests.store import list_requests_of_provider_ids
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.merchants import CONFIGURATION
from tests.support.payments import (
    DEBTOR,
    RETURN_URL,
    PaymentHarness,
    ScriptedPaymentProvider,
    a_paid_checkout,
    a_payment_harness,
)
from tests.support.refunds import read_balance


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


class TwoAccounts:
    """A claim that can be paid through two accounts."""

    def __init__(self, payments: PaymentHarness) -> None:
        self.payments = payments
        self.first, self.second = payments.provider, ScriptedPaymentProvider(name="second")

    @property
    def providers(self) -> PaymentProviders:
        return {"sandbox": self.first, "second": self.second}

    async def start(self, name: str) -> StartedPayment:
        payments = self.payments
        return await start_payment(
            payments.resources, self.providers, payments.harness.merchant, DEBTOR,
            payments.claim_id, PaymentIntent(name, 10240, RETURN_URL),
        )  # fmt: skip

    async def settle(self, started: StartedPayment) -> Any:
        payments = self.payments
        return await settle_payment(
            payments.resources, self.providers, payments.merchant_id, started.request_id
        )


@pytest.fixture
async def accounts(resources: Resources, clock: MovableClock) -> TwoAccounts:
    methods = PaymentSettings(methods=(PaymentMethod("sandbox"), PaymentMethod("second")))
    configuration = msgspec.structs.replace(CONFIGURATION, payment=methods)
    return TwoAccounts(await a_payment_harness(resources, clock, configuration=configuration))


async def test_a_checkout_is_cancelled_when_the_debtor_chooses_another_account(
    accounts: TwoAccounts,
) -> None:
    accounts.first.cancellation = CheckoutCancellation.CANCELLED
    first = await accounts.start("sandbox")
    await accounts.start("second")
    assert accounts.first.cancelled == [f"ref-{first.request_id}"]
    assert await accounts.payments.states() == ["CANCELLED", "OPEN"]


async def test_two_checkouts_that_are_both_paid_make_a_surplus_that_is_shown(
    accounts: TwoAccounts,
) -> None:
    """Some checkouts cannot be cancelled."""
    first, second = await accounts.start("sandbox"), await accounts.start("second")
    now = accounts.payments.now
    accounts.first.answer = a_paid_checkout("psp-1", 10240, "EUR", now)
    accounts.second.answer = a_paid_checkout("psp-2", 10240, "EUR", now)
    for each in (first, second, first, second):
        assert await accounts.settle(each) is PaymentRequestState.COMPLETED
    assert await read_balance(accounts.payments) == (Status.COLLECTED, 0, 10240)
    assert await accounts.payments.count("payments") == 2


async def test_a_checkout_that_staff_cancelled_and_the_debtor_paid_is_booked(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    async with payments.harness.work() as work:
        await cancel_request(work, started.request_id)
    assert await payments.states() == ["CANCELLED"]
    payments.pays()
    clock.advance(timedelta(minutes=1))
    assert await payments.sweep() == 1
    assert await payments.states() == ["COMPLETED"]
    assert await read_balance(payments) == (Status.COLLECTED, 0, 0)


async def test_a_checkout_that_is_paid_while_it_is_cancelled_is_booked_and_no_other_is_opened(
    payments: PaymentHarness,
) -> None:
    await payments.start()
    await payments.harness.pay(payments.claim_id, 240, "bank-1")
    payments.provider.cancellation = CheckoutCancellation.ALREADY_PAID

    async def pay() -> None:
        payments.pays()

    payments.provider.during_cancel = pay
    with pytest.raises(InvalidState):
        await payments.start(10000)
    assert await payments.states() == ["COMPLETED"]
    assert await read_balance(payments) == (Status.COLLECTED, 0, 240)


async def test_a_debtor_who_closes_the_browser_after_paying_has_paid(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    """Neither a return nor a notification arrives; the money takes a while."""
    await payments.start()
    payments.provider.answer = CheckoutState(CheckoutStatus.PENDING)
    clock.advance(timedelta(minutes=1))
    assert await payments.sweep() == 1
    assert await payments.states() == ["PENDING"]
    payments.pays()
    clock.advance(timedelta(minutes=5))
    assert await payments.sweep() == 1
    assert await payments.states() == ["COMPLETED"]


async def test_a_notification_to_another_account_names_no_checkout(
    payments: PaymentHarness,
) -> None:
    """The owner of one account must not make us check the payments of another."""
    started = await payments.start()
    ids = [f"ref-{started.request_id}"]
    async with payments.resources.database.connection() as connection:
        assert await list_requests_of_provider_ids(connection, "second", ids) == []
        found = await list_requests_of_provider_ids(connection, "sandbox", ids)
    assert found == [(payments.merchant_id, started.request_id)]
