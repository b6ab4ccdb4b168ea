"""Every example in the reference is the service's response to the example of the request."""

import json
import re
from collections.abc import AsyncIterator, Collection
from typing import Any

import httpx
import pytest

from dunwell.interfaces.api.catalogue import OPERATIONS
from dunwell.interfaces.api.failures import KINDS, FailureKind
from dunwell.interfaces.api.operation import Operation
from dunwell.interfaces.api.reference.refusals import TOKEN_FAILURES, build_failure_example
from dunwell.platform.clock import MovableClock
from dunwell.platform.config import Settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.support.api import Api, an_api
from tests.support.example_data import (
    CONFIGURATION,
    REFERENCE_NUMBER,
    ExampleClaim,
    ExampleData,
    create_example_data,
)
from tests.support.failures import PROVOCATIONS, TOKEN_PROVOCATIONS, read_error

# Operations whose examples describe all claims.
_OF_ALL_CLAIMS = ("replayEvents", "advanceTestClock")
_OF_SCENARIOS = ("listScenarios", "assignToScenario")
_OF_ONE_CLAIM = {each.operation_id for each in OPERATIONS} - {*_OF_ALL_CLAIMS, *_OF_SCENARIOS}
# Values that differ between any two responses.
_CHANGING = {
    r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}": "UUID",
    r"^[0-9A-F]{12}7[0-9A-F]{19}$": "END_TO_END_ID",
    r"^\d+-[0-9A-F]{8}-\d+$": "MANDATE_REFERENCE",
    r"https?://[^/\s]+/q/[\w-]{22}": "LINK",
    r"\S+/real\b": "CHECK",
    r"dwt_[\w-]{43}": "TOKEN",
    r"^[0-9A-Z]{4}-[0-9A-Z]{4}$": "CASE",
    r"(?s)<!DOCTYPE html>.*</html>": "PAGE",
    r"(?<=claim )\d+|(?<=/merchants/)\d+|\d+(?= requests)": "NUMBER",
}
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z")


@pytest.fixture
async def sandbox(resources: Resources, clock: MovableClock) -> AsyncIterator[Api]:
    async with an_api(resources, clock, configuration=CONFIGURATION, sandbox=True) as api:
        yield api


def mask_variable_values(value: Any, name: str = "") -> Any:
    """Replace ids, instants, sizes and secrets by their kind."""
    if isinstance(value, dict):
        return {key: mask_variable_values(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [mask_variable_values(each, name) for each in value]
    if isinstance(value, int) and re.search(r"^id$|Ids?$|^size$", name):
        return "NUMBER"
    if name == "answerBy":
        return "DAY"
    if isinstance(value, str):
        for pattern, kind in _CHANGING.items():
            value = re.sub(pattern, kind, value)
        return _INSTANT.sub(lambda found: re.sub(r"\d", "0", found[0]), value)
    return value


def read_answer(operation: Operation, example_claim: ExampleClaim, answer: httpx.Response) -> Any:
    """Return the part of the response that the example shows; of a file, its first bytes."""
    assert answer.status_code == 200, (operation.operation_id, answer.text)
    if operation.file_types:
        return f"{answer.text[:5]}"
    body = json.loads(answer.text.replace(example_claim.real[REFERENCE_NUMBER], REFERENCE_NUMBER))
    return body["result"] if operation.has_envelope else body


async def find_differing(
    example_data: ExampleData, operation_ids: Collection[str]
) -> dict[str, Any]:
    """Return the response and the example of each operation for which they differ."""
    untrue = {}
    for operation in OPERATIONS:
        if operation.operation_id not in operation_ids:
            continue
        example_claim = await example_data.prepare(operation.operation_id)
        if operation.operation_id == "createClaims":
            example_claim.real[REFERENCE_NUMBER] = "INV-NEW"
        answer = mask_variable_values(
            read_answer(operation, example_claim, await example_claim.send(operation))
        )
        example = mask_variable_values(operation.example)
        if answer != (example[:5] if operation.file_types else example):
            untrue[operation.operation_id] = (answer, example)
    return untrue


async def test_every_example_of_a_response_is_correct(sandbox: Api) -> None:
    example_data = await create_example_data(sandbox, claims=2 * len(_OF_ONE_CLAIM))

    assert await find_differing(example_data, _OF_ONE_CLAIM) == {}


@pytest.mark.parametrize("operation_id", _OF_ALL_CLAIMS)
async def test_examples_about_all_claims_are_correct_for_two_claims(
    sandbox: Api, operation_id: str
) -> None:
    assert await find_differing(await create_example_data(sandbox), [operation_id]) == {}


async def test_examples_of_scenarios_are_correct_before_the_switch(
    resources: Resources, clock: MovableClock
) -> None:
    given: dict[str, Any] = {"configuration": CONFIGURATION, "sandbox": True}
    async with an_api(resources, clock, switched_to_workflows=False, **given) as api:
        example_data = await create_example_data(api, claims=2 * len(_OF_SCENARIOS))

        assert await find_differing(example_data, _OF_SCENARIOS) == {}


@pytest.fixture
async def api_with_own_pool(
    settings: Settings, database: Database, clock: MovableClock
) -> AsyncIterator[Api]:
    """The application with a connection pool that the test may close."""
    assert settings.database_url is not None
    pool = await Database.open(settings.database_url, size=2)
    keys = KeyRing(settings.secret_key)
    async with an_api(Resources(settings, pool, clock, RandomIds(), keys), clock) as api:
        yield api
    await pool.close()


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.name)
async def test_every_example_of_an_error_is_correct(
    api_with_own_pool: Api, kind: FailureKind
) -> None:
    answer = await PROVOCATIONS[kind.name](api_with_own_pool)

    # One claim fails within a response with status 200.
    is_of_one_claim = kind.name == "DuplicateReferenceNumber"
    assert answer.status_code == (200 if is_of_one_claim else kind.status)
    assert mask_variable_values(read_error(answer)) == mask_variable_values(
        build_failure_example(kind.name)["error"]
    )


@pytest.mark.parametrize("status", TOKEN_FAILURES)
async def test_every_example_of_an_error_without_an_envelope_is_correct(
    api_with_own_pool: Api, status: int
) -> None:
    answer = await TOKEN_PROVOCATIONS[status](api_with_own_pool)

    assert (answer.status_code, answer.json()) == (status, TOKEN_FAILURES[status])
