"""The list of claims: none is missing, repeated, or inserted before a returned cursor."""

from datetime import timedelta

import pytest

from dunwell.cases.intake.create_claims import create_claims
from dunwell.core.claims.claim_holds import pause_claim
from dunwell.core.claims.lists.list_claims import NO_FILTER, list_claims
from dunwell.core.claims.lists.store import ClaimFilter, ClaimRow
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import ListPage
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.harness import Harness, a_harness

DAY = timedelta(days=1)


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def load(
    harness: Harness, cursor: str | None = None, limit: int = 50, wanted: ClaimFilter = NO_FILTER
) -> ListPage[ClaimRow]:
    async with harness.work() as work:
        return await list_claims(work, limit=limit, cursor=cursor, wanted=wanted)


async def find(harness: Harness, wanted: ClaimFilter = NO_FILTER) -> list[str]:
    return [each.reference_number for each in (await load(harness, wanted=wanted)).items]


async def test_pages_contain_every_claim_once_newest_first(harness: Harness) -> None:
    created = [*await harness.create("A-1", "A-2", "A-3"), *await harness.create("B-1", "B-2")]
    created += await harness.create("C-1")
    found: list[int] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = await load(harness, cursor, limit=2)
        found += [each.claim_id for each in page.items]
        cursor, pages = page.next_cursor, pages + 1
    assert pages == 3
    assert found == sorted(created, reverse=True)


async def test_the_last_page_has_no_cursor(harness: Harness) -> None:
    await harness.create("A-1", "A-2", "A-3")
    assert (await load(harness, limit=3)).next_cursor is None
    assert (await load(harness, limit=2)).next_cursor is not None


async def test_claims_after_those_of_a_running_transaction_are_not_listed_yet(
    harness: Harness,
) -> None:
    await harness.create("A-1")
    async with harness.work() as slow:
        await create_claims(slow, [a_submission("SLOW-1")])
        await harness.create("B-1")
        assert await find(harness) == ["A-1"]
    assert await find(harness) == ["B-1", "SLOW-1", "A-1"]


async def test_no_claim_appears_before_a_cursor_that_was_returned(harness: Harness) -> None:
    await harness.create("A-1", "A-2")
    async with harness.work() as slow:
        await create_claims(slow, [a_submission("SLOW-1")])
        await harness.create("B-1")
        first = await load(harness, limit=1)
    behind = await load(harness, first.next_cursor)
    assert [each.reference_number for each in [*first.items, *behind.items]] == ["A-2", "A-1"]


async def test_a_claim_is_found_by_its_reference_at_once(harness: Harness) -> None:
    async with harness.work() as slow:
        await create_claims(slow, [a_submission("SLOW-1")])
        await harness.create("B-1")
        assert await find(harness, ClaimFilter(reference_number="B-1")) == ["B-1"]
    assert await find(harness, ClaimFilter(reference_number="b-1")) == []


async def test_all_given_filters_must_match(harness: Harness, clock: MovableClock) -> None:
    [first] = await harness.create("A-1", customerNumber="C-1")
    await harness.create("A-2", customerNumber="C-1")
    clock.advance(DAY)
    await harness.create("B-1", customerNumber="C-2")
    await harness.pay(first, 10240)

    assert await find(harness, ClaimFilter(customer_number="C-1")) == ["A-2", "A-1"]
    assert await find(harness, ClaimFilter(status=Status.COLLECTED)) == ["A-1"]
    assert await find(harness, ClaimFilter(status=Status.WITHDRAWN)) == []
    assert await find(harness, ClaimFilter(updated_since=clock.now())) == ["B-1", "A-1"]
    assert await find(harness, ClaimFilter(updated_since=clock.now() + DAY)) == []
    both = ClaimFilter(customer_number="C-1", status=Status.CREATED)
    assert await find(harness, both) == ["A-2"]
    assert await find(harness, ClaimFilter(reference_number="A-1", status=Status.CREATED)) == []


async def test_a_filtered_list_continues_after_its_cursor(harness: Harness) -> None:
    await harness.create("A-1", "A-2", "A-3", customerNumber="C-1", email="erika@example.org")
    await harness.create("B-1", customerNumber="C-2")
    wanted = ClaimFilter(customer_number="C-1")
    page = await load(harness, limit=2, wanted=wanted)
    rest = await load(harness, page.next_cursor, limit=2, wanted=wanted)
    assert [each.reference_number for each in [*page.items, *rest.items]] == ["A-3", "A-2", "A-1"]
    assert rest.next_cursor is None


async def test_a_listed_claim_has_its_balance_and_holds(
    harness: Harness, clock: MovableClock
) -> None:
    [paid, part, held] = await harness.create("A-1", "A-2", "A-3")
    await harness.pay(paid, 10300)
    await harness.pay(part, 240)
    async with harness.work() as work:
        await pause_claim(work, held, until=clock.now() + DAY)
    balances = {
        each.claim_id: (each.balance.total_cents, each.balance.outstanding_cents,
                        each.balance.overpaid_cents, [hold.kind for hold in each.holds])
        for each in (await load(harness)).items
    }  # fmt: skip
    assert balances == {
        paid: (10240, 0, 60, []), part: (10240, 10000, 0, []), held: (10240, 10240, 0,
                                                                      [HoldKind.PAUSE]),
    }  # fmt: skip
