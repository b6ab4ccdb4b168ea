"""Whole journeys through a dispute: with and without scripts, in both languages, at every width."""

from datetime import timedelta

from playwright.async_api import expect

from tests.browser.debtor_journey import Setting, Way, in_all_ways
from tests.support.files import a_pdf, an_image


@in_all_ways
async def test_a_dispute_with_files_is_sent_extended_and_withdrawn(
    setting: Setting, way: Way
) -> None:
    async with setting.start_journey(way, "objection") as debtor:
        await debtor.type_code()
        await debtor.press("Something is wrong with this claim")
        await debtor.press("The amount is wrong")
        await debtor.fill("Which amount is right?", "1.276,40")
        await debtor.fill("Why is the amount wrong?", "Der Gutschein über 10 € fehlt.")
        await debtor.unfold()
        await debtor.give_files(("beleg.pdf", a_pdf()), ("foto.png", an_image("PNG")))
        await debtor.press("Send")
        await debtor.expect_heading("We have received your dispute")
        await debtor.expect_text("Pay this part")
        await debtor.give_files(("brief.jpg", an_image("JPEG")))
        await debtor.press("Add these files")
        names = await debtor.visit.page.locator(".files li").all_inner_texts()
        number = await debtor.visit.page.locator(".facts .number").inner_text()
        await debtor.press("Back to the claim")
        await debtor.expect_text("You disputed this claim on %(day)s.")
        await expect(debtor.visit.page.locator(".notice .number")).to_have_text(number)
        await debtor.press("See it, add files or withdraw it")
        await debtor.press("Withdraw my dispute")
        await debtor.press("Withdraw my dispute")

        await debtor.expect_heading("You have withdrawn your dispute")
        await expect(debtor.find("Pay this part")).to_have_count(0)

    assert names == ["beleg.pdf", "foto.png", "brief.jpg"]


@in_all_ways
async def test_a_wrong_recipient_reports_it_with_the_link_alone(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "not-me") as debtor:
        await debtor.open_link()
        await debtor.press("This is not me")
        await debtor.press("Confirm: this is not me")

        await debtor.expect_heading("You do not have to pay")
        shown = await debtor.visit.page.content()

    assert "Mustermann" not in shown


@in_all_ways
async def test_extending_the_session_keeps_the_text(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "hour") as debtor:
        await debtor.type_code()
        await debtor.go("/claim/dispute/AMOUNT_WRONG")
        await debtor.fill("Why is the amount wrong?", "Der Gutschein fehlt.")
        await debtor.unfold()
        await debtor.give_files(("beleg.pdf", a_pdf()))
        await debtor.press("Save, and add these files")
        debtor.site.clock.advance(timedelta(minutes=56))
        await debtor.go("/claim")
        await debtor.expect_text(
            "This page closes soon. At the end of the page you can stay for one more hour."
        )
        await debtor.go("/claim/dispute/AMOUNT_WRONG")
        warning = debtor.visit.page.locator(".warning")
        if way.scripts:
            await expect(warning.get_by_role("status")).to_have_text(
                debtor.say("This page closes in about five minutes.")
            )
        await debtor.fill("Why is the amount wrong?", "Der Gutschein fehlt. Siehe Beleg.")
        await debtor.press("Stay for one more hour")
        debtor.site.clock.advance(timedelta(minutes=50))

        kept = await debtor.visit.page.get_by_role("textbox").last.input_value()
        await expect(debtor.visit.page.locator(".files li")).to_contain_text(["beleg.pdf"])

    assert kept == "Der Gutschein fehlt. Siehe Beleg."
