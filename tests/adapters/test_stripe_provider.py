"""The adapter for Stripe, with a fake Stripe in a process of its own."""

import hmac
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import parse_qsl
from uuid import uuid4

import pytest

from dunwell.accounts.installation.payment_providers import StripeAccount
from dunwell.adapters.payments.stripe.objects import build_session_form
from dunwell.adapters.payments.stripe.provider import API_VERSION, StripeProvider
from dunwell.cases.payments.provider import (
    CheckoutStatus,
    MoneyMovement,
    MovementKind,
    NotificationRejected,
    PaymentProviderRefused,
    PaymentProviderUnavailable,
)
from dunwell.platform.clock import MovableClock
from tests.adapters.api_provider_contract import REQUEST, AccountUnderTest, ApiProviderContract
from tests.fakes.process import parse_nested
from tests.support.fake_providers import WEBHOOK_SECRET, FakeProviderProcess, a_fake

NAMES = {"secretKeyFile": b"rk_live_51abc", "webhookSecretFile": WEBHOOK_SECRET.encode()}


@pytest.fixture(scope="module")
def process() -> Iterator[FakeProviderProcess]:
    with a_fake("stripe") as process:
        yield process


@pytest.fixture
def fake(process: FakeProviderProcess) -> FakeProviderProcess:
    process.repair()
    process.take_requests()
    return process


def build(
    fake: FakeProviderProcess, secrets: Mapping[str, bytes] = NAMES, now: datetime | None = None
) -> StripeProvider:
    """`secrets` by their keys in the installation file."""
    account = StripeAccount(
        secret_key_file="key", webhook_secret_file="secret",
        base_url=fake.origin, networks=("127.0.0.1",),
    )  # fmt: skip
    named = {f"paymentProviders/cards/{key}": value for key, value in secrets.items()}
    clock = MovableClock(now or datetime.now(UTC))
    return StripeProvider("cards", account, named, clock, wait_seconds=(0.0, 0.0))


@pytest.fixture
async def adapter(fake: FakeProviderProcess) -> AsyncIterator[StripeProvider]:
    adapter = build(fake)
    yield adapter
    await adapter.close()


@pytest.fixture
def account(adapter: StripeProvider, fake: FakeProviderProcess) -> AccountUnderTest:
    return AccountUnderTest(
        adapter=adapter,
        fake=fake,
        build=lambda secrets: build(fake, secrets),
        secrets=NAMES,
        key="secretKeyFile",
        refund_permission=("Charges and Refunds: write", "Charges and Refunds: write"),
        required=("secretKeyFile", "webhookSecretFile"),
        test_key=b"rk_test_51abc",
    )


class TestStripe(ApiProviderContract):
    pass


async def open_one(adapter: StripeProvider, **changes: Any) -> str:
    request = replace(REQUEST, request_id=uuid4(), **changes)
    return (await adapter.open_checkout(request)).checkout_id


def list_kinds(movements: Any) -> list[tuple[str, int]]:
    return [(each.kind.value, each.amount_cents) for each in movements]


