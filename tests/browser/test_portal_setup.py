"""Settings in Chromium: every page is accessible and fits its width. A new merchant is fully
configured by following the pages, with mouse and keyboard, in both languages."""

from dataclasses import dataclass, field

import pytest
from playwright.async_api import expect

from dunwell.interfaces.portal.setup.sections import SECTIONS
from tests.browser.browser_page import Tabs
from tests.browser.clerk import PortalClerk, PortalWay, in_all_portal_ways, open_portal
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends
from tests.browser.site import RunningApplication, Site
from tests.browser.test_portal_money import open_portal as open_signed_in_page
from tests.support.portal_data import create_portal_data

_PATHS = {
    "settings": "/settings", "file": "/settings/file", "webhooks": "/settings/webhooks",
    "credentials": "/credentials", **{name: f"/settings/{name}" for name in SECTIONS},
}  # fmt: skip
# The seconds that a user needs to read a page, and to copy a value from a sheet of paper.
_PAGE, _FIELD = 9, 9
_TEN_MINUTES = 600


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, application: RunningApplication, html_checker: HtmlChecker, locale: str
) -> None:
    found = []
    async with open_signed_in_page(tabs, application, locale=locale) as tab:
        for name, path in _PATHS.items():
            source = await tab.go(path)
            policy = "default-src 'none'"
            faults = [*await html_checker.list_faults(source), *list_loose_ends(source, policy)]
            found += [f"{name} {each}" for each in faults]
            await tab.check_page(f"setup-{name}-{locale[:2]}")
        assert tab.complaints == []
    assert found == []


@dataclass
class _Paper:
    """The values that the clerk has on paper, and the number of values typed so far."""

    clerk: PortalClerk
    typed: int = field(default=0)

    async def open(self, need: str) -> None:
        await self.clerk.press(need)

    async def fill(self, label: str, value: str) -> None:
        await self.clerk.fill(label, value)
        self.typed += 1

    async def save(self) -> None:
        await self.clerk.press("Save")
        await self.clerk.expect_text("Saved.")


async def _check_page(clerk: PortalClerk, html_checker: HtmlChecker) -> None:
    """Check the page if scripts are on, because axe is a script."""
    if clerk.way.scripts:
        await clerk.check_page(html_checker)


async def _set_up(paper: _Paper, html_checker: HtmlChecker) -> None:
    """Follow the checklist from top to bottom."""
    clerk = paper.clerk
    await paper.open("Creditor details")
    await paper.fill("Legal name", "Teekontor Hansen GmbH")
    await paper.fill("Postal address", "Speicherweg 12\n20457 Hamburg")
    await paper.fill("Legal representatives", "Wiebke Hansen")
    await paper.fill("Commercial register number", "Amtsgericht Hamburg, HRB 1")
    await _check_page(clerk, html_checker)
    await paper.save()
    await paper.open("Support contact")
    await paper.fill("E-mail address", "rechnung@teekontor")
    await clerk.press("Save")
    await expect(clerk.page.locator("main .error").first).to_be_visible()
    await _check_page(clerk, html_checker)
    await paper.fill("E-mail address", "rechnung@teekontor.example")
    await paper.save()
    await paper.open("Delivery channel")
    await clerk.page.locator('select[name="channels.EMAIL.by"]').select_option("adapter:outbox")
    await clerk.page.locator('input[name="channels.EMAIL.from"]').fill("rechnung@teekontor.example")
    paper.typed += 2
    await clerk.press("Preview changes")
    await _check_page(clerk, html_checker)
    await paper.save()
    await paper.open("Payment method")
    await paper.fill("IBAN", "DE02 1203 0000 0000 2020 51")
    await paper.fill("Account holder", "Teekontor Hansen GmbH")
    await clerk.press("Preview changes")
    await paper.save()
    await paper.open("Privacy notice")
    await paper.fill("Data protection authority", "Datenschutzbehörde, Hamburg")
    await clerk.choose("Contract")
    await paper.fill("Retention of claims (years)", "3")
    await paper.save()
    await clerk.expect_text("Setup complete: claims can be created")
    await _check_page(clerk, html_checker)


@in_all_portal_ways
async def test_a_merchant_is_created_and_configured_in_ten_minutes(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, way: PortalWay
) -> None:
    data = await create_portal_data(site.payments.harness)
    async with open_portal(tabs, site, data, way, "setup") as clerk:
        started = clerk.steps
        choice = clerk.page.locator("header").get_by_role("link", name=clerk.say("Switch merchant"))
        await clerk.press_element(choice)
        await clerk.press("New merchant")
        paper = _Paper(clerk)
        await paper.fill("Name", "Teekontor Hansen")
        await paper.fill("Key", f"teekontor-{way.name}")
        await _check_page(clerk, html_checker)
        await clerk.press("Create merchant")
        await clerk.expect_text("Merchant created. The remaining setup steps are listed below.")
        await _set_up(paper, html_checker)
        seconds = (clerk.steps - started) * _PAGE + paper.typed * _FIELD
        assert seconds < _TEN_MINUTES, (clerk.steps - started, paper.typed)
        await _create_credential_and_move_clock(clerk, html_checker)


async def _create_credential_and_move_clock(clerk: PortalClerk, html_checker: HtmlChecker) -> None:
    """Create a credential, open the merchant file and move the clock of the sandbox."""
    await clerk.press("API credentials")
    await clerk.fill("Name", "shop")
    await clerk.press("Create")
    await expect(clerk.page.locator("[data-secret]")).to_have_count(1)
    await _check_page(clerk, html_checker)
    await clerk.press("Back to API credentials")
    await clerk.open_named("shop")
    await _check_page(clerk, html_checker)
    await clerk.open_part("Settings")
    await clerk.press("Import & export")
    content = await clerk.save("Download file")
    assert b"Teekontor Hansen GmbH" in content
    await clerk.page.set_input_files(
        "input[type=file]", {"name": "m.yaml", "mimeType": "application/yaml", "buffer": content}
    )
    await clerk.press("Preview changes")
    await clerk.expect_text("0 differences: the merchant matches the file.")
    await _check_page(clerk, html_checker)
    await clerk.open_part("Settings")
    await clerk.press("Test clock")
    await _check_page(clerk, html_checker)
    await clerk.press("+1 week")
    await clerk.expect_text("No events.")
    await clerk.open_part("Settings")
    await clerk.press("Logo and colour")
    await clerk.fill("Colour", "#1f6f5c")
    await clerk.press("Check contrast")
    await clerk.expect_text("Good contrast: the colour is used for buttons with white text.")
    await _check_page(clerk, html_checker)
    await keep_screenshot(clerk.page, f"setup-brand-{clerk.way.name}")
