"""The templates of a workflow in Chromium: every page is accessible and fits its width; journeys
from a missing text to a complete workflow, with keyboard and mouse, with and without scripts."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import expect

from tests.browser.browser_page import Tabs
from tests.browser.clerk import PortalClerk, PortalWay, in_all_portal_ways, open_portal
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_violations, measure
from tests.browser.site import OFFERING_ALL, RunningApplication, Site
from tests.support.portal_data import create_portal_data
from tests.support.texts import a_texts_harness

_HEIGHT = 900
# The error that axe causes in a frame that runs no scripts.
_AXE = "Failed to execute 'postMessage'"
Journey = Callable[[PortalClerk, str], Awaitable[None]]
_ENGLISH_SMS = "?template=reminder&channel=SMS&language=en"
_GERMAN = "?template=reminder&language=de"


@pytest.fixture
async def site(application: RunningApplication) -> Site:
    return await application.create_site(OFFERING_ALL)


@asynccontextmanager
async def at_texts(
    tabs: Tabs, site: Site, way: PortalWay, journey: str
) -> AsyncIterator[tuple[PortalClerk, str]]:
    """Yield a clerk and the path of the workflow's pages."""
    data = await create_portal_data(site.payments.harness)
    path = await a_texts_harness(data.harness)
    async with open_portal(tabs, site, data, way, f"texts-{journey}") as clerk:
        yield clerk, path


def _list_paths(path: str) -> dict[str, str]:
    preview = f"{path}/texts/preview{_GERMAN}"
    return {
        "grid": f"{path}/texts", "text": f"{path}/texts/edit{_GERMAN}&channel=EMAIL",
        "text-sms": f"{path}/texts/edit{_ENGLISH_SMS}",
        "text-gap": f"{path}/texts/edit?template=reminder&channel=LETTER&language=en",
        "snippet": f"{path}/texts/edit?snippet=signature&language=en",
        "mail": f"{preview}&channel=EMAIL", "mail-longest": f"{preview}&channel=EMAIL&case=LONGEST",
        "sms": f"{preview}&channel=SMS", "letter": f"{preview}&channel=LETTER",
        "letter-many": f"{preview}&channel=LETTER&case=MANY_ITEMS",
        "simulation": f"{path}/simulate", "simulation-claim": f"{path}/simulate?claim=RE-2026-1006"
        "&start=2026-12-23", "simulation-unknown": f"{path}/simulate?claim=none&start=then",
    }  # fmt: skip


@pytest.mark.parametrize("language", ["en", "de"])
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, language: str
) -> None:
    way = PortalWay("de" if language == "de" else "en", 1280, scripts=True, by="mouse")
    found = list[str]()
    async with at_texts(tabs, site, way, "looks") as (clerk, path):
        for name, address in _list_paths(path).items():
            await clerk.go(address)
            source = await clerk.page.content()
            found += [f"{name} {each}" for each in await html_checker.list_faults(source)]
            for width in (1280, 390):
                await clerk.page.set_viewport_size({"width": width, "height": _HEIGHT})
                await clerk.page.wait_for_load_state("networkidle")
                measured = await measure(clerk.page)
                assert not measured["scrolls"], (name, width, measured)
                assert not measured["broken"], (name, width, measured)
                found += [f"{name} {width} {each}" for each in await list_violations(clerk.page)]
                await keep_screenshot(clerk.page, f"texts-{name}-{language}-{width}")
        clerk.complaints[:] = [each for each in clerk.complaints if not each.startswith(_AXE)]
    assert found == []


async def write_missing_texts(clerk: PortalClerk, path: str) -> None:
    """Write every text that the grid marks as missing."""
    await clerk.go(f"{path}/texts")
    await clerk.expect_text("%(count)s template is missing.")
    await clerk.press_element(clerk.page.locator("td a", has=clerk.page.locator(".tag.bad")).first)
    await clerk.fill("Subject", "Your invoice {{ claim.referenceNumber }}")
    await clerk.fill("Text", "{{ items }}")
    await clerk.press("Save in draft")
    await clerk.expect_text("Saved.")
    await clerk.expect_text("All required content included")
    await clerk.press("Templates")
    await clerk.open_named("{{ outstanding }} are open.")
    await clerk.expect_text("Cannot be published")
    await insert_placeholder(clerk, "merchant.name")
    await clerk.expect_text("All required content included")
    await clerk.press("Save in draft")
    await clerk.press("Templates")
    await clerk.expect_text("All templates are complete.")


