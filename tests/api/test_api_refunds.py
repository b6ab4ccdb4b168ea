"""Refunds are ordered and listed, and movements of money are listed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.payments import PAYING, PaymentHarness, ScriptedPaymentProvider, send_refunds


@pytest.fixture
async def api(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    async with an_api(resources, clock, configuration=PAYING) as api:
        yield api


async def receive(api: Api, cents: int = 12000) -> tuple[PaymentHarness, str]:
    """Return a claim of 102.40 EUR that was paid through the provider, and the payment's path."""
    [claim_id] = await api.nordwind.create()
    payments = PaymentHarness(api.harness, ScriptedPaymentProvider(), claim_id)
    started = await payments.start()
    payments.pays(cents)
    await payments.settle(started.request_id)
    listed = await api.nordwind.get(f"/claims/{claim_id}/payments")
    [payment] = listed.json()["result"]["items"]
    return payments, f"/claims/{claim_id}/payments/{payment['id']}"


async def read(api: Api, path: str) -> list[Any]:
    items: list[Any] = (await api.nordwind.get(path)).json()["result"]["items"]
    return items


async def test_the_surplus_is_refunded_without_a_body(api: Api) -> None:
    payments, path = await receive(api)

    answer = await api.nordwind.post(f"{path}/refund")

    refund = answer.json()["result"]
    assert refund == {
        "id": refund["id"],
        "claimId": payments.claim_id,
        "paymentId": path.rpartition("/")[2],
        "amount": 1760,
        "currency": "EUR",
        "effect": "SURPLUS",
        "state": "CREATED",
        "reason": None,
        "movementId": None,
        "refusal": None,
        "refusalText": None,
        "reviewedAt": None,
        "createdAt": "2026-03-02T09:00:00.000Z",
    }


async def test_a_refund_becomes_a_movement_that_changes_the_payment(api: Api) -> None:
    payments, path = await receive(api)
    claim = f"/claims/{payments.claim_id}"
    order = {"amount": 2000, "effect": "REOPEN", "reason": "Goodwill"}

    refund = (await api.nordwind.post(f"{path}/refund", order)).json()["result"]
    await send_refunds(payments.resources, payments.providers)
    [accepted] = await read(api, f"{claim}/refunds")
    moved = MoneyMovement(accepted["movementId"], MovementKind.REFUNDED, 2000, "EUR", payments.now)
    payments.moves(moved)
    [row] = await api.harness.rows("SELECT request_id FROM payment_requests WHERE merchant_id = $1")
    await payments.settle(row["request_id"])

    assert accepted == {**refund, "state": "ACCEPTED", "movementId": f"refund-{refund['id']}"}
    [booked] = await read(api, f"{claim}/refunds")
    assert (booked["state"], booked["reason"]) == ("BOOKED", "Goodwill")
    movements = await read(api, f"{claim}/movements")
    assert [(each["kind"], each["amount"], each["booked"]) for each in movements] == [
        ("REFUNDED", 2000, 2000), ("PAID", 12000, 12000),
    ]  # fmt: skip
    assert movements == await read(api, "/movements?account=sandbox")
    [payment] = await read(api, f"{claim}/payments")
    assert (payment["amount"], payment["returned"]) == (12000, 2000)
    assert (await api.nordwind.get(claim)).json()["result"]["outstanding"] == "240"


async def test_more_than_the_surplus_requires_its_effect(api: Api) -> None:
    _, path = await receive(api)

    answer = await api.nordwind.post(f"{path}/refund", {"amount": 1761})

    assert answer.status_code == 422
    [fault] = answer.json()["error"]["details"]["errors"]
    assert fault == {
        "path": "/effect",
        "code": "REQUIRED",
        "message": (
            "More than the surplus of 1760 cents is refunded: choose REDUCE_CLAIM if the amount is "
            "given up, or REOPEN if it is owed again."
        ),
    }
    assert await api.count("payment_refunds") == 0


@pytest.mark.parametrize(
    ("order", "path"),
    [
        ({"amount": 0}, "/amount"),
        ({"amount": 12001, "effect": "REOPEN"}, "/amount"),
        ({"amount": 1761, "effect": "SURPLUS"}, "/effect"),
        ({"effect": "GIFT"}, "/effect"),
        ({"reason": "two\nlines"}, "/reason"),
        ({"cents": 1}, "/cents"),
    ],
)
async def test_a_faulty_order_is_refused(api: Api, order: dict[str, Any], path: str) -> None:
    _, payment = await receive(api)

    answer = await api.nordwind.post(f"{payment}/refund", order)

    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [path]
    assert await api.count("payment_refunds") == 0


async def test_a_repeated_request_with_a_key_orders_one_refund(api: Api) -> None:
    _, path = await receive(api)

    answers = [
        await api.nordwind.post(f"{path}/refund", {"amount": 100}, key="refund-7") for _ in range(2)
    ]

    assert answers[0].content == answers[1].content
    assert await api.count("payment_refunds") == 1


async def test_a_payment_made_elsewhere_is_not_refunded(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    payment = {"amount": 12000, "currency": "EUR", "transactionId": "bank-1"}
    paid = await api.nordwind.post(f"/claims/{claim_id}/payments", payment)

    answer = await api.nordwind.post(
        f"/claims/{claim_id}/payments/{paid.json()['result']['id']}/refund"
    )

    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "InvalidState")
    assert answer.json()["error"]["details"] == {"state": "NOT_REFUNDABLE"}
    assert await api.count("payment_refunds") == 0
