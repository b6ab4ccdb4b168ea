"""No input is lost and no claim is confused with another: in two tabs, after an hour, and with two
claims in one browser. The merchant's events are checked too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta

from playwright.async_api import expect

from tests.browser.debtor_journey import DebtorJourney, Setting, Way, in_all_ways
from tests.support.debtor_disputes import disputes
from tests.support.guarded_landing import read_sent_code

_WHY = "Why is the amount wrong?"


@asynccontextmanager
async def a_second_tab(debtor: DebtorJourney) -> AsyncIterator[DebtorJourney]:
    """Another tab of the same browser, with the same cookies."""
    visit = debtor.visit
    page = await visit.page.context.new_page()
    other = replace(visit, page=page, document=None)
    page.on("response", other.note)
    if debtor.way.forced_colours:
        await page.emulate_media(forced_colors="active")
    yield DebtorJourney(other, debtor.way, debtor.journey, steps=50)
    await page.close()


async def _list_events(debtor: DebtorJourney, claim_id: int) -> list[str]:
    return [each["type"] for each in await debtor.site.payments.harness.events(claim_id)]


@in_all_ways
async def test_two_open_claims_are_never_confused(setting: Setting, way: Way) -> None:
    site = setting.site
    [second] = await site.payments.harness.create("INV-2", email="anna@example.org")
    async with setting.start_journey(way, "side-by-side") as one:
        await one.type_code()
        await one.press("Something is wrong with this claim")
        await one.press("The amount is wrong")
        await one.fill(_WHY, "Der Gutschein fehlt.")
        async with a_second_tab(one) as two:
            await two.go(await site.give_link(claim_id=second))
            await two.press("Show the details")
            await expect(two.visit.page.get_by_text("INV-2")).to_be_visible()
            await one.press("Send")
            await one.expect_heading("We have received your dispute")
            await two.press("This is not me")
            await two.press("Confirm: this is not me")
            await two.expect_heading("You do not have to pay")
            await one.press("Back to the claim")
            await expect(one.visit.page.get_by_text("INV-2")).to_have_count(0)

        events = [await _list_events(one, each) for each in (site.claim_id, second)]
    rows = await site.payments.harness.rows(
        "SELECT claim_id, type FROM disputes WHERE merchant_id = $1 ORDER BY claim_id"
    )
    event_types = {row["claim_id"]: row["type"] for row in rows}
    assert event_types == {site.claim_id: "AMOUNT_WRONG", second: "NOT_MY_DEBT"}
    assert [each[-2:] for each in events] == [["DETAILS_ACCESSED", "DISPUTED"]] * 2


@in_all_ways
async def test_text_written_for_longer_than_an_hour_is_restored(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "kept") as debtor:
        await debtor.type_code()
        await debtor.go("/claim/dispute/AMOUNT_WRONG")
        await debtor.fill(_WHY, "Der Gutschein fehlt.")
        debtor.site.clock.advance(timedelta(minutes=61))
        await debtor.press("Send")
        await debtor.expect_text("What you wrote is saved. It has not been sent yet.")
        assert await disputes(debtor.site) == []
        await debtor.type_code()
        await debtor.press("Continue with what you wrote")
        written = await debtor.visit.page.locator("#message").input_value()
        await debtor.press("Send")
        await debtor.expect_heading("We have received your dispute")
        events = await _list_events(debtor, debtor.site.claim_id)

    assert written == "Der Gutschein fehlt."
    [dispute] = await disputes(setting.site)
    assert dispute["message"] == "Der Gutschein fehlt."
    assert events[-3:] == ["DETAILS_ACCESSED", "DETAILS_ACCESSED", "DISPUTED"]


@in_all_ways
async def test_two_tabs_lose_no_text(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "two-tabs") as one:
        await one.type_code()
        await one.go("/claim/dispute/AMOUNT_WRONG")
        async with a_second_tab(one) as two:
            await two.go("/claim/dispute/AMOUNT_WRONG")
            await two.fill(_WHY, "Der Gutschein fehlt.")
            await two.unfold()
            await two.press("Save, and add these files")
        await one.fill(_WHY, "Die Gebühr ist falsch.")
        await one.press("Send")
        await one.expect_text("Something else was entered in another window")
        await expect(one.visit.page.locator("blockquote")).to_have_text("Der Gutschein fehlt.")
        assert await disputes(one.site) == []
        mine = await one.visit.page.locator("#message").input_value()
        await one.fill(_WHY, f"{mine} Der Gutschein fehlt.")
        await one.press("Send")
        await one.expect_heading("We have received your dispute")

    [dispute] = await disputes(setting.site)
    assert dispute["message"] == "Die Gebühr ist falsch. Der Gutschein fehlt."


@in_all_ways
async def test_a_verified_debtor_opens_another_claim(setting: Setting, way: Way) -> None:
    site = setting.site
    [mine] = await site.payments.harness.create("INV-2", email="erika@example.org")
    [theirs] = await site.payments.harness.create("INV-3", email="anna@example.org")
    async with setting.start_journey(way, "others") as debtor:
        await debtor.go(await site.give_link("SMS"))
        await debtor.fill("Postal code of your address", "20095")
        await debtor.press("Show the details")
        await debtor.go("/claim/verify/others")
        await debtor.visit.page.locator("main form[action*='/send'] button").click()
        await debtor.visit.page.locator("#code").fill(await read_sent_code(site))
        await debtor.visit.page.locator("form[action*='/code'] button").first.click()
        await debtor.expect_heading("Other amounts %(name)s says you owe")
        await expect(debtor.visit.page.get_by_text("INV-3")).to_have_count(0)
        await debtor.press("Show this claim")
        await expect(debtor.visit.page.get_by_text("INV-2").first).to_be_visible()
        events = [await _list_events(debtor, each) for each in (site.claim_id, mine, theirs)]

    assert [each.count("DETAILS_ACCESSED") for each in events] == [1, 1, 0]
