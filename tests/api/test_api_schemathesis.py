"""Schemathesis tries the served document with all its checks.

`SCHEMATHESIS=full` tries every operation with generated requests and every field at each of its
limits, which takes minutes. Otherwise a few operations are tried, of each kind one.
"""

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import pytest

from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api, a_credential, an_api
from tests.support.api_server import a_server
from tests.support.contract_run import ContractRun, run_contract, with_ids
from tests.support.example_data import CONFIGURATION, create_example_data

# A body that matches its schema may still be refused with 422: an unknown currency or language, a
# claim without any name, an end before its beginning, an unknown ticket or cursor. JSON Schema
# cannot express these rules.
_ACCEPTANCE = ["2xx", "401", "403", "404", "409", "422", "429"]
# A generated file has none of the four accepted types.
_UPLOAD_ACCEPTANCE = [*_ACCEPTANCE, "415"]
# A faulty claim is refused alone, in a response with status 200 (spec, Errors 2).
_CREATION_REJECTION = ["200", "400", "401", "404", "405", "413", "415", "422"]
# One address of each kind: a list, a body, several methods, an id that is a UUID.
_FEW = (
    "/merchants/{merchant_id}/claims/{claim_id}/disputes",
    "/merchants/{merchant_id}/claims/{claim_id}/payments/{payment_id}/reverse",
)
# Advancing the clock ends the workflow of every claim, so it is tried separately.
_CLOCK = "/merchants/{merchant_id}/test-clock"
_OTHERS = tuple(dict.fromkeys(each.path for each in OPERATIONS if each.path != _CLOCK))
_IS_FULL = os.environ.get("SCHEMATHESIS") == "full"
# The paths that one test tries, so that processes can share the full form.
_GENERATED = [_OTHERS, (_CLOCK,)] if _IS_FULL else [_FEW]
_AT_LIMITS = [*(_OTHERS[start::4] for start in range(4)), (_CLOCK,)] if _IS_FULL else [_FEW[1:]]

# A file cannot be generated, a merchant has either scenarios or workflows, and /token gets no other
# token.
_NOT_REACHED = {
    "POST /token",
    "POST /merchants/{merchant_id}/uploads",
    "POST /merchants/{merchant_id}/scenarios/{scenario_id}/assignments",
}

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


@pytest.fixture
async def sandbox(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    async with an_api(resources, clock, configuration=CONFIGURATION, sandbox=True) as api:
        yield api


async def try_all(api: Api, phases: Mapping[str, bool], paths: Sequence[str]) -> ContractRun:
    """Try the operations of these paths, each on its own claim."""
    operation_ids = [each.operation_id for each in OPERATIONS if each.path in paths]
    client = api.nordwind
    client.credential = await a_credential(api.harness, "shop", requests_per_minute=10**6)
    await client.obtain_token()
    example_data = await create_example_data(api, claims=2 * len(operation_ids))
    example_claims = {each: await example_data.prepare(each) for each in operation_ids}
    served = (await client.http.get("/api/openapi.json")).json()
    settings = {
        **_SETTINGS,
        "headers": {"Authorization": f"Bearer {client.token}"},
        "phases": {name: {"enabled": is_on} for name, is_on in phases.items()},
    }
    async with a_server(api.app) as origin:
        return await run_contract(origin, with_ids(served, example_claims), settings)


@pytest.mark.parametrize("paths", _GENERATED)
async def test_schemathesis_finds_no_faults(sandbox: Api, paths: Sequence[str]) -> None:
    phases = {"examples": True, "coverage": False, "fuzzing": True, "stateful": _IS_FULL}

    run = await try_all(sandbox, phases, paths)

    assert run.findings == []
    tried = {f"{each.method} {each.path}" for each in OPERATIONS if each.path in paths}
    assert tried - run.reached - _NOT_REACHED == set()


@pytest.mark.parametrize("paths", _AT_LIMITS)
async def test_schemathesis_finds_nothing_at_the_limits_of_fields(
    sandbox: Api, paths: Sequence[str]
) -> None:
    phases = {"examples": False, "coverage": True, "fuzzing": False, "stateful": False}

    run = await try_all(sandbox, phases, paths)

    assert run.findings == []
