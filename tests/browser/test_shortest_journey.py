"""A whole journey from the link of a message to the receipt, with a merchant that offers nothing
else."""

from tests.browser.browser_page import Tabs
from tests.browser.debtor_journey import Setting, Way, in_all_ways
from tests.browser.site import Site


@in_all_ways
async def test_from_the_link_to_the_receipt(tabs: Tabs, site: Site, way: Way) -> None:
    async with Setting(tabs, site).start_journey(way, "whole") as debtor:
        await debtor.open_link()
        await debtor.press("Pay now")
        await debtor.press("Continue to %(provider)s")
        await debtor.press("Pay")
        await debtor.expect_heading("We have received your payment")
        await debtor.press("Show the receipt")
        await debtor.press("Back to the claim")
        await debtor.expect_heading("The claim from %(name)s is paid")
        await debtor.press("End session")

        await debtor.expect_heading("You have ended the session")
