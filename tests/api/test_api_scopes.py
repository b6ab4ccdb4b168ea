"""Each operation with each scope of a credential: operations outside the scope are refused before
anything is read."""

import uuid
from typing import Any

import httpx
import pytest

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.credentials import allow_credential
from dunwell.accounts.merchants.rights import SCOPE_RIGHTS, Right, Scope
from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint
from dunwell.interfaces.api.catalogue import ENDPOINTS
from dunwell.interfaces.api.operation import Operation
from tests.support.api import Api

# The right of every operation that does not only read.
_RIGHTS = {
    "uploadFile": Right.CHANGE_CLAIMS,
    "createClaims": Right.CHANGE_CLAIMS,
    "changeClaim": Right.CHANGE_CLAIMS,
    "withdrawClaim": Right.CHANGE_CLAIMS,
    "archiveClaim": Right.CHANGE_CLAIMS,
    "pauseClaim": Right.CHANGE_CLAIMS,
    "resumeClaim": Right.CHANGE_CLAIMS,
    "addFee": Right.RECORD_MONEY,
    "addItem": Right.RECORD_MONEY,
    "deleteItem": Right.RECORD_MONEY,
    "attachFile": Right.CHANGE_CLAIMS,
    "replaceAttachment": Right.CHANGE_CLAIMS,
    "deleteAttachment": Right.CHANGE_CLAIMS,
    "recordPayment": Right.RECORD_MONEY,
    "reversePayment": Right.RECORD_MONEY,
    "openDispute": Right.CHANGE_CLAIMS,
    "resolveDispute": Right.ANSWER,
    "refundPayment": Right.RECORD_MONEY,
    "approvePaymentModality": Right.ANSWER,
    "rejectPaymentModality": Right.ANSWER,
    "assignToWorkflow": Right.CHANGE_CLAIMS,
    "startAssignment": Right.CHANGE_CLAIMS,
    "assignToScenario": Right.CHANGE_CLAIMS,
    "replayEvents": Right.OPERATE,
    "advanceTestClock": Right.OPERATE,
}
_OPERATIONS = [each.operation for each in ENDPOINTS]


async def narrow(api: Api, *scopes: Scope) -> None:
    """Limit the scopes of Nordwind's credential, which also limits its existing token."""
    async with api.harness.work(COMMAND_LINE) as work:
        await allow_credential(work, api.nordwind.credential.client_id, scopes)


async def call(api: Api, operation: Operation, claim_id: int) -> httpx.Response:
    ids = {"claim_id": claim_id, "scenario_id": 1, "item_id": 1}
    path = operation.path.removeprefix("/merchants/{merchant_id}")
    for parameter in operation.parameters:
        if parameter.place == "path" and parameter.name != "merchant_id":
            value = str(ids.get(parameter.name, uuid.UUID(int=7)))
            path = path.replace(f"{{{parameter.name}}}", value)
    assert "{" not in path
    given: dict[str, Any] = {} if operation.body is None else {"json": {}}
    prefix = f"/merchants/{api.nordwind.merchant_id}"
    return await api.nordwind.send(operation.method, prefix + path, **given)


def test_each_operation_requires_its_right() -> None:
    for operation in _OPERATIONS:
        wanted = _RIGHTS.get(operation.operation_id, Right.READ_CLAIMS)
        assert operation.right is wanted, operation.operation_id
        assert (operation.method == "GET") is (wanted is Right.READ_CLAIMS)
    assert _RIGHTS.keys() <= {each.operation_id for each in _OPERATIONS}


@pytest.mark.parametrize("scope", Scope)
async def test_a_scope_allows_exactly_the_operations_of_its_rights(api: Api, scope: Scope) -> None:
    [claim_id] = await api.nordwind.create()
    await narrow(api, scope)
    before = await api.count("audit_log")
    for operation in _OPERATIONS:
        if operation.right in SCOPE_RIGHTS[scope]:
            continue
        answer = await call(api, operation, claim_id)
        assert answer.status_code == 403, operation.operation_id
        error = answer.json()["error"]
        assert error["type"] == "InsufficientScope"
        assert error["details"] == {"right": operation.right.value}
    assert await api.count("audit_log") == before
    for operation in _OPERATIONS:
        if operation.right in SCOPE_RIGHTS[scope]:
            assert (await call(api, operation, claim_id)).status_code != 403, operation.operation_id


async def test_a_refusal_does_not_reveal_what_exists(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    [others] = await api.hansen.create()
    await narrow(api, Scope.READ)
    answers = {
        (await api.nordwind.post(f"/claims/{each}/archive")).content
        for each in (claim_id, others, 999_999_999)
    }
    assert len(answers) == 1


async def test_a_stored_response_is_refused_without_its_right(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    payment = {"amount": 100, "currency": "EUR", "transactionId": "t-1"}
    path = f"/claims/{claim_id}/payments"
    assert (await api.nordwind.post(path, payment, key="k")).status_code == 200
    await narrow(api, Scope.CLAIMS)
    assert (await api.nordwind.post(path, payment, key="k")).status_code == 403


async def test_without_the_right_to_configure_only_the_origin_of_a_webhook_url_is_shown(
    api: Api,
) -> None:
    async with api.harness.work(COMMAND_LINE) as work:
        url = "http://127.0.0.1:8099/capability/s3cret?key=s3cret"
        wanted = NewEndpoint(url, ("*",), None)
        await add_endpoint(work, api.harness.resources.keys, wanted, is_development=True)

    async def read() -> str:
        answer = await api.nordwind.get("/webhook-endpoints")
        return str(answer.json()["result"]["items"][0]["url"])

    assert await read() == url
    await narrow(api, Scope.READ)
    assert await read() == "http://127.0.0.1:8099"


async def test_scopes_are_cumulative_and_apply_at_once(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await narrow(api, Scope.MONEY)
    pause = f"/claims/{claim_id}/pause"
    assert (await api.nordwind.post(pause, {})).status_code == 403
    await narrow(api, Scope.MONEY, Scope.CLAIMS)
    payment = {"amount": 100, "currency": "EUR", "transactionId": "t-1"}
    assert (await api.nordwind.post(pause, {})).status_code == 200
    assert (await api.nordwind.post(f"/claims/{claim_id}/payments", payment)).status_code == 200


async def test_a_scope_applies_to_one_merchant(api: Api) -> None:
    """The same credential may have other rights at another merchant."""
    [claim_id] = await api.nordwind.create()
    async with api.harness.work(COMMAND_LINE) as work:
        await allow_credential(work, api.hansen.credential.client_id, [Scope.READ])
    await api.hansen.obtain_token()
    token = api.hansen.token
    path = f"/claims/{claim_id}"
    assert (await api.nordwind.get(path, token=token)).status_code == 200
    assert (await api.nordwind.post(f"{path}/pause", {}, token=token)).status_code == 403
    assert await api.hansen.create("H-1")
