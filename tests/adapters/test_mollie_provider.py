"""The adapter for Mollie, with a fake Mollie in a process of its own."""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from dunwell.accounts.installation.payment_providers import MollieAccount
from dunwell.adapters.payments.mollie.provider import MollieProvider
from dunwell.cases.payments.provider import (
    CheckoutCancellation,
    CheckoutStatus,
    NotificationRejected,
    PaymentProviderUnavailable,
    PayoutMovement,
)
from tests.adapters.api_provider_contract import (
    REQUEST,
    AccountUnderTest,
    ApiProviderContract,
    describe,
)
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake

SECRETS = {
    "apiKeyFile": b"live_4c", "accessTokenFile": b"access_7d",
    "webhookSecretFile": WEBHOOK_SECRET.encode(),
}  # fmt: skip


@pytest.fixture(scope="module")
def process() -> Iterator[FakeProviderProcess]:
    with a_fake("mollie") as process:
        yield process


def build(fake: FakeProviderProcess, secrets: Mapping[str, bytes]) -> MollieProvider:
    account = MollieAccount(
        api_key_file="key", base_url=fake.origin, networks=("127.0.0.1",)
    )  # fmt: skip
    named = {f"paymentProviders/shop/{key}": value for key, value in secrets.items()}
    return MollieProvider("shop", account, named, wait_seconds=(0.0, 0.0))


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
        key="apiKeyFile",
        refund_permission=("Refunds: write", "Refunds: write"),
        required=("apiKeyFile",),
        test_key=b"test_4c",
    )
    await adapter.close()


class TestMollie(ApiProviderContract):
    pass


async def test_the_request_follows_the_api(account: AccountUnderTest) -> None:
    request = replace(REQUEST, request_id=uuid4(), means="CARD", amount_cents=7)
    await account.adapter.open_checkout(request)
    [sent] = account.fake.take_requests()
    assert (sent["method"], sent["path"]) == ("POST", "/v2/payments")
    assert sent["headers"]["authorization"] == "Bearer live_4c"
    assert sent["headers"]["idempotency-key"] == str(request.request_id)
    assert json.loads(sent["body"]) == {
        "amount": {"currency": "EUR", "value": "0.07"},
        "description": "Nordwind Schuhe GmbH, INV-1001",
        "redirectUrl": REQUEST.return_url, "cancelUrl": REQUEST.return_url,
        "webhookUrl": REQUEST.notification_url, "locale": "de_DE", "method": "creditcard",
        "metadata": {"reference": "INV-1001", "dunwell_request": str(request.request_id)},
    }  # fmt: skip


async def test_the_means_of_payment_is_masked(account: AccountUnderTest) -> None:
    _, paid = await account.open_paid()
    assert paid.method == "Visa •••• 4242"
    _, paid = await account.open_paid(means="IDEAL")
    assert paid.method == "Ideal"


@pytest.mark.parametrize(
    ("action", "status"),
    [
        ("fail", CheckoutStatus.FAILED), ("cancel", CheckoutStatus.CANCELLED),
        ("expire", CheckoutStatus.EXPIRED),
    ],
)  # fmt: skip
async def test_failed_cancelled_and_expired_checkouts_are_distinguished(
    account: AccountUnderTest, action: str, status: CheckoutStatus
) -> None:
    checkout_id = await account.open()
    account.fake.act(checkout_id, action)
    state = await account.adapter.fetch_checkout(checkout_id)
    assert (state.status, describe(state)) == (status, [])
    assert await account.adapter.cancel_checkout(checkout_id) is CheckoutCancellation.CANCELLED


async def test_some_means_of_payment_cannot_be_cancelled(account: AccountUnderTest) -> None:
    checkout_id = await account.open(means="IDEAL")
    account.fake.take_requests()
    assert await account.adapter.cancel_checkout(checkout_id) is CheckoutCancellation.CANNOT_CANCEL
    assert [each["method"] for each in account.fake.take_requests()] == ["GET"]
    assert (await account.adapter.fetch_checkout(checkout_id)).status is CheckoutStatus.OPEN


async def test_a_cancelled_refund_moves_money_back(account: AccountUnderTest) -> None:
    checkout_id, paid = await account.open_paid()
    refund_id = await account.adapter.refund(checkout_id, paid, 40, uuid4())
    account.fake.act(refund_id, "process")
    assert (await account.list_movements(checkout_id))[1:] == []
    account.fake.act(refund_id, "cancel")
    assert (await account.list_movements(checkout_id))[1:] == [
        ("REFUNDED", 40), ("REFUND_FAILED", 40),
    ]  # fmt: skip
    state = await account.adapter.fetch_checkout(checkout_id)
    assert state.related_ids == [refund_id]


