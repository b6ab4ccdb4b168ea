"""Whole journeys to a payment plan, a deferral and a pause: with and without scripts, in both
languages, at every width."""

from tests.browser.debtor_journey import Setting, Way, in_all_ways


@in_all_ways
async def test_from_a_link_over_a_known_fact_to_a_plan_and_back(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "plan") as debtor:
        await debtor.open_link()
        await debtor.press("I cannot pay all of it now")
        await debtor.press("Pay in instalments")
        await debtor.expect_heading("Please confirm that it is you")
        await debtor.fill("Postal code of your address", "20095")
        await debtor.press("Continue")
        await debtor.expect_heading("Pay %(amount)s in instalments")
        await debtor.visit.page.get_by_role("radio").first.check()
        await debtor.press("Check the payment plan")
        await debtor.expect_heading("Please check your payment plan")
        await debtor.press("Agree to this payment plan")
        await debtor.expect_heading("Your payment plan is agreed")
        confirmation = await debtor.save("Save as PDF")
        await debtor.press("Back to the claim")
        await debtor.press("See your payment plan")
        await debtor.press("End the payment plan")
        await debtor.press("End the payment plan")

        await debtor.expect_heading("You have ended the payment plan")

    assert confirmation.startswith(b"%PDF")


@in_all_ways
async def test_from_the_letter_s_code_to_a_later_day(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "later") as debtor:
        await debtor.type_code()
        await debtor.press("I cannot pay all of it now")
        await debtor.press("Pay all of it later")
        await debtor.press("Continue")
        await debtor.expect_text("Please choose one option.")
        await debtor.visit.page.get_by_role("radio").first.check()
        await debtor.press("Continue")
        await debtor.expect_heading("Please check the new date")
        await debtor.press("Agree to this date")
        await debtor.expect_heading("You have time until %(day)s")
        confirmation = await debtor.save("Save as PDF")
        await debtor.press("Back to the claim")

        await debtor.expect_text("You have time until %(day)s.")

    assert confirmation.startswith(b"%PDF")


@in_all_ways
async def test_a_debtor_who_cannot_pay_pauses_the_claim(setting: Setting, way: Way) -> None:
    async with setting.start_journey(way, "break") as debtor:
        await debtor.type_code()
        await debtor.press("I cannot pay all of it now")
        await debtor.press("I cannot pay at all at the moment")
        await debtor.expect_text("Debt advice")
        await debtor.press("Pause until %(day)s")
        await debtor.expect_text("This claim is paused until %(day)s.")
        await debtor.press("Back")
        await debtor.press("Back to the claim")

        await debtor.expect_text("This claim is paused until %(day)s.")
