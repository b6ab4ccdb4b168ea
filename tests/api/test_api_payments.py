"""Payments made elsewhere, recorded over HTTP."""

from typing import Any

import pytest

from dunwell.core.claims.raise_event import publish_event
from dunwell.core.events.payloads import (
    EventPaymentData,
    details_accessed,
    payment_completed,
    payment_in_progress,
)
from tests.support.api import Api

PAYMENT = {"amount": 10240, "currency": "EUR", "transactionId": "bank-1"}


async def test_a_payment_in_full_collects_the_claim(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    answer = await api.nordwind.post(
        f"/claims/{claim_id}/payments",
        {**PAYMENT, "providerName": "BANK_TRANSFER", "paidAt": "2026-03-01T12:00:00+01:00"},
    )

    payment = answer.json()["result"]
    assert payment == {
        "id": payment["id"],
        "claimId": claim_id,
        "amount": 10240,
        "currency": "EUR",
        "transactionId": "bank-1",
        "providerName": "BANK_TRANSFER",
        "paidAt": "2026-03-01T11:00:00.000Z",
        "reversedAt": None,
        "claimStatus": "COLLECTED",
        "outstanding": "0",
        "overpaid": "0",
    }
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert (claim["status"], claim["nextStepAt"]) == ("COLLECTED", None)


async def test_the_same_transaction_twice_is_one_payment(api: Api) -> None:
    [claim_id] = await api.nordwind.create()

    answers = [
        await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, "amount": 100})
        for _ in range(2)
    ]

    assert answers[0].content == answers[1].content
    assert await api.count("payments") == 1


@pytest.mark.parametrize(
    ("changes", "paths"),
    [
        ({"amount": "10240"}, {"/amount"}),
        ({"amount": 0}, {"/amount"}),
        ({"amount": 102.4}, {"/amount"}),
        ({"amount": True}, {"/amount"}),
        ({"currency": "eur"}, {"/currency"}),
        ({"currency": "USD"}, {"/currency"}),
        ({"transactionId": "a\x00"}, {"/transactionId"}),
        ({"paidAt": "2026-03-01"}, {"/paidAt"}),
        ({"paidAt": "2027-01-01T00:00:00Z"}, {"/paidAt"}),
        ({"ammount": 1}, {"/ammount"}),
        ({"amount": -1, "currency": 3, "x": None}, {"/amount", "/currency", "/x"}),
    ],
)
async def test_a_faulty_payment_is_refused_and_changes_nothing(
    api: Api, changes: dict[str, Any], paths: set[str]
) -> None:
    [claim_id] = await api.nordwind.create()

    answer = await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, **changes})

    assert answer.status_code == 422
    assert {each["path"] for each in answer.json()["error"]["details"]["errors"]} == paths
    assert await api.count("payments") == 0


async def test_the_same_transaction_with_another_amount_is_refused(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, "amount": 100})

    answer = await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, "amount": 200})

    assert (answer.status_code, answer.json()["error"]["type"]) == (409, "InvalidState")


async def a_payment(api: Api, amount: int = 10240) -> tuple[int, str]:
    """The ids of a new claim and its payment."""
    [claim_id] = await api.nordwind.create()
    answer = await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, "amount": amount})
    return claim_id, answer.json()["result"]["id"]


async def test_a_reversed_payment_is_owed_again_and_the_process_goes_on(api: Api) -> None:
    claim_id, payment_id = await a_payment(api)

    answer = await api.nordwind.post(f"/claims/{claim_id}/payments/{payment_id}/reverse")

    assert answer.json()["result"] == {
        "id": payment_id,
        "claimId": claim_id,
        "amount": 10240,
        "currency": "EUR",
        "transactionId": "bank-1",
        "providerName": None,
        "paidAt": "2026-03-02T09:00:00.000Z",
        "reversedAt": "2026-03-02T09:00:00.000Z",
        "claimStatus": "CREATED",
        "outstanding": "10240",
        "overpaid": "0",
    }
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert (claim["status"], claim["nextStepAt"]) == ("CREATED", "2026-03-02T09:00:00.000Z")


@pytest.mark.parametrize("key", [None, "key-1"])
async def test_the_same_reversal_again_is_the_same_answer(api: Api, key: str | None) -> None:
    claim_id, payment_id = await a_payment(api)
    path = f"/claims/{claim_id}/payments/{payment_id}/reverse"

    answers = [await api.nordwind.post(path, key=key) for _ in range(2)]

    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].content == answers[1].content
    assert await api.count("allocations") == 0


@pytest.mark.parametrize("payment_id", ["01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33", "1", "x", "%00"])
async def test_an_unknown_payment_cannot_be_reversed(api: Api, payment_id: str) -> None:
    claim_id, _ = await a_payment(api)

    answer = await api.nordwind.post(f"/claims/{claim_id}/payments/{payment_id}/reverse")

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")
    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert claim["status"] == "COLLECTED"


async def test_another_merchants_payment_is_as_good_as_absent(api: Api) -> None:
    _, payment_id = await a_payment(api)
    [theirs] = await api.hansen.create("B-1")

    answer = await api.hansen.post(f"/claims/{theirs}/payments/{payment_id}/reverse")

    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "NotFound")
    assert await api.count("allocations") == 1


async def test_events_of_a_payment_are_listed_as_the_document_says(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    request = EventPaymentData(
        "sandbox", 10240, "EUR", api.resources.ids.new(api.resources.clock.now())
    )
    session_id = api.resources.ids.new(api.resources.clock.now())
    async with api.harness.work() as work:
        for compose in (
            lambda head: details_accessed(head, session_id, "EMAIL"),
            lambda head: payment_in_progress(head, request, "INV-1001"),
            lambda head: payment_completed(head, request, "psp-1"),
        ):
            await publish_event(work, claim_id, compose)

    listed = (await api.nordwind.get("/events")).json()["result"]["items"]

    assert [each["type"] for each in listed] == [
        "DETAILS_ACCESSED", "PAYMENT_IN_PROGRESS", "PAYMENT_COMPLETED",
    ]  # fmt: skip
