"""An account at a payment provider whose contract has ended: nothing new is started through it,
what it has received is read as long as its key works, and it can be removed."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.installation_file import check_installation, list_secret_files
from dunwell.adapters.payment_providers import build_payment_provider
from dunwell.cases.payments.provider import (
    PaymentProviderKeyRejected,
    PaymentProviders,
    PaymentProviderUnavailable,
)
from dunwell.cases.payments.refunds.send_refunds import RefundOrders
from dunwell.cases.payments.refunds.store import RefundEffect, RefundRefusal, RefundState
from dunwell.cases.payments.requests.account_rounds import (
    AccountRounds,
)
from dunwell.cases.payments.requests.check_payments import PaymentChecks
from dunwell.cases.payments.requests.closed_accounts import find_closed_failure
from dunwell.cases.payments.review_money import list_refunds_to_review
from dunwell.interfaces.landing.payment.payment_choice import list_methods
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.durations import JUST
from tests.support.payments import PaymentHarness, a_payment_harness
from tests.support.refunds import list_refund_states, order, pay, send

_HOUR = timedelta(hours=1)
_SHORT_PAUSES = [timedelta(minutes=minutes) for minutes in (1, 2, 5, 10)]
_ALERTS = "SELECT kind FROM alerts WHERE $1 > 0"
_CHECKS = "SELECT state, next_check_at FROM payment_requests WHERE merchant_id = $1"
STRIPE: dict[str, Any] = {
    "adapter": "stripe", "secretKeyFile": "stripe.key", "webhookSecretFile": "stripe.whsec",
}  # fmt: skip


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


def _reject(*_: object) -> None:
    raise PaymentProviderKeyRejected("The payment provider does not accept the key.")


def _fail(*_: object) -> None:
    raise PaymentProviderUnavailable("No answer.")


def _let_calls(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch, end: Callable[..., None]
) -> None:
    async def call(*_: object) -> Any:
        end()

    for name in ("refund", "fetch_checkout"):
        monkeypatch.setattr(payments.provider, name, call)


def _check(payments: PaymentHarness, providers: PaymentProviders) -> AccountRounds:
    work = PaymentChecks(payments.resources, providers)
    return AccountRounds(payments.resources, providers, work)


async def _apply(resources: Resources, accounts: dict[str, Any]) -> list[str]:
    installation = check_installation({"paymentProviders": accounts})
    return (await apply_installation(resources, installation, {})).changes


async def _name_account(payments: PaymentHarness, name: str = "cards") -> None:
    """Let everything of the provider belong to an account of the installation file."""
    for table in ("payment_requests", "payment_refunds", "payment_movements"):
        await payments.harness.rows(
            f"UPDATE {table} SET provider = $2 WHERE merchant_id = $1", name
        )


async def test_no_payment_is_offered_or_started_through_a_closed_account(
    payments: PaymentHarness,
) -> None:
    merchant = payments.harness.merchant
    assert len(list_methods(payments.providers, merchant)) == 1
    payments.provider.is_closed = True
    assert list_methods(payments.providers, merchant) == []
    with pytest.raises(ValidationError) as refused:
        await payments.start()
    assert [fault.code for fault in refused.value.faults] == ["NOT_ALLOWED"]
    assert payments.provider.started == []


async def test_a_debtor_who_pays_while_the_account_is_closed_is_found(
    payments: PaymentHarness, clock: MovableClock
) -> None:
    started = await payments.start()
    payments.provider.is_closed = True
    payments.pays()
    clock.advance(timedelta(minutes=1))
    assert await payments.sweep() == 1
    assert await payments.states() == ["COMPLETED"]
    assert await payments.count("payments") == 1
    # The debtor's return finds the same payment.
    await payments.settle(started.request_id)
    assert await payments.count("payments") == 1


async def test_a_refund_is_ordered_through_a_closed_account_as_long_as_its_key_works(
    payments: PaymentHarness,
) -> None:
    payment_id = await pay(payments)
    payments.provider.is_closed = True
    await order(payments, payment_id, amount_cents=500, effect=RefundEffect.REOPEN)
    await send(payments)
    assert await list_refund_states(payments) == [RefundState.ACCEPTED]


@pytest.mark.parametrize(
    ("is_closed", "end", "state"),
    [
        (True, _reject, RefundState.REFUSED),
        (True, _fail, RefundState.CREATED),
        (False, _reject, RefundState.CREATED),
    ],
)
async def test_a_refund_is_left_to_staff_when_the_key_of_a_closed_account_no_longer_works(
    payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch, is_closed: bool,
    end: Callable[..., None], state: RefundState,
) -> None:  # fmt: skip
    payment_id = await pay(payments)
    await order(payments, payment_id, amount_cents=500, effect=RefundEffect.REOPEN)
    payments.provider.is_closed = is_closed
    _let_calls(payments, monkeypatch, end)
    await send(payments)
    assert await list_refund_states(payments) == [state]
    async with payments.harness.work() as work:
        found = (await list_refunds_to_review(work, limit=10)).items
    expected = [RefundRefusal.ACCOUNT_CLOSED] if state is RefundState.REFUSED else []
    assert [each.refund.refusal for each in found] == expected


async def test_nobody_is_alerted_of_a_closed_account_and_staff_sees_since_when_it_fails(
    payments: PaymentHarness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await payments.start()
    payments.provider.is_closed = True
    rounds = _check(payments, payments.providers)
    clock.advance(timedelta(minutes=1))
    with monkeypatch.context() as patched:
        _let_calls(payments, patched, _reject)
        began = clock.now()
        assert await rounds.run_once() == 1
        for pause in (*_SHORT_PAUSES, 1 * _HOUR, 6 * _HOUR, 24 * _HOUR, 24 * _HOUR):
            await payments.harness.rows(
                "UPDATE payment_requests SET next_check_at = created_at WHERE merchant_id = $1"
            )
            clock.advance(pause - JUST)
            assert await rounds.run_once() == 0
            clock.advance(JUST)
            assert await rounds.run_once() == 1
    assert await payments.harness.rows(_ALERTS) == []
    async with payments.harness.work() as work:
        assert await find_closed_failure(work, "sandbox") == began
    # The account works again, for example because the operator has given it another key.
    clock.advance(24 * _HOUR)
    assert await rounds.run_once() == 1
    async with payments.harness.work() as work:
        assert await find_closed_failure(work, "sandbox") is None


async def test_a_closed_account_can_be_removed_and_its_work_is_given_up(
    payments: PaymentHarness, resources: Resources, clock: MovableClock
) -> None:
    payment_id = await pay(payments)
    await order(payments, payment_id, amount_cents=500, effect=RefundEffect.REOPEN)
    await _name_account(payments)
    await _apply(resources, {"cards": STRIPE})
    with pytest.raises(ValidationError):
        await _apply(resources, {})
    await _apply(resources, {"cards": {**STRIPE, "closed": True}})
    # With another adapter, the wrong provider would be asked for the account's checkouts.
    with pytest.raises(ValidationError):
        await _apply(resources, {"cards": {"adapter": "mollie", "apiKeyFile": "key"}})
    changes = await _apply(resources, {})
    given_up = next(line for line in changes if "removed for good" in line)
    assert "refunds and chargebacks: 1." in given_up
    assert "left to the merchants' staff: 1." in given_up
    for kind in (PaymentChecks, RefundOrders):
        assert await AccountRounds(resources, {}, kind(resources, {})).run_once() == 0
    assert await payments.harness.rows(_ALERTS) == []
    [request] = await payments.harness.rows(_CHECKS)
    assert (request["state"], request["next_check_at"]) == ("COMPLETED", None)
    async with payments.harness.work() as work:
        [found] = (await list_refunds_to_review(work, limit=10)).items
    assert found.refund.refusal == RefundRefusal.ACCOUNT_CLOSED


async def test_an_open_checkout_of_a_removed_account_expires(
    payments: PaymentHarness, resources: Resources
) -> None:
    await payments.start()
    await _name_account(payments)
    await _apply(resources, {"cards": {**STRIPE, "closed": True}})
    await _apply(resources, {})
    await _check(payments, {}).run_once()
    [request] = await payments.harness.rows(_CHECKS)
    assert (request["state"], request["next_check_at"]) == ("EXPIRED", None)


@pytest.mark.parametrize("is_closed", [False, True])
async def test_the_work_of_an_account_whose_key_cannot_be_read_is_not_given_up(
    payments: PaymentHarness, resources: Resources, is_closed: bool
) -> None:
    """It is still in the installation file, for example after a restore with another secret key."""
    await payments.start()
    await _name_account(payments)
    await _apply(resources, {"other": STRIPE, "cards": {**STRIPE, "closed": is_closed}})
    await _apply(resources, {"cards": {**STRIPE, "closed": is_closed}})
    await _check(payments, {}).run_once()
    [request] = await payments.harness.rows(_CHECKS)
    assert request["state"] == "OPEN"
    assert request["next_check_at"] is not None
    alerts = await payments.harness.rows(_ALERTS)
    assert [row["kind"] for row in alerts] == ["PAYMENT_ACCOUNT_MISSING"]


async def test_a_merchant_that_names_a_closed_account_keeps_it_from_being_removed(
    payments: PaymentHarness, resources: Resources
) -> None:
    await payments.harness.rows(
        "UPDATE merchants SET configuration = jsonb_set(configuration::jsonb, "
        "'{payment,methods}', '[{\"provider\": \"cards\"}]') WHERE merchant_id = $1"
    )
    await _apply(resources, {"cards": {**STRIPE, "closed": True}})
    with pytest.raises(ValidationError) as refused:
        await _apply(resources, {})
    assert "nordwind" in refused.value.faults[0].message


@pytest.mark.parametrize("is_closed", [False, True])
def test_each_kind_of_account_can_be_closed(clock: MovableClock, is_closed: bool) -> None:
    accounts = {
        "a": STRIPE,
        "b": {"adapter": "mollie", "apiKeyFile": "key"},
        "c": {"adapter": "gocardless", "accessTokenFile": "token", "webhookSecretFile": "secret"},
    }
    document = {name: {**each, "closed": is_closed} for name, each in accounts.items()}
    installation = check_installation({"paymentProviders": document})
    secrets = dict.fromkeys(list_secret_files(installation), b"live_1")
    for name, account in (installation.payment_providers or {}).items():
        provider = build_payment_provider(name, account, secrets, clock)
        assert provider.is_closed is is_closed
