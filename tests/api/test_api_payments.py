"""Payments made elsewhere, recorded over HTTP."""

from typing import Any

import pytest

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