async def test_payouts_are_read_with_the_organisations_token(account: AccountUnderTest) -> None:
    account.fake.act("", "payout")
    checkout_id, paid = await account.open_paid()
    refund_id = await account.adapter.refund(checkout_id, paid, 240, uuid4())
    account.fake.act(refund_id, "settle")
    settlement_id = account.fake.act("", "payout")["id"]
    since = datetime.now(UTC) - timedelta(minutes=5)
    account.fake.take_requests()
    payouts = await account.adapter.list_payouts(since)
    [payout] = [each for each in payouts if each.payout_id == settlement_id]
    assert (payout.amount_cents, payout.fees_cents, payout.currency) == (9_971, 29, "EUR")
    assert payout.movements == [
        PayoutMovement(checkout_id, 10_240), PayoutMovement(refund_id, -240),
    ]  # fmt: skip
    tokens = {each["headers"]["authorization"] for each in account.fake.take_requests()}
    assert tokens == {"Bearer access_7d"}
    assert await account.adapter.list_payouts(datetime.now(UTC) + timedelta(minutes=5)) == []
    without = {key: value for key, value in SECRETS.items() if key != "accessTokenFile"}
    other = account.build(without)
    assert await other.list_payouts(since) == []
    assert await other.find_access_problems() == []
    await other.close()
    account.fake.call("permissions", missing=["settlements.read"])
    assert await account.adapter.find_access_problems() == [
        'The key lacks the permission "settlements.read".'
    ]


async def test_a_payout_is_negative_if_chargebacks_exceed_payments(
    account: AccountUnderTest,
) -> None:
    checkout_id, _ = await account.open_paid()
    account.fake.act("", "payout")
    chargeback_id = account.fake.act(checkout_id, "dispute", amount=10_000)["_dispute"]
    settlement_id = account.fake.act("", "payout")["id"]
    payouts = await account.adapter.list_payouts(datetime.now(UTC) - timedelta(minutes=5))
    [payout] = [each for each in payouts if each.payout_id == settlement_id]
    assert (payout.amount_cents, payout.fees_cents) == (-10_000, 0)
    assert payout.movements == [PayoutMovement(chargeback_id, -10_000)]


async def test_an_unsigned_notification_names_a_payment(account: AccountUnderTest) -> None:
    parse = account.adapter.parse_notification
    assert parse({}, b"id=tr_5B8cwPMGnU") == ["tr_5B8cwPMGnU"]
    for body in (b"", b"id=", b"id=a&id=b", b"id=..%2Fx", b"\xff", b'{"id": "tr_1"}', b"x=1"):
        with pytest.raises(NotificationRejected):
            parse({}, body)
    with pytest.raises(NotificationRejected):
        parse({}, b"&".join([b"id=tr_1"] * 100_000))


async def test_a_signed_notification_must_have_the_right_signature(
    account: AccountUnderTest,
) -> None:
    checkout_id = await account.open()
    headers, body = account.fake.build_notification(checkout_id)
    adapter = account.adapter
    assert adapter.parse_notification(headers, body) == [checkout_id]
    given = headers["x-mollie-signature"]
    changed = given[:-1] + ("0" if given[-1] != "0" else "1")
    for signature, content in ((given, body + b" "), (changed, body), ("", body), ("é", body)):
        with pytest.raises(NotificationRejected):
            adapter.parse_notification({"x-mollie-signature": signature}, content)
    without = {key: value for key, value in SECRETS.items() if key != "webhookSecretFile"}
    with pytest.raises(NotificationRejected):
        account.build(without).parse_notification(headers, body)


@pytest.mark.parametrize("value", ["10", "10.0", "10.000", "ten", "1e5", "-", "99999999999.00"])
async def test_an_amount_that_is_not_in_cents_is_not_read(
    account: AccountUnderTest, value: str
) -> None:
    checkout_id, _ = await account.open_paid()
    account.fake.act(checkout_id, "corrupt", value=value)
    with pytest.raises(PaymentProviderUnavailable):
        await account.adapter.fetch_checkout(checkout_id)
    account.fake.act(checkout_id, "corrupt", value="102.40")


async def test_a_fake_that_is_killed_keeps_its_state(tmp_path: Path) -> None:
    """Tests that kill processes rely on it."""
    with a_fake("mollie", tmp_path / "state.json") as fake:
        adapter = build(fake, SECRETS)
        request = replace(REQUEST, request_id=uuid4())
        checkout_id = (await adapter.open_checkout(request)).checkout_id
        fake.act(checkout_id, "pay")
        fake.kill()
        with pytest.raises(PaymentProviderUnavailable):
            await adapter.fetch_checkout(checkout_id)
        fake.start()
        assert (await adapter.fetch_checkout(checkout_id)).status is CheckoutStatus.PAID
        assert (await adapter.open_checkout(request)).checkout_id == checkout_id
        await adapter.close()