async def insert_placeholder(clerk: PortalClerk, name: str) -> None:
    """Insert a placeholder at the cursor, or at the end without scripts."""
    button = clerk.page.locator(f"button[value='{name}']")
    if not clerk.way.scripts:
        await clerk.press_element(button)
    elif clerk.way.by == "mouse":
        await button.click()
    else:
        await button.focus()
        await clerk.page.keyboard.press("Enter")
    await expect(clerk.page.locator("#body")).to_have_value(re.compile(f"{{{{ {name} }}}}"))


async def preview_and_simulate(clerk: PortalClerk, path: str) -> None:
    await clerk.go(f"{path}/texts")
    await clerk.open_named("Erinnerung {{ claim.referenceNumber }}")
    await clerk.press("Preview")
    frame = clerk.page.frame_locator("iframe")
    await expect(frame.locator("body")).to_contain_text("104,90")
    await clerk.pick("Sample data", "MANY_ITEMS")
    await clerk.press("Apply")
    await expect(clerk.page.frame_locator("iframe").locator("body")).to_contain_text("5.632.138,05")
    await clerk.fill("Or claim reference", "RE-2026-1008")
    await clerk.press("Apply")
    await expect(clerk.page.frame_locator("iframe").locator("body")).to_contain_text("Zoë Müller")
    await clerk.press("Letter")
    await clerk.expect_text(
        "This claim has no address for this channel. Choose another claim or channel."
    )
    await clerk.press("Templates")
    await clerk.press("Simulation")
    await clerk.expect_text("Timeline")
    await clerk.fill("Start date", "2026-12-23")
    await clerk.press("Apply")
    await clerk.expect_words("31" if clerk.way.language == "en" else "31.12.2026")
    await clerk.page.locator("main summary", has_text="Erinnerung INV-2026-0815").click()
    await clerk.expect_words("Guten Tag Erika Mustermann")


@in_all_portal_ways
@pytest.mark.parametrize(
    "journey", [write_missing_texts, preview_and_simulate], ids=lambda it: it.__name__
)
async def test_templates_are_edited_previewed_and_simulated(
    tabs: Tabs, site: Site, way: PortalWay, journey: Journey
) -> None:
    async with at_texts(tabs, site, way, journey.__name__) as (clerk, path):
        await journey(clerk, path)


@pytest.mark.parametrize("width", [390, 1280])
async def test_checks_run_while_typing_and_a_placeholder_is_inserted_at_the_cursor(
    tabs: Tabs, site: Site, width: int
) -> None:
    way = PortalWay("en", width, scripts=True, by="keyboard")
    async with at_texts(tabs, site, way, "typing") as (clerk, path):
        await clerk.go(f"{path}/texts/edit?template=reminder&channel=SMS&language=de")
        page, body = clerk.page, clerk.page.locator("#body")
        checked = page.locator("[data-checked]")
        await body.fill("Offen:  Bitte zahlen.")
        await expect(checked).to_contain_text("The amount to pay is missing; add")
        await body.evaluate("it => it.setSelectionRange(7, 7)")
        await page.locator("button[value='outstanding']").focus()
        await page.keyboard.press("Enter")
        await expect(body).to_have_value("Offen: {{ outstanding }} Bitte zahlen.")
        await expect(body).to_be_focused()
        await expect(checked).to_contain_text("104,90")
        await expect(checked).not_to_contain_text("how much is to be paid")
        await body.press("End")
        await page.keyboard.type(" {{ merchant.name }} {{ landing.url }} Polizei")
        await expect(checked).to_contain_text('Messages to debtors must not contain "Polizei"')
        assert clerk.complaints == []


async def test_two_users_who_edit_one_template_lose_nothing(tabs: Tabs, site: Site) -> None:
    way = PortalWay("en", 1280, scripts=True, by="mouse")
    async with at_texts(tabs, site, way, "together") as (clerk, path):
        address = f"{path}/texts/edit?template=reminder&channel=SMS&language=de"
        async with open_portal(tabs, site, clerk.data, way) as other:
            await clerk.go(address)
            await other.go(address)
            await other.fill("Text", "Von der Kollegin")
            await other.press("Save in draft")
            await clerk.fill("Text", "Von mir")
            await clerk.press("Save in draft")
        await clerk.expect_text(
            "Someone else changed this while you were editing. Your changes are not saved yet."
        )
        await clerk.expect_words("Von der Kollegin")
        await expect(clerk.page.locator("#body")).to_have_value("Von mir")
        await clerk.press("Save in draft")
        await clerk.expect_text("Saved.")
        await expect(clerk.page.locator("#body")).to_have_value("Von mir")
