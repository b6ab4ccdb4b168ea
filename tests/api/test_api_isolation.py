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
from tests.support.files import a_pdf

OPERATIONS = [endpoint.operation for endpoint in ENDPOINTS]
WITH_CLAIM = [each for each in OPERATIONS if "{claim_id}" in each.path]
ABSENT_CLAIM, ABSENT_WORKFLOW = 999_999, "0195547a-1f40-7c3e-9a41-6f1f0c2f9d11"
ABSENT_SCENARIO, ABSENT_ITEM = 888_888, 777_777
ABSENT_MODALITY = "01955b00-7a10-7c44-9b1d-2e5f60718293"
ABSENT_PAYMENT = "01955a1c-0c00-7e55-b1a4-0d6c1e1f2a33"
ABSENT_COMMUNICATION = "0195547b-2b11-7c9a-a0b1-c2d3e4f50617"
ABSENT_DISPUTE = "01955b2e-4c00-7a1f-8d3b-5a6978c0d1e2"
ABSENT_ATTACHMENT = "01955c04-1180-7f02-a6de-31b2c3d4e5f6"
TICKET = {"sourceType": "TICKET", "source": "0195547a-1f40-7c3e-9a41-6f1f0c2f9d12"}


async def send(
    client: Client, operation: Operation, merchant_id: int, **ids: object
) -> tuple[int, str]:
    """The answer to a good request on these ids: status, and body with the ids masked."""
    values: dict[str, object] = {
        "claim_id": ABSENT_CLAIM,
        "workflow_id": ABSENT_WORKFLOW,
        "payment_id": ABSENT_PAYMENT,
        "item_id": ABSENT_ITEM,
        "dispute_id": ABSENT_DISPUTE,
        "attachment_id": ABSENT_ATTACHMENT,
        "modality_id": ABSENT_MODALITY,
        "scenario_id": ABSENT_SCENARIO,
        "reference": ABSENT_COMMUNICATION,
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
        "changeClaim": {"json": {"email": "new@example.org"}},
        "addFee": {"json": {"type": "DUNNING_FEE", "value": "250"}},
        "addItem": {"json": {"reference": "x", "type": "PRIMARY", "value": "1"}},
        "recordPayment": {"json": {"amount": 1, "currency": "EUR", "transactionId": "t"}},
        "attachFile": {"json": TICKET},
        "replaceAttachment": {"json": TICKET},
        "openDispute": {"json": {"type": "DEFECTIVE"}},
        "resolveDispute": {"json": {"outcome": "ACCEPTED"}},
        "assignToWorkflow": {"json": [1]},
        "assignToScenario": {"json": [1]},
        "replayEvents": {"json": {"since": "2026-03-01T00:00:00Z"}},
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


async def test_another_merchants_dispute_is_absent_to_the_byte(api: Api) -> None:
    [own], [theirs] = await api.nordwind.create(), await api.hansen.create("B-1")
    answer = await api.hansen.post(f"/claims/{theirs}/disputes", {"type": "DEFECTIVE"})
    opened = answer.json()["result"]
    [resolving] = [each for each in OPERATIONS if each.operation_id == "resolveDispute"]

    async def ask(dispute_id: str) -> tuple[int, str]:
        merchant_id = api.nordwind.merchant_id
        return await send(api.nordwind, resolving, merchant_id, claim_id=own, dispute_id=dispute_id)

    assert await ask(opened["id"]) == await ask(ABSENT_DISPUTE)
    assert (await ask(ABSENT_DISPUTE))[0] == 404
    listed = (await api.hansen.get(f"/claims/{theirs}/disputes")).json()["result"]
    assert listed["items"] == [opened]


@pytest.mark.parametrize(
    "name", ["readAttachment", "replaceAttachment", "deleteAttachment", "downloadAttachment"]
)
async def test_another_merchants_attachment_is_absent_to_the_byte(api: Api, name: str) -> None:
    uploaded = await api.hansen.upload("a.pdf", a_pdf())
    given = {"sourceType": "TICKET", "source": uploaded.json()["result"]["ticketId"]}
    [own], [theirs] = await api.nordwind.create(), await api.hansen.create(attachments=[given])
    listed = (await api.hansen.get(f"/claims/{theirs}/attachments")).json()["result"]
    [operation] = [each for each in OPERATIONS if each.operation_id == name]

    async def ask(attachment_id: str) -> tuple[int, str]:
        ids = {"claim_id": own, "attachment_id": attachment_id}
        return await send(api.nordwind, operation, api.nordwind.merchant_id, **ids)

    assert await ask(listed["items"][0]["id"]) == await ask(ABSENT_ATTACHMENT)
    assert (await ask(ABSENT_ATTACHMENT))[0] == 404
    after = (await api.hansen.get(f"/claims/{theirs}/attachments")).json()["result"]
    assert after == listed


async def test_another_merchants_communication_is_absent_to_the_byte(api: Api) -> None:
    [claim_id] = await api.hansen.create("B-1")
    await api.house.run()
    listed = await api.hansen.get(f"/claims/{claim_id}/communications")
    [sent] = listed.json()["result"]["items"]
    [reading] = [each for each in OPERATIONS if each.operation_id == "readCommunication"]

    async def ask(reference: str) -> tuple[int, str]:
        return await send(api.nordwind, reading, api.nordwind.merchant_id, reference=reference)

    assert await ask(sent["reference"]) == await ask(ABSENT_COMMUNICATION)
    assert (await ask(ABSENT_COMMUNICATION))[0] == 404


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
