"""`/callbacks/payments/<provider>`: notices over HTTP, good, forged, early, late and twice."""

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
from tests.support.payments import DEBTOR, Till, a_till
from tests.support.sandbox_provider import a_notice, decide

_REFERENCE = "SELECT provider_reference FROM payment_requests WHERE merchant_id = $1"
_ENVELOPE = {"error": None, "result": None}


@dataclass
class Counter:
    """A claim with an open checkout at the sandbox provider, and the address of its notices."""

    till: Till
    http: httpx.AsyncClient
    reference: str

    async def send(
        self, headers: dict[str, str], body: bytes, provider: str = "sandbox"
    ) -> httpx.Response:
        path = f"/callbacks/payments/{provider}"
        return await self.http.post(path, content=body, headers=headers)

    async def notify(self) -> httpx.Response:
        return await self.send(*a_notice(self.till.resources, self.reference))

    async def has_changed(self) -> bool:
        facts = (await self.till.states(), await self.till.events())
        unpaid = await self.till.count("payments") == 0
        return facts != (["OPEN"], ["PAYMENT_IN_PROGRESS"]) or not unpaid


@pytest.fixture
async def counter(resources: Resources, clock: MovableClock) -> AsyncIterator[Counter]:
    till = await a_till(resources, clock)
    providers: PaymentProviders = {"sandbox": SandboxProvider(resources)}
    wanted = PaymentIntent("sandbox", 10240, "http://127.0.0.1:8000/claim")
    await start_payment(resources, providers, till.house.merchant, DEBTOR, till.claim_id, wanted)
    [row] = await till.house.rows(_REFERENCE)
    app = build_app(resources, [], INSPECTOR, callback_routes(resources, providers))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as http:
        yield Counter(till, http, row["provider_reference"])


async def test_a_notice_of_a_payment_books_it(counter: Counter) -> None:
    await decide(counter.till.resources, counter.reference, "pay")
    answer = await counter.notify()
    assert (answer.status_code, answer.json()) == (200, _ENVELOPE)
    assert await counter.till.states() == ["COMPLETED"]
    claim = await counter.till.house.read(counter.till.claim_id)
    assert claim.status is Status.COLLECTED
    assert await counter.till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_notices_that_come_twice_and_together_are_one_payment(counter: Counter) -> None:
    await decide(counter.till.resources, counter.reference, "pay")
    answers = await asyncio.gather(*(counter.notify() for _ in range(6)))
    assert {answer.status_code for answer in answers} == {200}
    assert await counter.till.count("payments") == 1
    assert await counter.till.events() == ["PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED"]


async def test_a_notice_is_not_believed(counter: Counter) -> None:
    """It says that something happened; the provider, when asked, says that nothing did."""
    assert (await counter.notify()).status_code == 200
    assert not await counter.has_changed()


async def test_a_forged_notice_changes_nothing(
    counter: Counter, resources: Resources, capsys: pytest.CaptureFixture[str]
) -> None:
    await decide(resources, counter.reference, "pay")
    headers, body = a_notice(resources, counter.reference)
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
        a_notice(stranger, counter.reference),
    ):
        answer = await counter.send(*forged)
        assert (answer.status_code, answer.json()["error"]["type"]) == (400, "InvalidRequest")
        assert answer.json()["result"] is None
    assert capsys.readouterr().out.count("CALLBACK_FORGED") == 5
    assert not await counter.has_changed()


async def test_a_notice_replayed_after_five_minutes_changes_nothing(
    counter: Counter, clock: MovableClock
) -> None:
    replayed = a_notice(counter.till.resources, counter.reference)
    await decide(counter.till.resources, counter.reference, "pay")
    clock.advance(timedelta(minutes=5, seconds=1))
    assert (await counter.send(*replayed)).status_code == 400
    assert not await counter.has_changed()


async def test_a_checkout_paid_with_another_amount_changes_nothing(counter: Counter) -> None:
    await decide(counter.till.resources, counter.reference, "pay")
    await counter.till.house.rows(
        "UPDATE sandbox_checkouts SET amount_cents = 1 WHERE merchant_id = $1"
    )
    assert (await counter.notify()).status_code == 200
    assert not await counter.has_changed()
    assert await counter.till.audited("paymentRequest.mismatch") == 1


async def test_a_notice_of_a_checkout_nobody_knows_yet_is_to_be_sent_again(
    counter: Counter,
) -> None:
    for reference in ("sbx_7_" + "0" * 32, counter.reference.replace("sbx_", "sbx_1")):
        answer = await counter.send(*a_notice(counter.till.resources, reference))
        assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")
    other = await counter.send(*a_notice(counter.till.resources, counter.reference), "elsewhere")
    assert (other.status_code, other.json()["error"]["type"]) == (404, "NotFound")
    assert not await counter.has_changed()


async def test_a_body_that_is_too_large_is_refused(counter: Counter) -> None:
    answer = await counter.send({}, b"x" * (64 * 1024 + 1))
    assert (answer.status_code, answer.json()["error"]["type"]) == (413, "PayloadTooLarge")
    assert not await counter.has_changed()


async def test_looking_at_the_address_is_no_notice(counter: Counter) -> None:
    await decide(counter.till.resources, counter.reference, "pay")
    answer = await counter.http.get("/callbacks/payments/sandbox")
    assert (answer.status_code, answer.json()["error"]["type"]) == (405, "MethodNotAllowed")
    assert not await counter.has_changed()
