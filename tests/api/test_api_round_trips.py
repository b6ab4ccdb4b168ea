"""What a request costs: the statements it sends to the database."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from dunwell.config import Settings
from dunwell.kit.clock import MovableClock
from dunwell.kit.crypto import KeyRing
from dunwell.kit.db import Database
from dunwell.kit.ids import RandomIds
from dunwell.kit.resources import Resources
from tests.support.api import Api, an_api
from tests.support.claims import a_claim


@pytest.fixture
async def single(
    settings: Settings, database: Database, clock: MovableClock
) -> AsyncIterator[tuple[Api, list[str]]]:
    """The application over one connection, and the statements that connection sends: told of each
    a turn of the loop later."""
    assert settings.database_url is not None
    one = await Database.open(settings.database_url, size=1)
    own = Resources(settings, one, clock, RandomIds(), KeyRing(settings.secret_key))
    sent: list[str] = []

    def note(record: Any) -> None:
        sent.append(record.query)

    async with an_api(own, clock) as api:
        async with one.connection() as connection:
            connection.add_query_logger(note)
        yield api, sent
    await one.close()


async def test_creating_a_claim_takes_two_statements(single: tuple[Api, list[str]]) -> None:
    api, sent = single
    await api.nordwind.post("/claims", [a_claim("A-1")])
    await asyncio.sleep(0)
    sent.clear()

    answer = await api.nordwind.post("/claims", [a_claim("A-2")])
    await asyncio.sleep(0)

    assert answer.json()["result"][0]["error"] is None
    assert len(sent) == 2, sent
    assert sent[0].lstrip().startswith("SELECT token.merchant_id")
    assert "INSERT INTO claims" in sent[1]


async def test_an_admitted_request_takes_one(single: tuple[Api, list[str]]) -> None:
    api, sent = single
    await api.nordwind.get("/test-clock")
    await asyncio.sleep(0)
    sent.clear()

    await api.nordwind.get("/test-clock")
    await asyncio.sleep(0)

    assert len(sent) == 1, sent
