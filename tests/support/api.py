"""A merchant's API client, which checks every response against the OpenAPI document."""

import copy
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import httpx
import jsonschema_rs
import msgspec
from starlette.applications import Starlette
from starlette.routing import BaseRoute

from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.credentials.credentials import create_credential
from dunwell.accounts.merchants.credentials.tokens import CREDENTIAL_RANDOM_BYTES, NewCredential
from dunwell.core.workflows.versions.versions import Version
from dunwell.interfaces.api.reference.document import build_document
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import Application, an_application, connect
from tests.support.claims import a_claim
from tests.support.definitions import a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness

Answer = dict[str, Any]
_DOCUMENT_ID = "urn:dunwell:openapi"


@dataclass
class Client:
    """The API as one merchant sees it."""

    http: httpx.AsyncClient
    merchant_id: int
    credential: NewCredential
    # Empty until the first request, which obtains it.
    token: str = ""

    async def obtain_token(self) -> None:
        answer = await self.send("POST", "/token", token="", data=form_of(self.credential))
        assert answer.status_code == 200, answer.text
        self.token = answer.json()["access_token"]

    async def send(
        self, method: str, path: str, *, token: str | None = None, key: str | None = None,
        headers: dict[str, str] | None = None, **given: Any,
    ) -> httpx.Response:  # fmt: skip
        """Send a request. `path` is relative to /api; `given` holds arguments of httpx (json,
        content, data, files, params)."""
        if token is None and not self.token:
            await self.obtain_token()
        sent = dict(headers or {})
        shown = self.token if token is None else token
        if shown:
            sent["Authorization"] = f"Bearer {shown}"
        if key is not None:
            sent["Idempotency-Key"] = key
        answer = await self.http.request(method, f"/api{path}", headers=sent, **given)
        check_answer(method, path, answer)
        return answer

    async def get(self, path: str, **given: Any) -> httpx.Response:
        """Send a GET request. `path` is relative to this merchant's address."""
        return await self.send("GET", f"/merchants/{self.merchant_id}{path}", **given)

    async def post(self, path: str, json: Any = None, **given: Any) -> httpx.Response:
        if json is not None:
            given["json"] = json
        return await self.send("POST", f"/merchants/{self.merchant_id}{path}", **given)

    async def create(self, *references: str, **changes: Any) -> list[int]:
        """Create claims with these references and return their ids. Several claims get a debtor
        each, unless `changes` say who the debtor is."""
        claims = [a_claim(reference, **changes) for reference in references or ["INV-1001"]]
        if len(claims) > 1 and "email" not in changes:
            claims = [
                {**each, "email": f"{each['referenceNumber'].lower()}@example.org"}
                for each in claims
            ]
        answer = await self.post("/claims", claims)
        return [each["id"] for each in answer.json()["result"]]

    async def upload(self, name: str, content: bytes, **given: Any) -> httpx.Response:
        form = {"friendlyName": (None, "Invoice 1001"), "fileName": (name, content)}
        return await self.post("/uploads", files=form, **given)


@dataclass
class Api:
    """The application, the two usual merchants as its clients, and the merchants' workflows."""

    app: Starlette
    resources: Resources
    nordwind: Client
    hansen: Client
    harness: Harness
    version: Version

    async def count(self, table: str) -> int:
        async with self.resources.database.connection() as connection:
            counted: int = await connection.fetchval(f"SELECT count(*) FROM {table}")
        return counted


@asynccontextmanager
async def an_api(
    resources: Resources, clock: MovableClock, routes: Sequence[BaseRoute] = (), **given: Any
) -> AsyncIterator[Api]:
    """Return the API for Nordwind and Hansen, with one published workflow each. `given` is passed
    to a_harness."""
    application = Application(resources, routes=routes) if routes else an_application(resources)
    channels = [ScriptedChannel()]
    application.channels[:] = channels
    nordwind = await a_harness(resources, clock, channels=channels, **given)
    hansen = await a_harness(resources, clock, a_definition(), key="hansen")
    version = await nordwind.publish(a_definition())
    async with connect(application.app) as http:
        clients = [
            Client(http, harness.merchant.merchant_id, await a_credential(harness))
            for harness in (nordwind, hansen)
        ]
        await clients[0].obtain_token()
        yield Api(application.app, resources, clients[0], clients[1], nordwind, version)


