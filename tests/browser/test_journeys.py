"""Whole journeys from a link or code through a payment: with and without scripts, in both
languages, at every width."""

import re
from datetime import timedelta

from tests.browser.debtor_journey import Setting, Way, in_all_ways
from tests.support.guarded_landing import read_sent_link, send_links


@in_all_ways
async def test_from_a_link_that_asks_for_a_fact_over_a_part_payment_to_the_saved_receipt(
    setting: Setting, way: Way
) -> None:
    async with setting.start_journey(way, "part") as debtor:
        await debtor.go(await debtor.site.give_link("SMS"))
        await debtor.fill("Postal code of your address", "20097")
        await debtor.press("Show the details")
        await debtor.expect_text("This does not match our records")
        await debtor.fill("Postal code of your address", "20095")
        await debtor.press("Show the details")
        await debtor.expect_heading("Your outstanding amount with %(name)s")
        await debtor.press("Pay now")
        await debtor.fill("Amount", "500")
        await debtor.press("Pay this amount")
        await debtor.expect_heading("Please check your payment")
        await debtor.press("Continue to %(provider)s")
        await debtor.press("Pay")
        await debtor.expect_heading("We have received your payment")
        await debtor.press("Show the receipt")
        receipt = await debtor.save("Save as PDF")
        await debtor.press("Back to the claim")

        await debtor.expect_text("Still to pay")
        shown = await debtor.visit.page.locator(".amount").inner_text()

    assert receipt.startswith(b"%PDF")
    assert re.sub(r"\D", "", shown) == "83790"


@in_all_ways
async def test_from_the_letter_s_code_over_a_bank_transfer_to_a_pending_claim(
    setting: Setting, way: Way
) -> None:
    async with setting.start_journey(way, "transfer") as debtor:
        await debtor.type_code()
        await debtor.press("Pay now")
        await debtor.press("Pay all of it")
        await debtor.press("Pay by bank transfer")
        await debtor.expect_heading("Pay by bank transfer")
        await debtor.press("I have sent it")
        await debtor.choose("Yesterday, %(day)s")
        await debtor.press("Tell us")
        await debtor.expect_heading("We are waiting for your transfer")
        await debtor.press("Back to the claim")

        await debtor.expect_text("Your payment is being processed.")
        assert await debtor.find("Pay now").count() == 0


@in_all_ways
async def test_a_letter_is_checked_without_opening_the_claim(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "real") as debtor:
        await debtor.go("/q")
        await debtor.press("Is this real?")
        await debtor.fill("Code, or link from a text message", await debtor.site.give_code())
        await debtor.fill("Amount", "1")
        await debtor.press("Check it")
        await debtor.expect_text("We cannot confirm this message")
        # A wrong code delays the visitor's next attempt by a second.
        debtor.site.clock.advance(timedelta(seconds=1))
        await debtor.fill("Code, or link from a text message", await debtor.site.give_code())
        await debtor.fill("Amount", "1337,90 €")
        await debtor.press("Check it")

        await debtor.expect_heading("This letter is ours")
        assert await debtor.visit.page.context.cookies() == []


@in_all_ways
async def test_a_dead_link_leads_to_a_new_link(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "new-link") as debtor:
        await debtor.go("/q/AAAAAAAAAAAAAAAAAAAAAA")
        await debtor.press("Ask for a new link")
        await debtor.fill("Your reference", "INV-1001")
        await debtor.fill("Your e-mail address or mobile number", "Erika@example.org")
        await debtor.press("Send me a link")
        await debtor.expect_heading("If both details are correct, a new link is on its way")
        await send_links(debtor.site)
        await debtor.go(await read_sent_link(debtor.site))
        await debtor.press("Show the details")

        await debtor.expect_heading("Your outstanding amount with %(name)s")
