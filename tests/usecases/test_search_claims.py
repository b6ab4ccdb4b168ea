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
from tests.support.harness import Harness, a_harness

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
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def load(
    harness: Harness, text: str, cursor: str | None = None, limit: int = 50
) -> ListPage[ClaimRow]:
    async with harness.work() as work:
        return await search_claims(work, text, limit=limit, cursor=cursor)


async def search(harness: Harness, text: str) -> list[str]:
    return [each.reference_number for each in (await load(harness, text)).items]


async def filled(harness: Harness) -> int:
    return await index_claims(harness.resources)


@pytest.mark.parametrize(
    "text",
    [
        "INV-2026", "inv-2026-0815", "k-77", "V/2026", "erika", "ERI", "Müller", "muller",
        "MÜLLER-L", "lüden", "gross", "klein gmbh", "erika.m@exa", "+49 151 123", "0151/1234567",
        "004915112345678", "erika müller", "k-77 erika gmbh",
    ],
)  # fmt: skip
async def test_a_claim_is_found_by_the_beginning_of_any_word(harness: Harness, text: str) -> None:
    await harness.create("INV-2026-0815", **ERIKA)
    await harness.create("OTHER", email="nobody@elsewhere.org", debtorLastName="Zett",
                       debtorName="Anton")  # fmt: skip
    await filled(harness)
    assert await search(harness, text) == ["INV-2026-0815"]


async def test_a_claim_is_found_by_its_id(harness: Harness) -> None:
    [claim_id] = await harness.create("INV-2026-0815")
    await filled(harness)
    assert await search(harness, str(claim_id)) == ["INV-2026-0815"]


@pytest.mark.parametrize("text", ["nv-2026", "rika", "erika zett", "%", "_rika", "eri%", "0152"])
async def test_search_matches_only_the_beginning_of_words(harness: Harness, text: str) -> None:
    await harness.create("INV-2026-0815", **ERIKA)
    await filled(harness)
    assert await search(harness, text) == []


async def test_a_search_without_words_or_with_a_foreign_cursor_is_refused(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    await harness.create("A-1", "A-2")
    await filled(harness)
    cursor = (await load(harness, "a-", limit=1)).next_cursor
    assert cursor is not None
    hansen = await a_harness(resources, clock, key="hansen")
    with pytest.raises(ValidationError):
        await load(hansen, "a-", cursor)
    with pytest.raises(ValidationError):
        await load(harness, "   ")


@pytest.mark.parametrize(
    "place", [("a", 2**63), ("a", 2**64 - 1), ("a\0b", 1), ("\0b", 1)],
    ids=["id", "last id", "NUL", "first NUL"],
)  # fmt: skip
async def test_a_forged_cursor_is_refused(harness: Harness, place: tuple[str, int]) -> None:
    await harness.create("A-1")
    await filled(harness)
    owner = (harness.merchant.merchant_id,)
    forged = CursorFormat("search", owner=(int,), place=(str, int)).render(owner, place)
    with pytest.raises(ValidationError):
        await load(harness, "a-", forged)
    form = CursorFormat("claims", owner=(int,), place=(int, int))
    listed = form.render(owner, (2**64 - 1, 2**63 + 1))
    for wanted in (ClaimFilter(), ClaimFilter(min_cents=1)):
        async with harness.work() as work:
            with pytest.raises(ValidationError):
                await list_claims(work, limit=1, cursor=listed, wanted=wanted)


@pytest.mark.parametrize("limit", [1, 2, 5, 50])
async def test_pages_contain_each_claim_once_newest_first(harness: Harness, limit: int) -> None:
    references = [f"A-{n}" for n in range(5)]
    for reference in references:
        # Found by name, by company and by address.
        await harness.create(reference, debtorName="Erika", companyName="Erikas Laden",
                           email="erika@example.org")  # fmt: skip
    await filled(harness)
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = await load(harness, "erika", cursor, limit)
        seen += [each.reference_number for each in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert seen == references[::-1]


async def test_a_long_search_continues_after_the_rows_it_has_read(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "BUDGET", 3)
    for number in range(8):
        last = "Nobel" if number == 0 else "Other"
        await harness.create(f"A-{number}", debtorName="Erika", debtorLastName=last)
        await harness.create(f"B-{number}", debtorName="Anna", debtorLastName="Nobel",
                           email="anna@example.org")  # fmt: skip
    await filled(harness)
    seen, pages, cursor = [], 0, None
    while pages == 0 or cursor is not None:
        page = await load(harness, "eri nob", cursor)
        seen += [each.reference_number for each in page.items]
        cursor, pages = page.next_cursor, pages + 1
    # Each is found by its name and by its address.
    assert (seen, pages) == (["A-0"], 6)


async def test_the_rarest_word_is_searched_first(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the other words are, so that a rare claim is on the first page."""
    monkeypatch.setattr(store, "BUDGET", 3)
    for number in range(8):
        await harness.create(f"A-{number}", debtorName="Erika", debtorLastName=f"N{number}x")
    await filled(harness)
    page = await load(harness, "erika n0", None)
    assert [each.reference_number for each in page.items] == ["A-0"]
    assert page.next_cursor is None
    assert (await load(harness, "erika zzz", None)).items == []


async def test_a_claim_is_found_by_its_changed_data_only(harness: Harness) -> None:
    [claim_id] = await harness.create("A-1", **ERIKA)
    await filled(harness)
    async with harness.work() as work:
        await change_contact_data(work, claim_id, {"debtorLastName": "Neumann"})
    assert await search(harness, "neumann") == ["A-1"]
    assert await search(harness, "müller") == []
    await filled(harness)
    assert await search(harness, "müller") == []


async def test_claims_of_another_merchant_are_not_found(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_harness(resources, clock, key="hansen")
    await harness.create("A-1", **ERIKA)
    await filled(harness)
    assert await search(hansen, "erika") == []
    async with hansen.work() as work:
        theirs = await store.list_matches(work.tx, work.merchant_id, ["erika"], limit=5, after=None)
        assert theirs == ([], None)
