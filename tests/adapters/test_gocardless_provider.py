"""The adapter for GoCardless, with a fake GoCardless in a process of its own."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from dunwell.accounts.installation.payment_providers import GoCardlessAccount
from dunwell.adapters.payments.gocardless.objects import (
    GoCardlessEvent,
    GoCardlessPayment,
    list_payment_movements,
)
from dunwell.adapters.payments.gocardless.provider import GoCardlessProvider
from dunwell.cases.payments.provider import (
    CheckoutStatus,
    NotificationRejected,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
    PayoutMovement,
)
from tests.adapters.api_provider_contract import (
    REQUEST,
    AccountUnderTest,
    ApiProviderContract,
    describe,
)
from tests.adapters.provider_contract import ASKED, ProviderUnderTest
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake

SECRETS = {"accessTokenFile": b"live_9k", "webhookSecretFile": WEBHOOK_SECRET.encode()}


@pytest.fixture(scope="module")
def process() -> Iterator[FakeProviderProcess]:
    with a_fake("gocardless") as process:
        yield process


def build(fake: FakeProviderProcess, secrets: Mapping[str, bytes]) -> GoCardlessProvider:
    account = GoCardlessAccount(
        access_token_file="token", webhook_secret_file="secret",
        base_url=fake.origin, networks=("127.0.0.1",),
    )  # fmt: skip
    named = {f"paymentProviders/bank/{key}": value for key, value in secrets.items()}
    return GoCardlessProvider("bank", account, named, wait_seconds=(0.0, 0.0))


@pytest.fixture
async def account(process: FakeProviderProcess) -> AsyncIterator[AccountUnderTest]:
    process.repair()
    process.take_requests()
    adapter = build(process, SECRETS)
    yield AccountUnderTest(
        adapter=adapter,
        fake=process,
        build=lambda secrets: build(process, secrets),
        secrets=SECRETS,
        key="accessTokenFile",
        refund_permission=("refunds: write", "refunds: write"),
        required=("accessTokenFile", "webhookSecretFile"),
        test_key=b"sandbox_9k",
    )
    await adapter.close()


class TestGoCardless(ApiProviderContract):
    async def test_concurrent_and_later_requests_with_one_key_get_one_checkout(
        self, provider: ProviderUnderTest
    ) -> None:
        """Each has a page of its own, because a page cannot be fetched again."""
        first = await asyncio.gather(*(provider.adapter.open_checkout(ASKED) for _ in range(8)))
        again = await provider.adapter.open_checkout(replace(ASKED, language="en"))
        assert len({each.checkout_id for each in [*first, again]}) == 1


async def test_the_requests_follow_the_api(account: AccountUnderTest) -> None:
    request = replace(REQUEST, request_id=uuid4())
    checkout = await account.adapter.open_checkout(request)
    first, second = account.fake.take_requests()
    assert (first["method"], first["path"]) == ("POST", "/billing_requests")
    assert first["headers"]["gocardless-version"] == "2015-07-06"
    assert first["headers"]["authorization"] == "Bearer live_9k"
    assert first["headers"]["idempotency-key"] == str(request.request_id)
    names = {"reference": "INV-1001", "dunwell_request": str(request.request_id)}
    payment = {
        "description": "Nordwind Schuhe GmbH, INV-1001", "amount": 10_240, "currency": "EUR",
        "metadata": names,
    }  # fmt: skip
    assert json.loads(first["body"]) == {
        "billing_requests": {"payment_request": payment, "metadata": names}
    }
    assert (second["method"], second["path"]) == ("POST", "/billing_request_flows")
    assert json.loads(second["body"]) == {
        "billing_request_flows": {
            "redirect_uri": REQUEST.return_url, "exit_uri": REQUEST.return_url, "language": "de",
            "links": {"billing_request": checkout.checkout_id},
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("action", "status"),
    [("fail", CheckoutStatus.FAILED), ("cancel", CheckoutStatus.CANCELLED)],
)
async def test_failed_and_cancelled_checkouts_are_distinguished(
    account: AccountUnderTest, action: str, status: CheckoutStatus
) -> None:
    checkout_id = await account.open()
    account.fake.act(checkout_id, action)
    state = await account.adapter.fetch_checkout(checkout_id)
    assert (state.status, describe(state)) == (status, [])


async def test_money_that_fails_after_it_was_confirmed_is_charged_back(
    account: AccountUnderTest,
) -> None:
    checkout_id, paid = await account.open_paid()
    account.fake.act(checkout_id, "bounce")
    account.fake.act(checkout_id, "retry")
    assert (await account.list_movements(checkout_id))[1:] == [("CHARGED_BACK", 10_240)]
    account.fake.act(checkout_id, "settle")
    account.fake.act(checkout_id, "paid_out")
    state = await account.adapter.fetch_checkout(checkout_id)
    assert describe(state)[1:] == [("CHARGED_BACK", 10_240), ("PAID", 10_240)]
    ids = [each.movement_id for each in state.movements]
    assert ids == [paid.movement_id, paid.movement_id, f"{paid.movement_id}-2"]
    assert state.status is CheckoutStatus.PAID
    assert account.fake.count_money()[checkout_id] == 10_240


def test_a_chargeback_that_is_cancelled_between_two_requests_is_not_booked_again() -> None:
    """The payment is fetched before its events, which may be newer than its status."""
    at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    payment = GoCardlessPayment("PM1", "charged_back", 10_240, "EUR", at)
    actions = ("chargeback_cancelled", "charged_back", "confirmed")
    events = [
        GoCardlessEvent(f"EV{3 - age}", action, at + timedelta(days=3 - age))
        for age, action in enumerate(actions)
    ]
    kinds = [each.kind.value for each in list_payment_movements(payment, events)]
    assert kinds == ["PAID", "CHARGED_BACK", "CHARGEBACK_REVERSED"]


async def test_movements_remain_after_gocardless_deletes_its_events(
    account: AccountUnderTest,
) -> None:
    paid_id, first = await account.open_paid()
    disputed_id, _ = await account.open_paid()
    account.fake.act(disputed_id, "dispute")
    account.fake.act("", "forget_events")
    [again] = (await account.adapter.fetch_checkout(paid_id)).movements
    assert (again.movement_id, again.kind) == (first.movement_id, first.kind)
    assert await account.list_movements(disputed_id) == [
        ("PAID", 10_240), ("CHARGED_BACK", 10_240),
    ]  # fmt: skip


async def test_a_payout_lists_its_movements_and_fees(account: AccountUnderTest) -> None:
    account.fake.act("", "payout")
    _, paid = await account.open_paid()
    payout_id = account.fake.act("", "payout")["id"]
    payouts = await account.adapter.list_payouts(datetime.now(UTC) - timedelta(minutes=5))
    [payout] = [each for each in payouts if each.payout_id == payout_id]
    assert (payout.amount_cents, payout.fees_cents, payout.currency) == (10_220, 20, "EUR")
    assert payout.movements == [PayoutMovement(paid.movement_id, 10_240)]
    assert await account.adapter.list_payouts(datetime.now(UTC) + timedelta(minutes=5)) == []


async def test_a_payout_is_negative_if_chargebacks_exceed_payments(
    account: AccountUnderTest,
) -> None:
    _, paid = await account.open_paid()
    account.fake.act("", "payout")
    account.fake.act(paid.movement_id, "dispute")
    payout_id = account.fake.act("", "payout")["id"]
    payouts = await account.adapter.list_payouts(datetime.now(UTC) - timedelta(minutes=5))
    [payout] = [each for each in payouts if each.payout_id == payout_id]
    assert (payout.amount_cents, payout.fees_cents) == (-10_240, 0)
    assert payout.movements == [PayoutMovement(paid.movement_id, -10_240)]


async def test_a_notification_names_every_object_once(account: AccountUnderTest) -> None:
    checkout_id, paid = await account.open_paid()
    refund_id = await account.adapter.refund(checkout_id, paid, 1, uuid4())
    state = await account.adapter.fetch_checkout(checkout_id)
    assert state.related_ids == [paid.movement_id, refund_id]
    for each in (checkout_id, paid.movement_id, refund_id):
        notification = account.fake.build_notification(each)
        assert account.adapter.parse_notification(*notification) == [each]


async def test_a_notification_that_is_not_signed_is_rejected(account: AccountUnderTest) -> None:
    checkout_id = await account.open()
    headers, body = account.fake.build_notification(checkout_id)
    for given, content in (
        (headers, body + b" "), (headers, b""), ({}, body), ({"webhook-signature": ""}, body),
        ({"webhook-signature": "é"}, body),
    ):  # fmt: skip
        with pytest.raises(NotificationRejected):
            account.adapter.parse_notification(given, content)


async def test_another_means_of_payment_is_refused(account: AccountUnderTest) -> None:
    await account.open(means="PAY_BY_BANK")
    account.fake.take_requests()
    with pytest.raises(PaymentProviderRefused, match="CARD"):
        await account.open(means="CARD")
    assert account.fake.take_requests() == []


async def test_an_answer_about_another_payment_is_not_used(account: AccountUnderTest) -> None:
    checkout_id, _ = await account.open_paid()
    [payment_id] = (await account.adapter.fetch_checkout(checkout_id)).related_ids
    account.fake.break_answers("OTHER", times=1)
    with pytest.raises(PaymentProviderUnavailable):
        await account.adapter.fetch_checkout(payment_id)
    state = await account.adapter.fetch_checkout(payment_id)
    assert state.status is CheckoutStatus.PAID


async def test_concurrent_refunds_with_one_key_are_made_once(account: AccountUnderTest) -> None:
    checkout_id, paid = await account.open_paid()
    key = uuid4()
    ids = await asyncio.gather(
        *(account.adapter.refund(checkout_id, paid, 5_000, key) for _ in range(4))
    )
    assert len({*ids}) == 1
