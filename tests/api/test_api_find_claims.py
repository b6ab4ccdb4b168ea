"""Claims are found by filters."""

import asyncio
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from tests.support.api import Api, Client


async def find(client: Client, **params: Any) -> dict[str, Any]:
    answer = await client.get("/claims", params=params)
    assert answer.status_code == 200, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


async def references(client: Client, **params: Any) -> list[str]:
    return [each["referenceNumber"] for each in (await find(client, **params))["items"]]


async def test_a_listed_claim_has_the_values_of_the_claim(api: Api) -> None:
    [claim_id] = await api.nordwind.create("A-1", customerNumber="C-1", companyName="Muster GmbH")
    await api.nordwind.post(f"/claims/{claim_id}/pause", {"reason": "In talks"})

    [listed] = (await find(api.nordwind))["items"]

    claim = (await api.nordwind.get(f"/claims/{claim_id}")).json()["result"]
    assert listed == {name: claim[name] for name in listed}
    assert [hold["reason"] for hold in listed["holds"]] == ["In talks"]


async def test_filters_narrow_the_list(api: Api, clock: MovableClock) -> None:
    [first] = await api.nordwind.create("A-1", customerNumber="C-1")
    clock.move_to(clock.now().replace(minute=30))
    await api.nordwind.create("A-2", customerNumber="C-2")
    await api.nordwind.post(f"/claims/{first}/withdraw")

    client = api.nordwind
    assert await references(client, referenceNumber="A-2") == ["A-2"]
    assert await references(client, customerNumber="C-1") == ["A-1"]
    assert await references(client, status="WITHDRAWN") == ["A-1"]
    assert await references(client, updatedSince="2026-03-02T09:30:00Z") == ["A-2", "A-1"]
    assert await references(client, updatedSince="2026-03-02T09:30:00.001Z") == []


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"status": "OPEN"}, "/status"),
        ({"updatedSince": "yesterday"}, "/updatedSince"),
        ({"cursor": "AAAA"}, "/cursor"),
        ({"reference": "A-1"}, "/reference"),
    ],
)
async def test_an_invalid_query_is_refused_with_the_parameters_name(
    api: Api, params: dict[str, Any], path: str
) -> None:
    answer = await api.nordwind.get("/claims", params=params)

    assert answer.status_code == 422
    assert [each["path"] for each in answer.json()["error"]["details"]["errors"]] == [path]


async def test_the_number_of_statements_does_not_depend_on_the_size_of_the_page(api: Api) -> None:
    sent: list[str] = []

    async def count(limit: int) -> int:
        # The log of statements is called in the next turn of the event loop.
        await asyncio.sleep(0)
        sent.clear()
        await find(api.nordwind, limit=limit)
        await asyncio.sleep(0)
        return len([each for each in sent if "SELECT" in each])

    claim_ids = await api.nordwind.create("A-1", "A-2", "A-3", "A-4")
    for claim_id in claim_ids:
        await api.nordwind.post(f"/claims/{claim_id}/pause")
    async with api.resources.database.connection() as connection:
        connection.add_query_logger(lambda record: sent.append(record.query))
    # A connection queries the types that it meets once.
    await find(api.nordwind, limit=4)
    # The token with its merchant, the page, its claims and their holds.
    assert (await count(1), await count(4)) == (4, 4)
