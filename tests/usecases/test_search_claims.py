"""Search finds a merchant's claims by the beginning of any word, once each, page by page."""

import pytest

from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.core.claims.lists.list_claims import list_claims
from dunwell.core.claims.lists.store import ClaimFilter, ClaimRow
from dunwell.core.claims.searching import store
from dunwell.core.claims.searching.search_claims import index_claims, search_claims
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.listed_table import CursorFormat, ListPage
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.house import House, a_house

ERIKA = {
    "debtorName": "Erika",
    "debtorLastName": "Müller-Lüdenscheidt",
    "companyName": "Groß & Klein GmbH",
    "email": "Erika.M@Example.org",
    "mobileNumber": "+4915112345678",
    "customerNumber": "K-77 A",
    "contractNumber": "V/2026/9",
}


@pytest.fixture
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock)


async def load(
    house: House, text: str, cursor: str | None = None, limit: int = 50
) -> ListPage[ClaimRow]:
    async with house.work() as work:
        return await search_claims(work, text, limit=limit, cursor=cursor)


async def search(house: House, text: str) -> list[str]:
    return [each.reference_number for each in (await load(house, text)).items]


async def filled(house: House) -> int:
    return await index_claims(house.resources)


@pytest.mark.parametrize(
    "text",
    [
        "INV-2026", "inv-2026-0815", "k-77", "V/2026", "erika", "ERI", "Müller", "muller",
        "MÜLLER-L", "lüden", "gross", "klein gmbh", "erika.m@exa", "+49 151 123", "0151/1234567",
        "004915112345678", "erika müller", "k-77 erika gmbh",
    ],
)  # fmt: skip
async def test_a_claim_is_found_by_the_beginning_of_any_word(house: House, text: str) -> None:
    await house.create("INV-2026-0815", **ERIKA)
    await house.create("OTHER", email="nobody@elsewhere.org", debtorLastName="Zett",
                       debtorName="Anton")  # fmt: skip
    await filled(house)
    assert await search(house, text) == ["INV-2026-0815"]


async def test_a_claim_is_found_by_its_id(house: House) -> None:
    [claim_id] = await house.create("INV-2026-0815")
    await filled(house)
    assert await search(house, str(claim_id)) == ["INV-2026-0815"]


@pytest.mark.parametrize("text", ["nv-2026", "rika", "erika zett", "%", "_rika", "eri%", "0152"])
async def test_search_matches_only_the_beginning_of_words(house: House, text: str) -> None:
    await house.create("INV-2026-0815", **ERIKA)
    await filled(house)
    assert await search(house, text) == []


async def test_a_search_without_words_or_with_a_foreign_cursor_is_refused(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    await house.create("A-1", "A-2")
    await filled(house)
    cursor = (await load(house, "a-", limit=1)).next_cursor
    assert cursor is not None
    hansen = await a_house(resources, clock, key="hansen")
    with pytest.raises(ValidationError):
        await load(hansen, "a-", cursor)
    with pytest.raises(ValidationError):
        await load(house, "   ")


@pytest.mark.parametrize(
    "place", [("a", 2**63), ("a", 2**64 - 1), ("a\0b", 1), ("\0b", 1)],
    ids=["id", "last id", "NUL", "first NUL"],
)  # fmt: skip
async def test_a_forged_cursor_is_refused(house: House, place: tuple[str, int]) -> None:
    await house.create("A-1")
    await filled(house)
    owner = (house.merchant.merchant_id,)
    forged = CursorFormat("search", owner=(int,), place=(str, int)).render(owner, place)
    with pytest.raises(ValidationError):
        await load(house, "a-", forged)
    form = CursorFormat("claims", owner=(int,), place=(int, int))
    listed = form.render(owner, (2**64 - 1, 2**63 + 1))
    for wanted in (ClaimFilter(), ClaimFilter(least_cents=1)):
        async with house.work() as work:
            with pytest.raises(ValidationError):
                await list_claims(work, limit=1, cursor=listed, wanted=wanted)


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
async def test_pages_contain_each_claim_once_newest_first(house: House, limit: int) -> None:
    references = [f"A-{n}" for n in range(5)]
    for reference in references:
        # Found by name, by company and by address.
        await house.create(reference, debtorName="Erika", companyName="Erikas Laden",
                           email="erika@example.org")  # fmt: skip
    await filled(house)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await load(house, "erika", cursor, limit)
        seen += [each.reference_number for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == references[::-1]


async def test_a_long_search_continues_after_the_rows_it_has_read(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUDGET", 3)
    for number in range(8):
        last = "Nobel" if number == 0 else "Other"
        await house.create(f"A-{number}", debtorName="Erika", debtorLastName=last)
        await house.create(f"B-{number}", debtorName="Anna", debtorLastName="Nobel",
                           email="anna@example.org")  # fmt: skip
    await filled(house)
    seen, pages, cursor = [], 0, None
    while pages == 0 or cursor is not None:
        page = await load(house, "eri nob", cursor)
        seen += [each.reference_number for each in page.items]
        cursor, pages = page.next_cursor, pages + 1
    # Each is found by its name and by its address.
    assert (seen, pages) == (["A-0"], 6)


async def test_the_rarest_word_is_searched_first(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the other words are, so that a rare claim is on the first page."""
    monkeypatch.setattr(store, "BUDGET", 3)
    for number in range(8):
        await house.create(f"A-{number}", debtorName="Erika", debtorLastName=f"N{number}x")
    await filled(house)
    page = await load(house, "erika n0", None)
    assert [each.reference_number for each in page.items] == ["A-0"]
    assert page.next_cursor is None
    assert (await load(house, "erika zzz", None)).items == []


async def test_a_claim_is_found_by_its_changed_data_only(house: House) -> None:
    [claim_id] = await house.create("A-1", **ERIKA)
    await filled(house)
    async with house.work() as work:
        await change_contact_data(work, claim_id, {"debtorLastName": "Neumann"})
    assert await search(house, "neumann") == ["A-1"]
    assert await search(house, "müller") == []
    await filled(house)
    assert await search(house, "müller") == []


async def test_claims_of_another_merchant_are_not_found(
    house: House, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_house(resources, clock, key="hansen")
    await house.create("A-1", **ERIKA)
    await filled(house)
    assert await search(hansen, "erika") == []
    async with hansen.work() as work:
        theirs = await store.find_claims(work.tx, work.merchant_id, ["erika"], limit=5, behind=None)
        assert theirs == ([], None)
