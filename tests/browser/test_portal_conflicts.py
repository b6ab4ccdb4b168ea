"""Two people at one claim, and at one answer, each in their own browser: the second is told what
has changed, and nothing that was typed is lost."""

from tests.browser.browser_page import Tabs
from tests.browser.clerk import WAYS, PortalWay, in_all_portal_ways, sit_down
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.portal_data import create_portal_data

_FIRST, _SECOND = "We have found your parcel.", "Please send us the receipt of the parcel."


@in_all_portal_ways
async def test_the_second_save_of_contact_data_shows_what_has_changed(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    world = await create_portal_data(site.payments.harness)
    form = f"/claims/{world.claim_ids[5]}/contact"
    async with (
        sit_down(tabs, site, world, WAYS[0]) as other,
        sit_down(tabs, site, world, way, "together") as clerk,
    ):
        await clerk.go(form)
        await clerk.fill("City", "Bremen")
        await other.go(form)
        await other.fill("City", "Kiel")
        await other.press("Save")

        await clerk.press("Save")

        await clerk.sees(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.sees("Currently saved: %(text)s", text="Kiel")
        assert await clerk.page.locator("#city").input_value() == "Bremen"
        if way.scripts:
            await clerk.judge(html_checker)
        await clerk.press("Save")
        await clerk.reads("Bremen")


@in_all_portal_ways
async def test_two_users_who_answer_one_dispute_keep_both_texts(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    world = await create_portal_data(site.payments.harness)
    answer = f"/claims/{world.claim_id}/disputes/{world.disputed.dispute_id}"
    async with (
        sit_down(tabs, site, world, WAYS[0]) as other,
        sit_down(tabs, site, world, way, "together-answer") as clerk,
    ):
        await clerk.go(answer)
        await other.go(answer)
        await other.choose("Reject dispute")
        await other.fill("Message to the debtor", _FIRST)
        await other.press("Save draft")

        await clerk.choose("Reject dispute")
        await clerk.fill("Message to the debtor", _SECOND)
        await clerk.press("Preview")

        await clerk.sees(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.reads(_FIRST)
        assert await clerk.page.locator("#message").input_value() == _SECOND
        if way.scripts:
            await clerk.judge(html_checker)
        await clerk.press("Preview")
        await other.press("Preview")
        await other.sees(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.press("Send response")
        await clerk.sees("Response sent.")

        await other.press("Preview")
        await other.sees("Someone else has already responded")
        await other.reads(_FIRST)