async def test_the_request_follows_the_api(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    request = replace(REQUEST, request_id=uuid4(), means="SEPA_DEBIT")
    checkout = await adapter.open_checkout(request)
    assert checkout.url == f"{fake.origin}/pay/{checkout.checkout_id}"
    assert checkout.ends_at is not None
    assert timedelta(hours=23) < checkout.ends_at - datetime.now(UTC) <= timedelta(hours=24)
    [sent] = fake.take_requests()
    assert (sent["method"], sent["path"]) == ("POST", "/v1/checkout/sessions")
    headers = sent["headers"]
    assert headers["stripe-version"] == API_VERSION
    assert headers["authorization"] == "Bearer rk_live_51abc"
    assert headers["idempotency-key"] == str(request.request_id)
    assert headers["content-type"] == "application/x-www-form-urlencoded"
    names = {"reference": "INV-1001", "dunwell_request": str(request.request_id)}
    price = {
        "currency": "eur", "unit_amount": "10240",
        "product_data": {"name": "Nordwind Schuhe GmbH, INV-1001"},
    }  # fmt: skip
    assert parse_nested(parse_qsl(sent["body"])) == {
        "mode": "payment", "locale": "de", "client_reference_id": str(request.request_id),
        "success_url": REQUEST.return_url, "cancel_url": REQUEST.return_url,
        "line_items": {"0": {"quantity": "1", "price_data": price}},
        "allowed_payment_method_types": {"0": "sepa_debit"},
        "metadata": names,
        "payment_intent_data": {
            "description": "Nordwind Schuhe GmbH, INV-1001", "metadata": names,
        },
    }  # fmt: skip


async def test_a_paid_checkout_lists_its_charge(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    assert (await adapter.fetch_checkout(checkout_id)).status is CheckoutStatus.OPEN
    fake.act(checkout_id, "pay")
    state = await adapter.fetch_checkout(checkout_id)
    assert state.status is CheckoutStatus.PAID
    [paid] = state.movements
    assert (paid.kind, paid.amount_cents, paid.currency, paid.method) == (
        MovementKind.PAID, 10_240, "EUR", "Visa •••• 4242",
    )  # fmt: skip
    assert paid.moved_at.tzinfo is not None
    assert paid.movement_id in state.related_ids
    assert await adapter.fetch_checkout(checkout_id) == state


async def test_a_declined_card_leaves_the_checkout_open(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    fake.act(checkout_id, "fail")
    assert (await adapter.fetch_checkout(checkout_id)).status is CheckoutStatus.OPEN
    fake.act(checkout_id, "pay")
    state = await adapter.fetch_checkout(checkout_id)
    assert list_kinds(state.movements) == [("PAID", 10_240)]


async def test_a_refund_moves_money_once_it_succeeded(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    fake.act(checkout_id, "later")
    fake.act(checkout_id, "settle")
    [paid] = (await adapter.fetch_checkout(checkout_id)).movements
    refund_id = await adapter.refund(checkout_id, paid, 240, uuid4())
    assert list_kinds((await adapter.fetch_checkout(checkout_id)).movements)[1:] == []
    fake.act(refund_id, "ask")
    assert list_kinds((await adapter.fetch_checkout(checkout_id)).movements)[1:] == []
    fake.act(refund_id, "settle")
    state = await adapter.fetch_checkout(checkout_id)
    assert list_kinds(state.movements)[1:] == [("REFUNDED", 240)]
    assert state.movements[1].movement_id == refund_id
    fake.act(refund_id, "fail")
    state = await adapter.fetch_checkout(checkout_id)
    assert list_kinds(state.movements)[1:] == [("REFUNDED", 240), ("REFUND_FAILED", 240)]
    assert {each.movement_id for each in state.movements[1:]} == {refund_id}
    assert state.status is CheckoutStatus.PAID


async def test_a_dispute_counts_when_money_is_withdrawn_and_reinstated(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    fake.act(checkout_id, "pay")
    fake.act(checkout_id, "dispute", inquiry=True)
    state = await adapter.fetch_checkout(checkout_id)
    assert list_kinds(state.movements) == [("PAID", 10_240)]
    dispute_id = fake.act(checkout_id, "dispute", amount=10_000)["_dispute"]
    fake.act(dispute_id, "win")
    state = await adapter.fetch_checkout(checkout_id)
    assert list_kinds(state.movements)[1:] == [
        ("CHARGED_BACK", 10_000), ("CHARGEBACK_REVERSED", 10_000),
    ]  # fmt: skip
    assert {each.movement_id for each in state.movements[1:]} == {dispute_id}


@pytest.mark.parametrize(("advice", "attempts"), [("true", 3), ("false", 1)])
async def test_the_header_stripe_should_retry_is_followed(
    fake: FakeProviderProcess, advice: str, attempts: int
) -> None:
    fake.call("fault", mode="DOWN" if advice == "false" else "RATE_LIMITED", advice=advice)
    adapter = build(fake)
    with pytest.raises(PaymentProviderUnavailable):
        await open_one(adapter)
    await adapter.close()
    assert len(fake.take_requests()) == attempts


async def test_a_payout_lists_its_movements_and_fees(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    fake.act("", "payout")
    one, two = await open_one(adapter), await open_one(adapter)
    for each in (one, two):
        fake.act(each, "pay")
    [paid] = (await adapter.fetch_checkout(one)).movements
    refund_id = await adapter.refund(one, paid, 240, uuid4())
    payout_id = fake.act("", "payout")["id"]
    payouts = await adapter.list_payouts(datetime.now(UTC) - timedelta(days=1))
    [payout] = [each for each in payouts if each.payout_id == payout_id]
    [other] = (await adapter.fetch_checkout(two)).movements
    assert {(each.movement_id, each.amount_cents) for each in payout.movements} == {
        (paid.movement_id, 10_240), (other.movement_id, 10_240), (refund_id, -240),
    }  # fmt: skip
    assert payout.fees_cents == 2 * (25 + 153)
    assert payout.amount_cents == 2 * 10_240 - 240 - payout.fees_cents
    assert payout.currency == "EUR"


async def test_a_payout_is_negative_if_chargebacks_exceed_payments(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    fake.act(checkout_id, "pay")
    fake.act("", "payout")
    dispute_id = fake.act(checkout_id, "dispute", amount=10_000)["_dispute"]
    payout_id = fake.act("", "payout")["id"]
    payouts = await adapter.list_payouts(datetime.now(UTC) - timedelta(days=1))
    [payout] = [each for each in payouts if each.payout_id == payout_id]
    assert payout.amount_cents == -10_000 - payout.fees_cents
    [moved] = payout.movements
    assert (moved.movement_id, moved.amount_cents) == (dispute_id, -10_000)


def sign(body: bytes, at: int, secret: str = WEBHOOK_SECRET) -> dict[str, str]:
    digest = hmac.digest(secret.encode(), f"{at}.".encode() + body, "sha256").hex()
    return {"stripe-signature": f"t={at},v1={digest}"}


async def test_a_notification_names_session_payment_and_charge(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    headers, body = fake.build_notification(checkout_id)
    assert adapter.parse_notification(headers, body) == [checkout_id]
    fake.act(checkout_id, "pay")
    state = await adapter.fetch_checkout(checkout_id)
    dispute_id = fake.act(checkout_id, "dispute")["_dispute"]
    named = adapter.parse_notification(*fake.build_notification(dispute_id))
    assert named == [dispute_id, *state.related_ids]


async def test_a_notification_that_is_not_stripes_is_rejected(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter)
    headers, body = fake.build_notification(checkout_id)
    assert headers["stripe-signature"].count("v1=") == 2
    assert adapter.parse_notification(headers, body) == [checkout_id]
    signed_at = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    adapter, now = build(fake, now=signed_at), int(signed_at.timestamp())
    for each in (now - 300, now + 300):
        assert adapter.parse_notification(sign(body, each), body) == [checkout_id]
    rejected: list[tuple[dict[str, str], bytes]] = [
        (headers, body + b" "), (headers, b""), ({}, body), ({"stripe-signature": "é"}, body),
        (sign(body, now - 301), body), (sign(body, now + 301), body),
        (sign(body, now, "another"), body),
        ({"stripe-signature": sign(body, now)["stripe-signature"].replace("v1", "v0")}, body),
        ({"stripe-signature": f"t={now},t={now}," + sign(body, now)["stripe-signature"]}, body),
        *(
            (sign(each, now), each)
            for each in (b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"id": "evt_1", "type": "x"}')
        ),
    ]  # fmt: skip
    for given, content in rejected:
        with pytest.raises(NotificationRejected):
            adapter.parse_notification(given, content)


async def test_invalid_ids_in_a_notification_are_ignored(adapter: StripeProvider) -> None:
    named = {"id": "../x", "payment_intent": {"id": "pi_1"}, "charge": "ch_1"}
    event = {"id": "evt_1", "type": "charge.updated", "data": {"object": named}}
    body = json.dumps(event).encode()
    now = int(datetime.now(UTC).timestamp())
    assert adapter.parse_notification(sign(body, now), body) == ["ch_1"]


async def test_a_list_of_several_pages_is_read_to_its_end(
    adapter: StripeProvider, fake: FakeProviderProcess
) -> None:
    checkout_id = await open_one(adapter, amount_cents=130)
    fake.act(checkout_id, "pay")
    [paid] = (await adapter.fetch_checkout(checkout_id)).movements
    for _ in range(105):
        fake.act(checkout_id, "refund_one_cent")
    movements = (await adapter.fetch_checkout(checkout_id)).movements
    assert len({each.movement_id for each in movements}) == 106
    assert isinstance(paid, MoneyMovement)


def test_the_refusal_of_a_means_of_payment_names_those_that_are_offered() -> None:
    with pytest.raises(PaymentProviderRefused, match="It offers CARD, PAYPAL"):
        build_session_form(replace(REQUEST, means="PAY_BY_BANK"))
