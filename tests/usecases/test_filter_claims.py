"""The filters of the list of claims, each alone and together, page by page."""

from datetime import timedelta

import pytest

from dunwell.core.claims.claim_holds import open_hold, pause_claim
from dunwell.core.claims.lists import store as lists_store
from dunwell.core.claims.lists.list_claims import CLAIMS, count_claims, list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import Count
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

DAY = timedelta(days=1)


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def find(harness: Harness, wanted: ClaimFilter, limit: int = 50) -> list[str]:
    found: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        async with harness.work() as work:
            page = await list_claims(work, limit=limit, cursor=cursor, wanted=wanted)
        found += [each.reference_number for each in page.items]
        cursor, pages = page.next_cursor, pages + 1
    return found


async def count(harness: Harness, wanted: ClaimFilter, limit: int = 1000) -> Count:
    async with harness.work() as work:
        return await count_claims(work, wanted, limit=limit)


async def test_claims_are_filtered_by_state_hold_workflow_and_debt(
    harness: Harness, clock: MovableClock
) -> None:
    [paid, part, held, _] = await harness.create("A-1", "A-2", "A-3", "A-4")
    await harness.pay(paid, 10240)
    await harness.pay(part, 240)
    async with harness.work() as work:
        await pause_claim(work, held, until=clock.now() + DAY)
        await open_hold(work, part, HoldKind.DISPUTE)
    [workflow_id] = {
        row["workflow_id"]
        for row in await harness.rows("SELECT workflow_id FROM workflows WHERE merchant_id = $1")
    }

    open_states = (Status.CREATED, Status.IN_PROCESS)
    assert await find(harness, ClaimFilter(statuses=open_states)) == ["A-4", "A-3", "A-2"]
    assert await find(harness, ClaimFilter(statuses=(Status.COLLECTED,))) == ["A-1"]
    assert (
        await find(harness, ClaimFilter(status=Status.CREATED, statuses=(Status.COLLECTED,))) == []
    )
    assert await find(harness, ClaimFilter(hold=HoldKind.PAUSE)) == ["A-3"]
    assert await find(harness, ClaimFilter(hold=HoldKind.DISPUTE)) == ["A-2"]
    assert await find(harness, ClaimFilter(workflow_id=workflow_id), 1) == [
        "A-4", "A-3", "A-2", "A-1",
    ]  # fmt: skip
    assert await find(harness, ClaimFilter(min_cents=1, max_cents=10000)) == ["A-2"]
    assert await find(harness, ClaimFilter(min_cents=10001)) == ["A-4", "A-3"]
    assert await find(harness, ClaimFilter(max_cents=0)) == ["A-1"]
    both = ClaimFilter(statuses=open_states, hold=HoldKind.PAUSE, min_cents=10240)
    assert await find(harness, both) == ["A-3"]
    clock.advance(DAY)
    assert await find(harness, ClaimFilter(hold=HoldKind.PAUSE)) == []


@pytest.mark.parametrize("few", [lists_store.MAX_FOUND, 1], ids=["few", "many"])
async def test_claims_are_filtered_by_times(
    harness: Harness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(lists_store, "MAX_FOUND", few)
    start = clock.now()
    for number in range(4):
        await harness.create(f"A-{number}", email=f"{number}@example.org")
        clock.advance(DAY)
    [first] = await harness.rows(
        "SELECT min(claim_id) AS claim_id FROM claims WHERE merchant_id = $1"
    )
    await harness.pay(first["claim_id"], 240)

    middle = {"since": start + DAY, "until": start + 3 * DAY}
    created = ClaimFilter(created_since=middle["since"], created_until=middle["until"])
    assert await find(harness, created, 1) == ["A-2", "A-1"]
    changed = ClaimFilter(updated_since=middle["since"], updated_until=middle["until"])
    assert await find(harness, changed, 1) == ["A-2", "A-1"]
    assert await find(harness, ClaimFilter(updated_since=clock.now(), updated_until=None,
                                         min_cents=1)) == ["A-0"]  # fmt: skip
    rows = await harness.rows(
        "SELECT reference_number, due_at FROM claims WHERE merchant_id = $1 ORDER BY claim_id DESC"
    )
    due = rows[1]["due_at"]
    exactly = ClaimFilter(next_step_since=due, next_step_until=due + timedelta(microseconds=1))
    expected = [row["reference_number"] for row in rows if row["due_at"] == due]
    assert await find(harness, exactly, 1) == expected


async def test_a_rare_filter_continues_after_the_rows_it_has_read(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CLAIMS.budgets, "max_cents", 2)
    [first, *_] = await harness.create(*(f"A-{n}" for n in range(6)))
    await harness.pay(first, 240)
    wanted = ClaimFilter(max_cents=10000)
    async with harness.work() as work:
        page = await list_claims(work, limit=50, wanted=wanted)
    assert list(page.items) == []
    assert page.next_cursor is not None
    assert await find(harness, wanted) == ["A-0"]
    assert await count(harness, wanted) == Count(0, is_more=True)


async def test_a_count_stops_at_its_limit(harness: Harness) -> None:
    await harness.create(*(f"A-{n}" for n in range(4)))
    assert await count(harness, ClaimFilter()) == Count(4, is_more=False)
    assert await count(harness, ClaimFilter(), limit=3) == Count(3, is_more=True)
    assert await count(harness, ClaimFilter(statuses=(Status.ARCHIVED,))) == Count(0, is_more=False)
