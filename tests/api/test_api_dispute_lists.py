"""The list of a claim's disputes, page by page."""

from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from tests.support.api import Api
from tests.support.disputes import dispute
from tests.support.harness import ERP


async def create_disputes(api: Api, clock: MovableClock, count: int) -> tuple[int, list[str]]:
    """Return a claim's id and the ids of its disputes, newest first. Pairs are opened at the same
    time."""
    [claim_id] = await api.nordwind.create()
    ids = []
    for number in range(count):
        ids.append(await dispute(api.harness, claim_id, actor=ERP))
        clock.advance(timedelta(minutes=number % 2))
    ids.sort(key=lambda each: (each.opened_at, each.dispute_id), reverse=True)
    return claim_id, [str(each.dispute_id) for each in ids]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
async def test_pages_hold_every_dispute_once(api: Api, clock: MovableClock, limit: int) -> None:
    claim_id, ids = await create_disputes(api, clock, 7)
    read: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        params = {"limit": limit, **({"cursor": cursor} if cursor else {})}
        answer = await api.nordwind.get(f"/claims/{claim_id}/disputes", params=params)
        page = answer.json()["result"]
        assert 1 <= len(page["items"]) <= limit
        read += [each["id"] for each in page["items"]]
        cursor = page["nextCursor"]
    assert read == ids


async def test_a_dispute_opened_between_pages_does_not_shift_the_next_page(
    api: Api, clock: MovableClock
) -> None:
    claim_id, ids = await create_disputes(api, clock, 4)
    path = f"/claims/{claim_id}/disputes"
    first = (await api.nordwind.get(path, params={"limit": 2})).json()["result"]
    clock.advance(timedelta(minutes=1))
    await dispute(api.harness, claim_id, actor=ERP)
    params = {"limit": 2, "cursor": first["nextCursor"]}
    rest = (await api.nordwind.get(path, params=params)).json()["result"]
    assert [each["id"] for each in (*first["items"], *rest["items"])] == ids
    assert rest["nextCursor"] is None


async def test_a_cursor_of_another_list_is_refused(api: Api, clock: MovableClock) -> None:
    claim_id, _ = await create_disputes(api, clock, 2)
    listed = await api.nordwind.get(f"/claims/{claim_id}/disputes", params={"limit": 1})
    cursor = listed.json()["result"]["nextCursor"]
    [other] = await api.nordwind.create("B-1")
    [theirs] = await api.hansen.create("B-1")
    for client, owned, given in (
        (api.nordwind, other, cursor),
        (api.hansen, theirs, cursor),
        (api.nordwind, claim_id, cursor[:-2]),
        (api.nordwind, claim_id, "x"),
    ):
        answer = await client.get(f"/claims/{owned}/disputes", params={"cursor": given})
        assert answer.status_code == 422
        [fault] = answer.json()["error"]["details"]["errors"]
        assert fault["path"] == "/cursor"
