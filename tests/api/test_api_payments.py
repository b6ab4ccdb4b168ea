"""Payments that were made elsewhere are recorded and reversed."""

from tests.support.api import Api

PAYMENT = {"amount": 10240, "currency": "EUR", "transactionId": "bank-1"}


async def test_a_full_payment_collects_the_claim(api: Api) -> None:
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


async def test_a_payment_in_another_currency_and_in_the_future_is_refused(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    for changes, path in (
        ({"currency": "USD"}, "/currency"), ({"paidAt": "2027-01-01T00:00:00Z"}, "/paidAt"),
    ):  # fmt: skip
        answer = await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, **changes})

        assert answer.status_code == 422
        assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [path]
    assert await api.count("payments") == 0


async def a_payment(api: Api, amount: int = 10240) -> tuple[int, str]:
    """Return the ids of a new claim and its payment."""
    [claim_id] = await api.nordwind.create()
    answer = await api.nordwind.post(f"/claims/{claim_id}/payments", {**PAYMENT, "amount": amount})
    return claim_id, answer.json()["result"]["id"]


async def test_a_reversed_payment_is_owed_again_and_the_workflow_continues(api: Api) -> None:
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
