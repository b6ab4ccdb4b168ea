"""`/callbacks/payments/<provider>`: valid, forged, early, replayed and repeated notifications."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import httpx
import pytest

from dunwell.adapters.payments.callbacks import callback_routes
from dunwell.adapters.payments.sandbox.provider import SandboxProvider
from dunwell.cases.payments.provider import PaymentProviders
from dunwell.cases.payments.requests.start_payment import PaymentIntent, start_payment
from dunwell.core.claims.states import Status
from dunwell.interfaces.api.app import build_app
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import KeyRing
from dunwell.platform.resources import Resources
from tests.support.children import INSPECTOR
from tests.support.payments import DEBTOR, PaymentHarness, a_payment_harness
from tests.support.sandbox_provider import a_notification, decide

_REFERENCE = "SELECT provider_reference FROM payment_requests WHERE merchant_id = $1"
_NEXT_CHECK = "SELECT next_check_at FROM payment_requests WHERE merchant_id = $1"
_ENVELOPE = {"error": None, "result": None}


@dataclass
class OpenCheckout:
    """A claim with an open checkout at the sandbox provider, and a client for its notifications."""

    payments: PaymentHarness
    http: httpx.AsyncClient
    reference: str

    async def send(
        self, headers: dict[str, str], body: bytes, provider: str = "sandbox"
    ) -> httpx.Response:
        path = f"/callbacks/payments/{provider}"
        return await self.http.post(path, content=body, headers=headers)

    async def notify(self) -> httpx.Response:
        return await self.send(*a_notification(self.payments.resources, self.reference))

    async def has_changed(self) -> bool:
        facts = (await self.payments.states(), await self.payments.events())
        unpaid = await self.payments.count("payments") == 0
        return facts != (["OPEN"], ["PAYMENT_IN_PROGRESS"]) or not unpaid


@pytest.fixture
async def checkout(resources: Resources, clock: MovableClock) -> AsyncIterator[OpenCheckout]:
    payments = await a_payment_harness(resources, clock)
    providers: PaymentProviders = {"sandbox": SandboxProvider(resources)}
    wanted = PaymentIntent("sandbox", 10240, "http://127.0.0.1:8000/claim")
    await start_payment(
        resources, providers, payments.harness.merchant, DEBTOR, payments.claim_id, wanted
    )
    [row] = await payments.harness.rows(_REFERENCE)
    app = build_app(resources, [], INSPECTOR, callback_routes(resources, providers))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
        yield OpenCheckout(payments, http, row["provider_reference"])


async def test_a_notification_records_the_payment(checkout: OpenCheckout) -> None:
    await decide(checkout.payments.resources, checkout.reference, "pay")
    answer = await checkout.notify()
    assert (answer.status_code, answer.json()) == (200, _ENVELOPE)
    assert await checkout.payments.states() == ["COMPLETED"]
    claim = await checkout.payments.harness.read(checkout.payments.claim_id)
    assert claim.status is Status.COLLECTED
    assert await checkout.payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_concurrent_notifications_record_one_payment(checkout: OpenCheckout) -> None:
    await decide(checkout.payments.resources, checkout.reference, "pay")
    answers = await asyncio.gather(*(checkout.notify() for _ in range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert await checkout.payments.count("payments") == 1
    assert await checkout.payments.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_a_notification_changes_nothing_unless_the_provider_confirms_it(
    checkout: OpenCheckout,
) -> None:
    assert (await checkout.notify()).status_code == 200
    assert not await checkout.has_changed()


async def test_after_ten_notifications_in_a_minute_the_periodic_check_asks_the_provider(
    checkout: OpenCheckout, clock: MovableClock
) -> None:
    for _ in range(10):
        await checkout.notify()
    await decide(checkout.payments.resources, checkout.reference, "pay")
    assert (await checkout.notify()).status_code == 200
    assert not await checkout.has_changed()
    [row] = await checkout.payments.harness.rows(_NEXT_CHECK)
    assert row["next_check_at"] == clock.now()
    clock.advance(timedelta(minutes=1) - timedelta(microseconds=1))
    await checkout.notify()
    assert not await checkout.has_changed()
    clock.advance(timedelta(microseconds=1))
    await checkout.notify()
    assert await checkout.payments.states() == ["COMPLETED"]


async def test_a_forged_notification_changes_nothing(
    checkout: OpenCheckout, resources: Resources, capsys: pytest.CaptureFixture[str]
) -> None:
    await decide(resources, checkout.reference, "pay")
    headers, body = a_notification(resources, checkout.reference)
    stranger = Resources(
        resources.settings,
        resources.database,
        resources.clock,
        resources.ids,
        KeyRing({1: b"x" * 32}),
    )
    for forged in (
        ({}, body),
        ({**headers, "webhook-signature": "v1,AAAA"}, body),
        ({**headers, "webhook-id": "another"}, body),
        (headers, body + b" "),
        a_notification(stranger, checkout.reference),
    ):
        answer = await checkout.send(*forged)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRequest")
        assert answer.json()["result"] is None
    assert capsys.readouterr().out.count("CALLBACK_FORGED") == 5
    assert not await checkout.has_changed()


async def test_a_notification_replayed_after_five_minutes_changes_nothing(
    checkout: OpenCheckout, clock: MovableClock
) -> None:
    replayed = a_notification(checkout.payments.resources, checkout.reference)
    await decide(checkout.payments.resources, checkout.reference, "pay")
    clock.advance(timedelta(minutes=5, seconds=1))
    assert (await checkout.send(*replayed)).status_code == 400
    assert not await checkout.has_changed()


async def test_a_payment_in_another_currency_is_left_to_staff(checkout: OpenCheckout) -> None:
    await decide(checkout.payments.resources, checkout.reference, "pay")
    await checkout.payments.harness.rows(
        "UPDATE sandbox_checkouts SET currency = 'USD' WHERE merchant_id = $1"
    )
    assert (await checkout.notify()).status_code == 200
    assert await checkout.payments.count("payments") == 0
    assert await checkout.payments.audited("paymentRequest.mismatch") == 1


async def test_a_notification_of_an_unknown_checkout_is_accepted_and_changes_nothing(
    checkout: OpenCheckout,
) -> None:
    for reference in ("sbx_7_" + "0" * 32, checkout.reference.replace("sbx_", "sbx_1")):
        answer = await checkout.send(*a_notification(checkout.payments.resources, reference))
        assert answer.status_code == 200
    other = await checkout.send(
        *a_notification(checkout.payments.resources, checkout.reference), "elsewhere"
    )
    assert (other.status_code, other.json()["error"]["type"]) == (404, "NotFound")
    assert not await checkout.has_changed()


async def test_a_body_that_is_too_large_is_refused(checkout: OpenCheckout) -> None:
    answer = await checkout.send({}, b"x" * (256 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "PayloadTooLarge")
    assert not await checkout.has_changed()


async def test_a_get_request_is_not_a_notification(checkout: OpenCheckout) -> None:
    await decide(checkout.payments.resources, checkout.reference, "pay")
    answer = await checkout.http.get("/callbacks/payments/sandbox")
    assert (answer.status_code, answer.json()["error"]["type"]) == (405, "MethodNotAllowed")
    assert not await checkout.has_changed()