async def a_client(
    http: httpx.AsyncClient, harness: Harness, requests_per_minute: int = 600
) -> Client:
    credential = await a_credential(harness, requests_per_minute=requests_per_minute)
    client = Client(http, harness.merchant.merchant_id, credential)
    await client.obtain_token()
    return client


async def a_credential(
    harness: Harness, name: str = "erp", requests_per_minute: int = 600
) -> NewCredential:
    resources = harness.resources
    randomness = resources.ids.new(resources.clock.now()).bytes * (CREDENTIAL_RANDOM_BYTES // 16)
    async with harness.work(COMMAND_LINE) as work:
        return await create_credential(
            work, name, randomness=randomness, requests_per_minute=requests_per_minute
        )


def form_of(credential: NewCredential) -> dict[str, str]:
    return {
        "grant_type": "client_credentials",
        "client_id": credential.client_id,
        "client_secret": credential.client_secret,
    }


def check_answer(method: str, path: str, answer: httpx.Response) -> None:
    """Fail unless the OpenAPI document allows this response to this request."""
    assert answer.headers["X-Request-Id"]
    operation = find_operation(method, path)
    if operation is not None and answer.status_code == 200 and _is_file(operation):
        assert answer.headers["Content-Type"] in operation["responses"]["200"]["content"]
        assert answer.headers["Content-Disposition"].startswith("attachment; ")
        return
    assert answer.headers["Content-Type"] == "application/json"
    body = msgspec.json.decode(answer.content)
    if operation is None:
        _validator("failure").validate(body)
        return
    assert str(answer.status_code) in operation["responses"], (answer.status_code, answer.text)
    described = operation["responses"][str(answer.status_code)]
    _validator(f"{operation['operationId']} {answer.status_code}").validate(body)
    for name in set(described["headers"]):
        assert name in answer.headers, name


@cache
def _document() -> Answer:
    """Return the document with all objects closed, so that a response may not contain undocumented
    properties."""
    document: Answer = _close(copy.deepcopy(build_document()))
    return document


def _close(part: Any) -> Any:
    if isinstance(part, list):
        return [_close(each) for each in part]
    if not isinstance(part, dict):
        return part
    closed = {name: _close(value) for name, value in part.items()}
    if isinstance(part.get("properties"), dict) and part.get("type") == "object":
        closed.setdefault("additionalProperties", False)
    return closed


def find_operation(method: str, path: str) -> Answer | None:
    for pattern, operations in _list_paths():
        if pattern.fullmatch(path.partition("?")[0]) and method.lower() in operations:
            found: Answer = operations[method.lower()]
            return found
    return None


@cache
def _list_paths() -> list[tuple[re.Pattern[str], Answer]]:
    return [
        (re.compile(re.sub(r"\{[^}]*\}", "[^/]+", template)), operations)
        for template, operations in _document()["paths"].items()
    ]


def _is_file(operation: Answer) -> bool:
    return "application/json" not in operation["responses"]["200"]["content"]


@cache
def _registry() -> jsonschema_rs.Registry:
    """Return the document for all validators, which would otherwise each read the whole of it."""
    return jsonschema_rs.Registry([(_DOCUMENT_ID, _document())])


@cache
def _validator(name: str) -> jsonschema_rs.Draft202012Validator:
    schema: Answer = {
        "properties": {"error": {"$ref": f"{_DOCUMENT_ID}#/components/schemas/Failure"}}
    }
    if name != "failure":
        operation_id, _, status = name.partition(" ")
        [place] = [
            f"{quote(path.replace('/', '~1'))}/{method}"
            for path, operations in _document()["paths"].items()
            for method, operation in operations.items()
            if operation["operationId"] == operation_id
        ]
        answer = f"paths/{place}/responses/{status}/content/application~1json"
        schema = {"$ref": f"{_DOCUMENT_ID}#/{answer}/schema"}
    return jsonschema_rs.Draft202012Validator(schema, registry=_registry(), validate_formats=True)
