"""Processes in the portal, by mouse and by keyboard, with scripts and without, in English and in
German: built from nothing, changed by two people at once, published, looked back at."""

from collections.abc import Awaitable, Callable, Mapping

import pytest
from playwright.async_api import expect

from dunwell.core.workflows.store import load_workflows
from tests.browser.browser_page import Tabs
from tests.browser.clerk import WAYS, AtWork, PortalWay, in_all_portal_ways, sit_down
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.portal_data import create_portal_data

Judge = Callable[[AtWork], Awaitable[None]]


async def build_one(clerk: AtWork, judge: Judge) -> None:
    """From the list's own words: begun, steps added, settings looked at, seen before publishing."""
    await clerk.turn_to("Workflows")
    await clerk.fill("Name", "Premium")
    await judge(clerk)
    await clerk.press("Create workflow")
    await clerk.sees("There is no template with this name yet.")
    await judge(clerk)
    await clerk.unfold("Add first step")
    await clerk.press("Wait")
    await clerk.fill("Name", "A week")
    await clerk.fill("Days", "7")
    await judge(clerk)
    await clerk.press("Add step")
    await clerk.sees("Step added to the draft.")
    await clerk.press("Back to steps")
    await clerk.press("Move “%(name)s” down", name="A week")
    await clerk.sees("Moved.")
    await clerk.press("Duplicate “%(name)s”", name="A week")
    await clerk.press("Remove “%(name)s”", name="A week")
    await clerk.press("Settings")
    await clerk.sees("Contact days")
    await judge(clerk)
    await clerk.press("Publish")
    await clerk.sees("Changes by author")
    await judge(clerk)


async def publish_a_change(clerk: AtWork, judge: Judge) -> None:
    await open_process(clerk)
    await clerk.open_named("Dunning fee")
    await clerk.fill("Amount in %(currency)s", "3,10" if clerk.way.language == "de" else "3.10")
    await clerk.press("Save")
    await clerk.sees("Saved in draft.")
    await clerk.press("Publish")
    await clerk.sees("Affected claims")
    await judge(clerk)
    await clerk.fill("Version note", "Postage is dearer")
    await clerk.press("Publish %(version)s", version="v1.1")
    await clerk.reads("Postage is dearer")
    await judge(clerk)
    await clerk.press_at(clerk.page.locator("tbody tr:last-child th a").first)
    await judge(clerk)
    await clerk.press("Restore %(version)s", version="v1.0")
    await clerk.sees(
        "The version was restored as the draft. It has no effect until you publish it."
    )
    await clerk.press("Discard draft")
    await judge(clerk)
    await clerk.press("Discard draft")
    await clerk.sees("Draft discarded.")


async def take_a_file(clerk: AtWork, judge: Judge) -> None:
    await open_process(clerk)
    await clerk.press("Import & export")
    saved = await clerk.save("Download as YAML")
    text = clerk.page.locator("#text")
    assert await text.input_value() == saved.decode()
    await text.fill(saved.decode().replace("days: 7", "days: 9"))
    await clerk.press("Preview changes")
    await clerk.sees("Changes")
    await judge(clerk)
    await clerk.press("Import into draft")
    await clerk.sees("The file was imported into the draft.")
    await clerk.press("General")
    await judge(clerk)
    await clerk.press("Deactivate")
    await clerk.press("Activate")
    await clerk.press("Versions")
    await clerk.press("Compare versions")
    await judge(clerk)


_JOURNEYS: Mapping[str, Callable[[AtWork, Judge], Awaitable[None]]] = {
    each.__name__: each for each in (build_one, publish_a_change, take_a_file)
}


async def open_process(clerk: AtWork) -> None:
    await clerk.turn_to("Workflows")
    await clerk.open_named("Standard")


@in_all_portal_ways
@pytest.mark.parametrize("journey", _JOURNEYS)
async def test_a_workflow_is_edited_in_the_portal(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, journey: str, way: PortalWay
) -> None:
    world = await create_portal_data(site.payments.harness)

    async def judge(clerk: AtWork) -> None:
        if clerk.way.scripts:
            await clerk.judge(html_checker)

    async with sit_down(tabs, site, world, way, journey) as clerk:
        await _JOURNEYS[journey](clerk, judge)


@in_all_portal_ways
async def test_two_users_who_edit_one_step_lose_nothing(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    world = await create_portal_data(site.payments.harness)
    async with (
        sit_down(tabs, site, world, WAYS[0]) as other,
        sit_down(tabs, site, world, way, "together-step") as clerk,
    ):
        await open_process(clerk)
        await clerk.open_named("Wait a week")
        await open_process(other)
        await other.open_named("Wait a week")
        await other.fill("Days", "10")
        await other.press("Save")
        await other.sees("Saved in draft.")

        await clerk.fill("Days", "14")
        if way.scripts:
            await clerk.page.locator("#name").focus()
        else:
            await clerk.press("Save")

        await clerk.sees(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        assert await clerk.page.locator("#days").input_value() == "14"
        if way.scripts:
            await clerk.judge(html_checker)
        await clerk.press("Save")
        await clerk.sees("Saved in draft.")
        assert await clerk.page.locator("#days").input_value() == "14"


async def test_a_step_saves_itself_and_a_colleague_sees_it_arrive(tabs: Tabs, site: Site) -> None:
    world = await create_portal_data(site.payments.harness)
    async with (
        sit_down(tabs, site, world, WAYS[0], "arrives") as watching,
        sit_down(tabs, site, world, WAYS[0], "saves") as typing,
    ):
        await open_process(watching)
        await open_process(typing)
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
    world = await create_portal_data(site.payments.harness)
    async with sit_down(tabs, site, world, WAYS[0], "drags") as clerk:
        await open_process(clerk)
        steps = clerk.page.locator("[data-step]")
        names = await steps.locator("h3 a").all_inner_texts()
        async with clerk.page.expect_navigation():
            await (
                steps.nth(0)
                .locator("p.when")
                .drag_to(steps.nth(2), target_position={"x": 60, "y": 5})
            )
        await clerk.sees("Moved.")
        moved = await steps.locator("h3 a").all_inner_texts()
        assert moved == [names[1], names[0], *names[2:]]
    async with world.harness.work() as work:
        assert (await load_workflows(work.tx, work.merchant_id))[0].draft_id is not None
