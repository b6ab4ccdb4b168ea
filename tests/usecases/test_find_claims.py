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
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.house import House, a_house

DAY = timedelta(days=1)


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock)


async def load(
    house: House, cursor: str | None = None, limit: int = 50, wanted: ClaimFilter = NO_FILTER
) -> ListPage[ClaimRow]:
    async with house.work() as work:
        return await list_claims(work, limit=limit, cursor=cursor, wanted=wanted)


async def find(house: House, wanted: ClaimFilter = NO_FILTER) -> list[str]:
    return [each.reference_number for each in (await load(house, wanted=wanted)).items]


async def test_pages_contain_every_claim_once_newest_first(house: House) -> None:
    created = [*await house.create("A-1", "A-2", "A-3"), *await house.create("B-1", "B-2")]
    created += await house.create("C-1")
    found: list[int] = []
    cursor, pages = None, 0
    while pages == 0 or cursor is not None:
        page = await load(house, cursor, limit=2)
        found += [each.claim_id for each in page.items]
        cursor, pages = page.next_cursor, pages + 1
    assert pages == 3
    assert found == sorted(created, reverse=True)


async def test_the_last_page_has_no_cursor(house: House) -> None:
    await house.create("A-1", "A-2", "A-3")
    assert (await load(house, limit=3)).next_cursor is None
    assert (await load(house, limit=2)).next_cursor is not None


async def test_claims_after_those_of_a_running_transaction_are_not_listed_yet(house: House) -> None:
    await house.create("A-1")
    async with house.work() as slow:
        await create_claims(slow, [a_submission("SLOW-1")])
        await house.create("B-1")
        assert await find(house) == ["A-1"]
    assert await find(house) == ["B-1", "SLOW-1", "A-1"]


async def test_no_claim_appears_before_a_cursor_that_was_returned(house: House) -> None:
    await house.create("A-1", "A-2")
    async with house.work() as slow:
        await create_claims(slow, [a_submission("SLOW-1")])
        await house.create("B-1")
        first = await load(house, limit=1)
    behind = await load(house, first.next_cursor)
    assert [each.reference_number for each in [*first.items, *behind.items]] == ["A-2", "A-1"]


async def test_a_claim_is_found_by_its_reference_at_once(house: House) -> None:
    async with house.work() as slow:
        await create_claims(slow, [a_submission("SLOW-1")])
        await house.create("B-1")
        assert await find(house, ClaimFilter(reference_number="B-1")) == ["B-1"]
    assert await find(house, ClaimFilter(reference_number="b-1")) == []


async def test_all_given_filters_must_match(house: House, clock: MovableClock) -> None:
    [first] = await house.create("A-1", customerNumber="C-1")
    await house.create("A-2", customerNumber="C-1")
    clock.advance(DAY)
    await house.create("B-1", customerNumber="C-2")
    await house.pay(first, 10240)

    assert await find(house, ClaimFilter(customer_number="C-1")) == ["A-2", "A-1"]
    assert await find(house, ClaimFilter(status=Status.COLLECTED)) == ["A-1"]
    assert await find(house, ClaimFilter(status=Status.WITHDRAWN)) == []
    assert await find(house, ClaimFilter(updated_since=clock.now())) == ["B-1", "A-1"]
    assert await find(house, ClaimFilter(updated_since=clock.now() + DAY)) == []
    both = ClaimFilter(customer_number="C-1", status=Status.CREATED)
    assert await find(house, both) == ["A-2"]
    assert await find(house, ClaimFilter(reference_number="A-1", status=Status.CREATED)) == []


async def test_a_filtered_list_continues_after_its_cursor(house: House) -> None:
    await house.create("A-1", "A-2", "A-3", customerNumber="C-1", email="erika@example.org")
    await house.create("B-1", customerNumber="C-2")
    wanted = ClaimFilter(customer_number="C-1")
    page = await load(house, limit=2, wanted=wanted)
    rest = await load(house, page.next_cursor, limit=2, wanted=wanted)
    assert [each.reference_number for each in [*page.items, *rest.items]] == ["A-3", "A-2", "A-1"]
    assert rest.next_cursor is None


async def test_a_listed_claim_has_its_balance_and_holds(house: House, clock: MovableClock) -> None:
    [paid, part, held] = await house.create("A-1", "A-2", "A-3")
    await house.pay(paid, 10300)
    await house.pay(part, 240)
    async with house.work() as work:
        await pause_claim(work, held, until=clock.now() + DAY)
    balances = {
        each.claim_id: (each.balance.total_cents, each.balance.outstanding_cents,
                        each.balance.overpaid_cents, [hold.kind for hold in each.holds])
        for each in (await load(house)).items
    }  # fmt: skip
    assert balances == {
        paid: (10240, 0, 60, []), part: (10240, 10000, 0, []), held: (10240, 10240, 0,
                                                                      [HoldKind.PAUSE]),
    }  # fmt: skip


async def test_claims_and_cursors_of_another_merchant_are_not_accessible(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_house(resources, clock, key="hansen")
    await house.create("A-1", "A-2", customerNumber="C-1", email="erika@example.org")
    assert await find(hansen) == []
    assert await find(hansen, ClaimFilter(reference_number="A-1")) == []
    assert await find(hansen, ClaimFilter(customer_number="C-1")) == []
    cursor = (await load(house, limit=1)).next_cursor
    with pytest.raises(ValidationError):
        await load(hansen, cursor)
