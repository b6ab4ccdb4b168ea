"""No merchant sees another's data: every route, with the other merchant's ids (PROMISES 16)."""

import re
from typing import Any

import pytest

from dunwell.api.catalogue import ENDPOINTS
from dunwell.api.operation import Operation
from dunwell.kit.clock import MovableClock
from dunwell.merchants.actor import Actor, ActorKind
from dunwell.merchants.allow_credential import allow_credential
from tests.support.api import Api, Client
from tests.support.claims import a_claim

OPERATIONS = [endpoint.operation for endpoint in ENDPOINTS]
WITH_CLAIM = [each for each in OPERATIONS if "{claim_id}" in each.path]
ABSENT_CLAIM, ABSENT_WORKFLOW = 999_999, "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"
ABSENT_PAYMENT = "01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33"


async def send(
    client: Client, operation: Operation, merchant_id: int, **ids: object
) -> tuple[int, str]:
    """The answer to a good request on these ids: status, and body with the ids masked."""
    values: dict[str, object] = {
        "claim_id": ABSENT_CLAIM,
        "workflow_id": ABSENT_WORKFLOW,
        "payment_id": ABSENT_PAYMENT,
        **ids,
    }
    path = operation.path.format(merchant_id=merchant_id, **values)
    answer = await client.send(operation.method, path, **good_body(operation))
    text = answer.text
    for value in (merchant_id, *values.values()):
        text = re.sub(rf"\b{value}\b", "ID", text)
    return answer.status_code, text


def good_body(operation: Operation) -> dict[str, Any]:
    bodies: dict[str, dict[str, Any]] = {
        "uploadFile": {"files": {"friendlyName": (None, "A"), "fileName": ("a.pdf", b"%PDF-")}},
        "createClaims": {"json": [a_claim()]},
        "recordPayment": {"json": {"amount": 1, "currency": "EUR", "transactionId": "t"}},
        "assignToWorkflow": {"json": [1]},
        "advanceTestClock": {"json": {"advanceTo": "2026-03-10T09:00:00Z"}},
    }
    return bodies.get(operation.operation_id, {})


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.operation_id)
async def test_another_merchant_is_absent_to_the_byte(api: Api, operation: Operation) -> None:
    [claim_id] = await api.hansen.create("B-1")

    theirs = await send(api.nordwind, operation, api.hansen.merchant_id, claim_id=claim_id)
    absent = await send(api.nordwind, operation, 2_000_000)

    assert theirs == absent
    assert theirs[0] == 404


@pytest.mark.parametrize("operation", WITH_CLAIM, ids=lambda each: each.operation_id)
async def test_another_merchants_claim_is_absent_to_the_byte(
    api: Api, operation: Operation
) -> None:
    [claim_id] = await api.hansen.create("B-1")

    theirs = await send(api.nordwind, operation, api.nordwind.merchant_id, claim_id=claim_id)
    absent = await send(api.nordwind, operation, api.nordwind.merchant_id)

    assert theirs == absent
    assert theirs[0] == 404
    assert await api.count("payments") == 0


async def test_another_merchants_workflow_is_absent_to_the_byte(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    [theirs] = [each for each in OPERATIONS if each.operation_id == "assignToWorkflow"]
    listed = (await api.hansen.get("/workflows-meta")).json()["result"]

    async def ask(workflow_id: str) -> tuple[int, str]:
        return await send(api.nordwind, theirs, api.nordwind.merchant_id, workflow_id=workflow_id)

    assert await ask(listed[0]["id"]) == await ask(ABSENT_WORKFLOW)
    assert (await ask(ABSENT_WORKFLOW))[0] == 404
    assert claim_id


async def test_lists_hold_the_merchants_own_only(api: Api) -> None:
    await api.hansen.create("B-1")
    await api.house.run()

    assert (await api.nordwind.get("/events")).json()["result"]["items"] == []
    assert len((await api.hansen.get("/events")).json()["result"]["items"]) == 1
    [own] = (await api.nordwind.get("/workflows-meta")).json()["result"]
    [other] = (await api.hansen.get("/workflows-meta")).json()["result"]
    assert own["id"] != other["id"]


async def test_a_credential_reaches_another_merchant_once_allowed(
    api: Api, clock: MovableClock
) -> None:
    path = f"/merchants/{api.nordwind.merchant_id}/workflows-meta"
    assert (await api.hansen.send("GET", path)).status_code == 404

    async with api.house.work(Actor(ActorKind.OPERATOR, "cli")) as work:
        await allow_credential(work, api.hansen.credential.client_id, now=clock.now())

    assert (await api.hansen.send("GET", path)).status_code == 200
    back = f"/merchants/{api.hansen.merchant_id}/workflows-meta"
    assert (await api.nordwind.send("GET", back)).status_code == 404
