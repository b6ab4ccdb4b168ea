"""Two users work on the same claim or the same response. The second one sees what has changed, and
no input is lost."""

from tests.browser.browser_page import Tabs
from tests.browser.clerk import WAYS, PortalWay, in_all_portal_ways, open_portal
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.portal_data import create_portal_data

_FIRST, _SECOND = "We have found your parcel.", "Please send us the receipt of the parcel."


@in_all_portal_ways
async def test_the_second_save_of_contact_data_shows_what_has_changed(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)
    form = f"/claims/{data.claim_ids[5]}/contact"
    async with (
        open_portal(tabs, site, data, WAYS[0]) as other,
        open_portal(tabs, site, data, way, "together") as clerk,
    ):
        await clerk.go(form)
        await clerk.fill("City", "Bremen")
        await other.go(form)
        await other.fill("City", "Kiel")
        await other.press("Save")

        await clerk.press("Save")

        await clerk.expect_text(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.expect_text("Currently saved: %(text)s", text="Kiel")
        assert await clerk.page.locator("#city").input_value() == "Bremen"
        if way.scripts:
            await clerk.check_page(html_checker)
        await clerk.press("Save")
        await clerk.expect_words("Bremen")


@in_all_portal_ways
async def test_two_users_who_answer_one_dispute_keep_both_texts(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)
    answer = f"/claims/{data.claim_id}/disputes/{data.disputed.dispute_id}"
    async with (
        open_portal(tabs, site, data, WAYS[0]) as other,
        open_portal(tabs, site, data, way, "together-answer") as clerk,
    ):
        await clerk.go(answer)
        await other.go(answer)
        await other.choose("Reject dispute")
        await other.fill("Message to the debtor", _FIRST)
        await other.press("Save draft")

        await clerk.choose("Reject dispute")
        await clerk.fill("Message to the debtor", _SECOND)
        await clerk.press("Preview")

        await clerk.expect_text(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.expect_words(_FIRST)
        assert await clerk.page.locator("#message").input_value() == _SECOND
        if way.scripts:
            await clerk.check_page(html_checker)
        await clerk.press("Preview")
        await other.press("Preview")
        await other.expect_text(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.press("Send response")
        await clerk.expect_text("Response sent.")

        await other.press("Preview")
        await other.expect_text("Someone else has already responded")
        await other.expect_words(_FIRST)
