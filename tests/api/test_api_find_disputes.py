"""Disputes of all claims over HTTP: filters, pages, whose they are."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from tests.support.api import Api
from tests.support.disputes import REJECTED, dispute, resolve
from tests.support.harness import ERP


async def _find(api: Api, **params: Any) -> Any:
    answer = await api.nordwind.get("/disputes", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()["result"]


async def _ids(api: Api, **params: Any) -> list[str]:
    return [each["id"] for each in (await _find(api, **params))["items"]]


async def test_each_has_what_the_claims_list_has_and_its_day(api: Api) -> None:
    [claim_id] = await api.nordwind.create()
    await dispute(api.harness, claim_id)
    [alone] = (await api.nordwind.get(f"/claims/{claim_id}/disputes")).json()["result"]["items"]
    assert await _find(api) == {
        "items": [alone | {"referenceNumber": "INV-1001", "answerBy": "2026-03-16"}],
        "nextCursor": None,
    }


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_hold_every_dispute_of_every_claim_once(api: Api, limit: int) -> None:
    claims = await api.nordwind.create("A-1", "A-2", "A-3")
    opened = [await dispute(api.harness, claims[n % 3], actor=ERP) for n in range(7)]
    read: list[str] = []
    params: dict[str, Any] = {"limit": limit}
    while True:
        page = await _find(api, **params)
        assert 1 <= len(page["items"]) <= limit
        read += [each["id"] for each in page["items"]]
        if page["nextCursor"] is None:
            break
        params["cursor"] = page["nextCursor"]
    assert read == [str(each.dispute_id) for each in reversed(opened)]


async def test_filters_show_what_is_open_and_what_is_overdue(api: Api, clock: MovableClock) -> None:
    first, second = await api.nordwind.create("A-1", "A-2")
    answered, late = await dispute(api.harness, first), await dispute(api.harness, second)
    await resolve(api.harness, answered, REJECTED)
    clock.advance(timedelta(days=15))
    await api.nordwind.obtain_token()
    young = await dispute(api.harness, first, "DEFECTIVE", "a hole", actor=ERP)
    assert await _ids(api, state="OPEN") == [str(young.dispute_id), str(late.dispute_id)]
    assert await _ids(api, state="REJECTED") == [str(answered.dispute_id)]
    assert await _ids(api, overdue="true") == [str(late.dispute_id)]
    assert await _ids(api, overdue="true", state="OPEN") == [str(late.dispute_id)]
    assert await _ids(api, overdue="true", state="REJECTED") == []
    assert len(await _ids(api, overdue="false")) == 3


async def test_nothing_appears_behind_a_cursor_that_was_handed_out(api: Api) -> None:
    """One that is being opened while another is committed waits for its turn."""
    first, second = await api.nordwind.create("A-1", "A-2")
    async with api.harness.work(ERP) as work:
        await work.tx.execute("SELECT pg_current_xact_id()")
        committed = await dispute(api.harness, second, actor=ERP)
        assert await _ids(api) == []
    assert await _ids(api) == [str(committed.dispute_id)]
    assert first != second


async def test_a_bad_filter_and_anothers_cursor_are_refused(api: Api) -> None:
    for params in ({"state": "LOST"}, {"overdue": "yes"}, {"cursor": "x"}, {"claim": "1"}):
        answer = await api.nordwind.get("/disputes", params=params)
        assert answer.status_code == 422, params
