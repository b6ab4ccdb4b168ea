"""The pages of assignment rules in Chromium: they are accessible and fit their width in both
languages. A rule is created, moved, tried and published in all ways, and two users edit one rule.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from dunwell.cases.assignment.rules_views import RulesView, get_rules
from tests.browser.browser_page import Tabs
from tests.browser.clerk import WAYS, PortalClerk, PortalWay, in_all_portal_ways, open_portal
from tests.browser.html_checker import HtmlChecker
from tests.browser.site import Site
from tests.support.harness import Harness
from tests.support.portal_data import PortalData, create_portal_data
from tests.support.portal_rules import (
    ABROAD,
    COLLEAGUE,
    EVERYTHING,
    HIDDEN,
    LARGE,
    MARKUP,
    TRIAL,
    add_rules,
    save_draft,
)

_PATHS = {
    "list": "/rules",
    "rule": "/rules/rule?name=Trial%20of%20letters",
    "new": "/rules/rule",
    "try": "/rules/try?reference=RE-2026-1000",
    "effect": "/rules/effect",
    "publish": "/rules/publish",
    "versions": "/rules/versions",
    "version": "/rules/versions/5",
    "file": "/rules/file",
}
_SCRIPTED = WAYS[0]


@asynccontextmanager
async def at_rules(
    tabs: Tabs, site: Site, way: PortalWay, journey: str = ""
) -> AsyncIterator[PortalClerk]:
    data = await create_portal_data(site.payments.harness)
    await add_rules(data.harness)
    async with open_portal(tabs, site, data, way, journey) as clerk:
        yield clerk


async def read(harness: Harness) -> RulesView:
    async with harness.work() as work:
        return await get_rules(work)


async def names(data: PortalData) -> list[str]:
    return [rule.name for rule in (await read(data.harness)).edited.rules]


@in_all_portal_ways
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    async with at_rules(tabs, site, way, "rules-pages") as clerk:
        texts = {**HIDDEN, "name": f"Unten {MARKUP}", "target": f"Texts {MARKUP}"}
        await save_draft(
            clerk.data.harness, {**LARGE, "active": False}, TRIAL, ABROAD, EVERYTHING, HIDDEN,
            {**LARGE, "name": "Large again"}, texts, default=None, by=COLLEAGUE,
        )  # fmt: skip
        for path in (*_PATHS.values(), f"/rules/rule?name={_quote(str(EVERYTHING['name']))}"):
            await clerk.go(path)
            if way.scripts:
                await clerk.check_page(html_checker)


def _quote(text: str) -> str:
    return text.replace("&", "%26").replace("+", "%2B")


@in_all_portal_ways
async def test_a_rule_is_created_moved_reviewed_and_published(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    async with at_rules(tabs, site, way, "rules") as clerk:
        page, data = clerk.page, clerk.data
        await clerk.go("")
        await clerk.open_part("Assignment rules")
        await clerk.press("Add rule")
        await clerk.fill("Name", "Small & <new>")
        await page.locator("summary").nth(1).press("Enter")
        await page.locator('[id="when.outstanding.max"]').fill("200")
        await page.locator('[id="target.name.0"]').select_option("Friendly")
        await page.locator('[id="target.value.0"]').fill("50")
        await clerk.press("Run checks")
        await clerk.expect_text("The shares must add up to 100 percent.")
        if way.scripts:
            await clerk.check_page(html_checker)
        await page.locator('[id="target.name.1"]').select_option("Letters first")
        await page.locator('[id="target.value.1"]').fill("50")
        await clerk.press("Save in draft")
        await clerk.expect_text("Rule saved in the draft.")
        for _ in range(3):
            await clerk.press("Move “%(name)s” up", name="Small & <new>")
        assert (await names(data))[0] == "Small & <new>"
        assert await page.evaluate("document.activeElement.value") == "down"
        await clerk.press("Test with claims from the last 30 days")
        await clerk.expect_words("Small & <new>")
        await clerk.press("Review & publish")
        await clerk.fill("Version note", "Try it on small ones")
        await clerk.press("Publish")
        await clerk.expect_text("Rules published. They apply to claims created from now on.")
        assert (await read(data.harness)).version == 6
        await clerk.press("Published versions")
        await clerk.expect_words("Try it on small ones")
        await clerk.press("Version %(number)s", number="5")
        await clerk.press("Restore this version")
        await clerk.expect_text(
            "The version was restored as the draft. The draft has no effect until you publish it."
        )
        assert await names(data) == ["Large", "Austria and Switzerland", "Trial of letters"]


@in_all_portal_ways
async def test_a_tested_claim_shows_the_conditions_that_failed(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    async with at_rules(tabs, site, way, "rules-try") as clerk:
        await clerk.go("/rules")
        await clerk.press("Test rules")
        await clerk.fill("Reference or number of an existing claim", "RE-2026-1003")
        await clerk.press("Test")
        await clerk.expect_text("Near misses")
        await clerk.expect_text("No rule matches; the default workflow applies.")
        await clerk.page.locator("details.panel > summary").press("Enter")
        await clerk.page.locator("#outstanding").fill("900")
        await clerk.press_element(clerk.page.locator("details.panel .acts button"))
        await clerk.expect_text("“%(name)s” matches.", name="Large")
        if way.scripts:
            await clerk.check_page(html_checker)


@in_all_portal_ways
async def test_a_second_save_of_a_rule_shows_the_conflict(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    async with at_rules(tabs, site, way, "rules-together") as clerk:
        page, data = clerk.page, clerk.data
        async with open_portal(tabs, site, data, _SCRIPTED) as other:
            await clerk.go("/rules/rule?name=Large")
            await other.go("/rules/rule?name=Large")
            await other.page.locator('[id="when.outstanding.min"]').fill("600")
            await other.press("Save in draft")
            await page.locator('[id="when.outstanding.min"]').fill("700")
            await clerk.press("Save in draft")
            await clerk.expect_text(
                "Someone else changed this while you were editing. Your changes are not saved yet."
            )
            await clerk.expect_words("600")
            assert await page.locator('[id="when.outstanding.min"]').input_value() == "700"
            if way.scripts:
                await clerk.check_page(html_checker)
            await clerk.press("Save in draft")
            await clerk.press("Review & publish")
            await clerk.press("Publish")
            await clerk.expect_text("Not published")
            await clerk.expect_text("I have reviewed %(who)s’s changes.")  # noqa: RUF001
            await clerk.tick(page.locator("main input[name=agreed]"))
            await clerk.press("Publish")
            assert (await read(data.harness)).version == 6


async def test_a_rule_is_dragged_and_checked_while_it_is_written(tabs: Tabs, site: Site) -> None:
    async with at_rules(tabs, site, _SCRIPTED) as clerk:
        page = clerk.page
        await clerk.go("/rules")
        rows = page.locator("ol.rules > li")
        async with page.expect_navigation():
            await rows.nth(2).locator(".grip").drag_to(rows.nth(0))
        assert (await names(clerk.data))[0] == "Trial of letters"
        await clerk.go("/rules/rule")
        await page.locator("#name").fill("Large")
        checked = page.locator("#checked")
        await expect(checked).to_contain_text("another rule already has this name")
        await page.locator("#name").fill("Very large")
        await page.locator('[id="target.name.0"]').select_option("Friendly")
        await page.locator("summary").nth(1).click()
        await page.locator('[id="when.outstanding.min"]').fill("90000")
        await expect(checked).to_contain_text("Unreachable: “Large” above matches first")
        assert (await read(clerk.data.harness)).draft is not None
        assert "Very large" not in await names(clerk.data)


@pytest.mark.parametrize("width", [320, 1280])
async def test_a_long_name_does_not_widen_a_page(tabs: Tabs, site: Site, width: int) -> None:
    async with at_rules(tabs, site, _SCRIPTED) as clerk:
        long = "Mahnverfahrensvorstufenregelung" * 8
        await save_draft(clerk.data.harness, {**LARGE, "name": long}, {**LARGE, "name": "Hidden"})
        await clerk.page.set_viewport_size({"width": width, "height": 900})
        for path in ("/rules", f"/rules/rule?name={long}", "/rules/publish", "/rules/effect"):
            await clerk.go(path)
