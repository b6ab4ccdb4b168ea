"""Whole journeys to documents and contact preferences: with and without scripts, in both languages,
at every width."""

from playwright.async_api import expect

from tests.browser.debtor_journey import Setting, Way, in_all_ways
from tests.support.documents import attach
from tests.support.guarded_landing import list_notices, read_sent_code

_OTHER = {"de": "English", "en": "Deutsch"}


@in_all_ways
async def test_language_channels_and_address_are_changed(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "reach") as debtor:
        await debtor.type_code()
        await debtor.press("Change language, channels and addresses")
        await debtor.visit.page.locator("[name=SMS]").uncheck()
        await debtor.press("Save my choice")
        await debtor.expect_text("Saved. We use only the ways that you have selected.")
        await debtor.press("Change the e-mail address")
        await debtor.press("Send me the code")
        await debtor.fill("Code", await read_sent_code(debtor.site))
        await debtor.press("Continue")
        await debtor.press("Change the e-mail address")
        await debtor.fill("Your new e-mail address", "erika@neu.example")
        await debtor.press("Send me the code")
        await debtor.fill("Code", await read_sent_code(debtor.site))
        await debtor.press("Continue")
        await debtor.expect_text("Saved. From now on we use your new e-mail address.")
        await debtor.visit.page.get_by_role("radio", name=_OTHER[way.language]).check()
        await debtor.press("Save the language")
        recipients = [row["recipient"] for row in await list_notices(debtor.site)]

        spoken = {"de": "en", "en": "de"}[way.language]
        await expect(debtor.visit.page.locator("html")).to_have_attribute("lang", spoken)

    assert recipients == ["erika@example.org", "erika@neu.example", "erika@example.org"]


@in_all_ways
async def test_a_document_is_downloaded(setting: Setting, way: Way) -> None:
    site = setting.site
    await attach(site.payments.harness, site.claim_id, "Rechnung RE-2026-0815")
    async with setting.start_journey(way, "documents") as debtor:
        await debtor.type_code()
        await debtor.press("View %(count)s document")
        await debtor.expect_heading("Documents")
        document = await debtor.save("Rechnung RE-2026-0815.pdf")

    assert document.startswith(b"%PDF")
