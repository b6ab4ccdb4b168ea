"""What a request costs: the statements it sends to the database."""

from collections.abc import AsyncIterator

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.api import Api
from tests.support.claims import a_claim
from tests.support.recorded_statements import Statements, a_counted_api


@pytest.fixture
async def counted(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[tuple[Api, Statements]]:
    async with a_counted_api(resources, clock) as counted:
        yield counted


async def test_creating_a_claim_takes_two_statements(counted: tuple[Api, Statements]) -> None:
    api, statements = counted
    await api.nordwind.post("/claims", [a_claim("A-1")])
    await statements.take()

    answer = await api.nordwind.post("/claims", [a_claim("A-2")])
    sent = await statements.take()

    assert answer.json()["result"][0]["error"] is None
    assert len(sent) == 2, sent
    assert sent[0].lstrip().startswith("SELECT asked.n, token.merchant_id")
    assert "INSERT INTO claims" in sent[1]


async def test_an_admitted_request_takes_one(counted: tuple[Api, Statements]) -> None:
    api, statements = counted
    await api.nordwind.get("/test-clock")
    await statements.take()

    await api.nordwind.get("/test-clock")
    sent = await statements.take()

    assert len(sent) == 1, sent
