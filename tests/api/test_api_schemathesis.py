"""Schemathesis over the served document, with all its checks: what is documented is done.

`SCHEMATHESIS=full` tries every field of every operation at each of its limits, which takes minutes.
"""

import os
from collections.abc import Mapping
from typing import Any

from tests.support.api import Api, a_credential
from tests.support.api_server import a_server
from tests.support.contract_run import run_contract, with_ids

# What is valid by its schema may yet be refused with 422: an unknown currency or language, no name
# at all, an end before its beginning, a ticket or a signed cursor that was never handed out. JSON
# Schema cannot say these; the tests of each operation do.
_ACCEPTANCE = ["2xx", "401", "403", "404", "409", "422", "429"]
# A file that is generated is none of the four kinds that are taken.
_UPLOAD_ACCEPTANCE = [*_ACCEPTANCE, "415"]
# A wrong claim fails alone, inside of a 200 (spec, Errors 2).
_CREATION_REJECTION = ["200", "400", "401", "404", "405", "413", "415", "422"]
# One address of each kind: a form, a list, a body, several methods, an id that is a UUID.
_LIMITS_TRIED_AT = (
    "/merchants/{merchant_id}/uploads",
    "/merchants/{merchant_id}/test-clock",
    "/merchants/{merchant_id}/claims/{claim_id}/disputes",
    "/merchants/{merchant_id}/claims/{claim_id}/payments/{payment_id}/reverse",
)
_IS_FULL = os.environ.get("SCHEMATHESIS") == "full"

_SETTINGS: dict[str, Any] = {
    "continue-on-failure": True,
    "generation": {
        "max-examples": 20 if _IS_FULL else 2,
        "no-shrink": True, "deterministic": True, "database": "none",
    },
    "checks": {"positive_data_acceptance": {"expected-statuses": _ACCEPTANCE}},
    "operations": [
        {
            "include-operation-id": "uploadFile",
            "checks": {"positive_data_acceptance": {"expected-statuses": _UPLOAD_ACCEPTANCE}},
        },
        {
            "include-operation-id": "createClaims",
            "checks": {"negative_data_rejection": {"expected-statuses": _CREATION_REJECTION}},
        },
    ],
}  # fmt: skip


async def find(api: Api, phases: Mapping[str, bool], paths: tuple[str, ...] = ()) -> list[str]:
    """What is found at these paths, or at all, for a merchant that has claims."""
    client = api.nordwind
    client.credential = await a_credential(api.house, "shop", requests_per_minute=10**6)
    await client.obtain_token()
    claim_id, *_ = await client.create("INV-1", "INV-2", "INV-3")
    served = (await client.http.get("/api/openapi.json")).json()
    document = with_ids(served, {"merchant_id": client.merchant_id, "claim_id": claim_id})
    if paths:
        document["paths"] = {path: document["paths"][path] for path in paths}
    settings = {
        **_SETTINGS,
        "headers": {"Authorization": f"Bearer {client.token}"},
        "phases": {name: {"enabled": is_on} for name, is_on in phases.items()},
    }
    async with a_server(api.app) as origin:
        return await run_contract(origin, document, settings)


async def test_schemathesis_finds_nothing_anywhere(sandbox: Api) -> None:
    phases = {"examples": True, "coverage": False, "fuzzing": True, "stateful": True}
    assert await find(sandbox, phases) == []


async def test_schemathesis_finds_nothing_at_the_limits_of_fields(sandbox: Api) -> None:
    phases = {"examples": False, "coverage": True, "fuzzing": False, "stateful": False}
    assert await find(sandbox, phases, () if _IS_FULL else _LIMITS_TRIED_AT) == []
