"""The list of claims in each order that has an index, page by page, with any filter."""

from datetime import timedelta

import pytest

from dunwell.core.claims.claim_holds import pause_claim
from dunwell.core.claims.lists.list_claims import ClaimOrder, SortKey, list_claims
from dunwell.core.claims.lists.store import ClaimFilter
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database import listed_table
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

HOUR = timedelta(hours=1)
_NO_FILTER = ClaimFilter()
_WAYS = [(key, goes_down) for key in SortKey for goes_down in (False, True)]


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def find(
    harness: Harness, order: ClaimOrder, wanted: ClaimFilter = _NO_FILTER, limit: int = 50
) -> list[str]:
    """Return all pages, with this number of claims each."""
    found: list[str] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        async with harness.work() as work:
            page = await list_claims(work, limit=limit, cursor=cursor, wanted=wanted, order=order)
        found += [each.reference_number for each in page.items]
        cursor, pages = page.next_cursor, pages + 1
    return found


async def _create(harness: Harness, clock: MovableClock) -> list[int]:
    """Create claims an hour apart: B, C and A, of which C changed last; then two at once."""
    claim_ids = list[int]()
    for reference in ("B-1", "C-1", "A-1"):
        claim_ids += await harness.create(reference)
        clock.advance(HOUR)
    await harness.create("D-2", "D-1")
    await harness.pay(claim_ids[1], 100)
    return claim_ids


_IN_ORDER = {
    SortKey.CREATED: ["B-1", "C-1", "A-1", "D-1", "D-2"],
    SortKey.REFERENCE: ["A-1", "B-1", "C-1", "D-1", "D-2"],
    SortKey.CHANGED: ["B-1", "A-1", "C-1", "D-1", "D-2"],
    SortKey.NEXT_STEP: ["B-1", "C-1", "A-1", "D-1", "D-2"],
}


@pytest.mark.parametrize("limit", [1, 2, 50])
@pytest.mark.parametrize(("key", "goes_down"), _WAYS)
async def test_each_order_is_complete_at_any_page_size(
    harness: Harness, clock: MovableClock, key: SortKey, limit: int, *,
    goes_down: bool,
) -> None:  # fmt: skip
    await _create(harness, clock)

    found = await find(harness, ClaimOrder(key, goes_down), limit=limit)

    assert found == (_IN_ORDER[key][::-1] if goes_down else _IN_ORDER[key])


@pytest.mark.parametrize(("key", "goes_down"), _WAYS)
async def test_a_list_whose_budget_is_used_up_continues_after_the_rows_read(
    harness: Harness, clock: MovableClock, monkeypatch: pytest.MonkeyPatch, key: SortKey, *,
    goes_down: bool,
) -> None:  # fmt: skip
    monkeypatch.setattr(listed_table, "BUDGET", 2)
    claim_ids = await _create(harness, clock)
    await harness.pay(claim_ids[2], 10240)

    found = await find(harness, ClaimOrder(key, goes_down), ClaimFilter(status=Status.COLLECTED), 3)

    assert found == ([] if key is SortKey.NEXT_STEP else ["A-1"])


async def test_the_order_by_next_step_excludes_claims_without_one_or_on_hold(
    harness: Harness, clock: MovableClock
) -> None:
    [held, paid, _] = await harness.create("A-1", "A-2", "A-3")
    await harness.pay(paid, 10240)
    async with harness.work() as work:
        await pause_claim(work, held)

    assert await find(harness, ClaimOrder(SortKey.NEXT_STEP, is_descending=False)) == ["A-3"]


@pytest.mark.parametrize("key", SortKey)
async def test_a_small_result_of_another_filter_is_sorted(
    harness: Harness, clock: MovableClock, key: SortKey
) -> None:
    await _create(harness, clock)
    wanted = ClaimFilter(updated_since=clock.now() - 3 * HOUR)

    found = await find(harness, ClaimOrder(key, is_descending=False), wanted, 2)

    assert found == _IN_ORDER[key]


async def test_a_cursor_is_bound_to_its_order_and_merchant(
    resources: Resources, harness: Harness, clock: MovableClock
) -> None:
    await _create(harness, clock)
    other = await a_harness(resources, clock, key="other")
    by_reference = ClaimOrder(SortKey.REFERENCE, is_descending=False)
    async with harness.work() as work:
        page = await list_claims(work, limit=1, order=by_reference)

    async with other.work() as work:
        with pytest.raises(ValidationError):
            await list_claims(work, limit=1, order=by_reference, cursor=page.next_cursor)
    async with harness.work() as work:
        with pytest.raises(ValidationError):
            await list_claims(
                work, limit=1, order=ClaimOrder(SortKey.CHANGED), cursor=page.next_cursor
            )
