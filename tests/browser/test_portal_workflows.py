"""Workflows in the portal, with mouse and keyboard, with and without scripts, in English and
German: created, changed by two users at once, published, and compared with earlier versions."""

from collections.abc import Awaitable, Callable, Mapping

import pytest
from playwright.async_api import expect

from dunwell.core.workflows.store import load_workflows
from tests.browser.browser_page import Tabs
from tests.browser.clerk import WAYS, PortalClerk, PortalWay, in_all_portal_ways, open_portal
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.portal_data import create_portal_data

PageCheck = Callable[[PortalClerk], Awaitable[None]]


async def create_workflow(clerk: PortalClerk, check_page: PageCheck) -> None:
    """Create a workflow from the list, add steps, open its settings and preview it before
    publishing."""
    await clerk.open_part("Workflows")
    await clerk.fill("Name", "Premium")
    await check_page(clerk)
    await clerk.press("Create workflow")
    await clerk.expect_text("There is no template with this name yet.")
    await check_page(clerk)
    await clerk.unfold("Add first step")
    await clerk.press("Wait")
    await clerk.fill("Name", "A week")
    await clerk.fill("Days", "7")
    await check_page(clerk)
    await clerk.press("Add step")
    await clerk.expect_text("Step added to the draft.")
    await clerk.press("Back to steps")
    await clerk.press("Move “%(name)s” down", name="A week")
    await clerk.expect_text("Moved.")
    await clerk.press("Duplicate “%(name)s”", name="A week")
    await clerk.press("Remove “%(name)s”", name="A week")
    await clerk.press("Settings")
    await clerk.expect_text("Contact days")
    await check_page(clerk)
    await clerk.press("Publish")
    await clerk.expect_text("Changes by author")
    await check_page(clerk)


async def publish_a_change(clerk: PortalClerk, check_page: PageCheck) -> None:
    await open_workflow(clerk)
    await clerk.open_named("Dunning fee")
    await clerk.fill("Amount in %(currency)s", "3,10" if clerk.way.language == "de" else "3.10")
    await clerk.press("Save")
    await clerk.expect_text("Saved in draft.")
    await clerk.press("Publish")
    await clerk.expect_text("Affected claims")
    await check_page(clerk)
    await clerk.fill("Version note", "Postage is dearer")
    await clerk.press("Publish %(version)s", version="v1.1")
    await clerk.expect_words("Postage is dearer")
    await check_page(clerk)
    await clerk.press_element(clerk.page.locator("tbody tr:last-child th a").first)
    await check_page(clerk)
    await clerk.press("Restore %(version)s", version="v1.0")
    await clerk.expect_text(
        "The version was restored as the draft. The draft has no effect until you publish it."
    )
    await clerk.press("Discard draft")
    await check_page(clerk)
    await clerk.press("Discard draft")
    await clerk.expect_text("Draft discarded.")


async def import_file(clerk: PortalClerk, check_page: PageCheck) -> None:
    await open_workflow(clerk)
    await clerk.press("Import & export")
    saved = await clerk.save("Download as YAML")
    text = clerk.page.locator("#text")
    assert await text.input_value() == saved.decode()
    await text.fill(saved.decode().replace("days: 7", "days: 9"))
    await clerk.press("Preview changes")
    await clerk.expect_text("Changes")
    await check_page(clerk)
    await clerk.press("Import into draft")
    await clerk.expect_text("The file was imported into the draft.")
    await clerk.press("General")
    await check_page(clerk)
    await clerk.press("Deactivate")
    await clerk.press("Activate")
    await clerk.press("Versions")
    await clerk.press("Compare versions")
    await check_page(clerk)


_JOURNEYS: Mapping[str, Callable[[PortalClerk, PageCheck], Awaitable[None]]] = {
    each.__name__: each for each in (create_workflow, publish_a_change, import_file)
}


async def open_workflow(clerk: PortalClerk) -> None:
    await clerk.open_part("Workflows")
    await clerk.open_named("Standard")


@in_all_portal_ways
@pytest.mark.parametrize("journey", _JOURNEYS)
async def test_a_workflow_is_edited_in_the_portal(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, journey: str, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)

    async def check_page(clerk: PortalClerk) -> None:
        if clerk.way.scripts:
            await clerk.check_page(html_checker)

    async with open_portal(tabs, site, data, way, journey) as clerk:
        await _JOURNEYS[journey](clerk, check_page)


@in_all_portal_ways
async def test_two_users_who_edit_one_step_lose_nothing(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)
    async with (
        open_portal(tabs, site, data, WAYS[0]) as other,
        open_portal(tabs, site, data, way, "together-step") as clerk,
    ):
        await open_workflow(clerk)
        await clerk.open_named("Wait a week")
        await open_workflow(other)
        await other.open_named("Wait a week")
        await other.fill("Days", "10")
        await other.press("Save")
        await other.expect_text("Saved in draft.")

        await clerk.fill("Days", "14")
        if way.scripts:
            await clerk.page.locator("#name").focus()
        else:
            await clerk.press("Save")

        await clerk.expect_text(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        assert await clerk.page.locator("#days").input_value() == "14"
        if way.scripts:
            await clerk.check_page(html_checker)
        await clerk.press("Save")
        await clerk.expect_text("Saved in draft.")
        assert await clerk.page.locator("#days").input_value() == "14"


async def test_a_step_saves_itself_and_a_colleague_sees_it_arrive(tabs: Tabs, site: Site) -> None:
    data = await create_portal_data(site.payments.harness)
    async with (
        open_portal(tabs, site, data, WAYS[0], "arrives") as watching,
        open_portal(tabs, site, data, WAYS[0], "saves") as typing,
    ):
        await open_workflow(watching)
        await open_workflow(typing)
        await typing.open_named("Wait a week")
        await typing.page.locator("#days").fill("0")
        await expect(typing.page.locator("#days-error")).to_be_visible()
        await typing.page.locator("#days").fill("12")
        await expect(typing.page.locator("#days-error")).to_have_count(0)
        await typing.page.locator("#name").focus()
        await expect(typing.page.locator("[data-state]")).to_have_text("Saved in draft.")
        await expect(watching.page.locator("#draft")).to_contain_text("12 days")
        await expect(watching.page.locator("#draft")).to_contain_text("Kim")


async def test_a_step_is_moved_by_dragging(tabs: Tabs, site: Site) -> None:
    data = await create_portal_data(site.payments.harness)
    async with open_portal(tabs, site, data, WAYS[0], "drags") as clerk:
        await open_workflow(clerk)
        steps = clerk.page.locator("[data-step]")
        names = await steps.locator("h3 a").all_inner_texts()
        async with clerk.page.expect_navigation():
            await (
                steps.nth(0)
                .locator("p.when")
                .drag_to(steps.nth(2), target_position={"x": 60, "y": 5})
            )
        await clerk.expect_text("Moved.")
        moved = await steps.locator("h3 a").all_inner_texts()
        assert moved == [names[1], names[0], *names[2:]]
    async with data.harness.work() as work:
        assert (await load_workflows(work.tx, work.merchant_id))[0].draft_id is not None
