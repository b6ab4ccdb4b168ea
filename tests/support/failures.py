"""One request for each type of error, to check its response."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.credentials import allow_credential
from dunwell.accounts.merchants.rights import Scope
from dunwell.interfaces.api.edge import build_server_refusal_renderer
from dunwell.platform.http.server import ServerLimits
from tests.support.api import Api, a_credential, form_of
from tests.support.claims import a_claim
from tests.support.limited_server import bounded, read_response, talk

ABSENT_CLAIM_ID = 999_999_999
_JSON = {"Content-Type": "application/json"}
_ABSENT_TICKET = "01955479-8c10-7d20-8f3e-7a6b5c4d3e2f"
_MOST = 10 * 1024 * 1024


async def _break_json(api: Api) -> httpx.Response:
    return await api.nordwind.post("/claims", content=b"[{", headers=_JSON)


async def _forge_token(api: Api) -> httpx.Response:
    return await api.nordwind.get("/events", token="dwt_" + "A" * 43)


async def _lack_a_right(api: Api) -> httpx.Response:
    [claim_id] = await api.nordwind.create()
    async with api.harness.work(COMMAND_LINE) as work:
        await allow_credential(work, api.nordwind.credential.client_id, [Scope.CLAIMS])
    payment = {"amount": 10240, "currency": "EUR", "transactionId": "bank-2026-03-12-0007"}
    return await api.nordwind.post(f"/claims/{claim_id}/payments", payment)


async def _ask_for_absent(api: Api) -> httpx.Response:
    return await api.nordwind.get(f"/claims/{ABSENT_CLAIM_ID}")


async def _use_another_method(api: Api) -> httpx.Response:
    return await api.nordwind.get("/uploads")


async def _use_bare_merchant(api: Api) -> httpx.Response:
    await api.harness.rows(
        "UPDATE merchants SET configuration = configuration - 'legal', revision = revision + 1"
        " WHERE merchant_id = $1 RETURNING 1"
    )
    return await api.nordwind.post("/claims", [a_claim()])


async def _submit_twice(api: Api) -> httpx.Response:
    await api.nordwind.create("INV-2026-0815")
    return await api.nordwind.post("/claims", [a_claim("INV-2026-0815")])


async def _reuse_key(api: Api) -> httpx.Response:
    await api.nordwind.post("/claims", [a_claim("A-1")], key="k")
    return await api.nordwind.post("/claims", [a_claim("A-2")], key="k")


async def _withdraw_archived(api: Api) -> httpx.Response:
    [claim_id] = await api.nordwind.create()
    await api.nordwind.post(f"/claims/{claim_id}/archive")
    return await api.nordwind.post(f"/claims/{claim_id}/withdraw")


async def _send_too_much(api: Api) -> httpx.Response:
    content = b'["' + b"x" * _MOST + b'"]'
    return await api.nordwind.post("/claims", content=content, headers=_JSON)


async def _send_text(api: Api) -> httpx.Response:
    headers = {"Content-Type": "text/plain"}
    return await api.nordwind.post("/claims", content=b"[]", headers=headers)


async def _send_faults(api: Api) -> httpx.Response:
    [claim_id] = await api.nordwind.create()
    payment = {"amount": "10490", "currency": "EUR", "transactionID": "bank-2026-03-12-0007"}
    return await api.nordwind.post(f"/claims/{claim_id}/payments", payment)


async def _use_unknown_ticket(api: Api) -> httpx.Response:
    [claim_id] = await api.nordwind.create()
    attachment = {"sourceType": "TICKET", "source": _ABSENT_TICKET}
    return await api.nordwind.post(f"/claims/{claim_id}/attachments", attachment)


async def _assign_absent(api: Api) -> httpx.Response:
    path = f"/assignments/workflows/{api.version.workflow_id}"
    return await api.nordwind.post(path, {"claimIds": [ABSENT_CLAIM_ID]})


async def _ask_too_often(api: Api) -> httpx.Response:
    credential = await a_credential(api.harness, "small", requests_per_minute=1)
    answer = await api.nordwind.send("POST", "/token", token="", data=form_of(credential))
    token = answer.json()["access_token"]
    await api.nordwind.get("/events", token=token)
    return await api.nordwind.get("/events", token=token)


async def _ask_without_database(api: Api) -> httpx.Response:
    await api.resources.database.close()
    return await api.nordwind.get("/events")


async def _ask_without_table(api: Api) -> httpx.Response:
    return await _without(api, "events", lambda: api.nordwind.get("/events"))


async def _without(
    api: Api, table: str, ask: Callable[[], Awaitable[httpx.Response]]
) -> httpx.Response:
    """Cause a failure: while the block runs, the table cannot be read or written because it has
    another name."""
    async with api.resources.database.connection() as connection:
        await connection.execute(
            f"ALTER TABLE {table} RENAME TO elsewhere; "
            f"CREATE VIEW {table} AS SELECT * FROM elsewhere WHERE 1 / 0 = 1 LIMIT 1"
        )
        try:
            return await ask()
        finally:
            await connection.execute(f"DROP VIEW {table}; ALTER TABLE elsewhere RENAME TO {table}")


async def _ask_for_token(api: Api, **changes: str) -> httpx.Response:
    form = {**form_of(api.nordwind.credential), **changes}
    return await api.nordwind.send("POST", "/token", token="", data=form)


async def _ask_for_token_without_database(api: Api) -> httpx.Response:
    await api.resources.database.close()
    return await _ask_for_token(api)


async def _ask_for_token_without_table(api: Api) -> httpx.Response:
    return await _without(api, "access_tokens", lambda: _ask_for_token(api))


async def _send_bytes(api: Api, words: bytes) -> httpx.Response:
    """Send bytes to the server itself, which rejects them before any operation is called."""
    resources = api.harness.resources
    limits = ServerLimits(head_seconds=0.2, examine_seconds=0.1)
    async with bounded(api.app, build_server_refusal_renderer(resources), limits) as port:
        return read_response(await talk(port, words))


TOKEN_PROVOCATIONS: dict[int, Callable[[Api], Awaitable[httpx.Response]]] = {
    400: lambda api: _ask_for_token(api, grant_type="password"),
    401: lambda api: _ask_for_token(api, client_secret="dws_wrong"),
    413: lambda api: _ask_for_token(api, x="y" * 70_000),
    500: _ask_for_token_without_table,
    503: _ask_for_token_without_database,
}

PROVOCATIONS: dict[str, Callable[[Api], Awaitable[httpx.Response]]] = {
    "InvalidRequest": _break_json,
    "AuthenticationError": _forge_token,
    "NotFound": _ask_for_absent,
    "InsufficientScope": _lack_a_right,
    "MethodNotAllowed": _use_another_method,
    "MerchantNotConfigured": _use_bare_merchant,
    "DuplicateReferenceNumber": _submit_twice,
    "IdempotencyConflict": _reuse_key,
    "InvalidState": _withdraw_archived,
    "PayloadTooLarge": _send_too_much,
    "TooSlow": lambda api: _send_bytes(api, b"GET /api"),
    "AddressTooLong": lambda api: _send_bytes(api, b"GET /" + b"a" * 70_000),
    "HeadTooLarge": lambda api: _send_bytes(api, b"GET / HTTP/1.1\r\nX: " + b"a" * 70_000),
    "UnsupportedMediaType": _send_text,
    "ValidationError": _send_faults,
    "UnknownTicket": _use_unknown_ticket,
    "WorkflowAssignmentError": _assign_absent,
    "RateLimited": _ask_too_often,
    "Unavailable": _ask_without_database,
    "InternalError": _ask_without_table,
}


def read_error(answer: httpx.Response) -> dict[str, Any]:
    """Return the error of the response, or of the one rejected claim in it."""
    body = answer.json()
    error: dict[str, Any] = body["error"] or body["result"][0]["error"]
    return error
