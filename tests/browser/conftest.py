"""Debian's Chromium over the whole application; every page it loads is kept an eye on."""

import os
import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright

from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from tests.browser.html_checker import HtmlChecker, an_html_checker
from tests.browser.site import CLAIM, OFFERING_ALL, Site, a_site
from tests.browser.traveller import Setting
from tests.browser.visit import Visit, a_visit
from tests.support.ways import NUMBER, ON_FILE

_PROGRAM = os.environ.get("DUNWELL_CHROMIUM") or shutil.which("chromium")


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    assert _PROGRAM, "Chromium is missing; on Debian: apt-get install chromium"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=_PROGRAM, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        await browser.close()


@pytest.fixture(scope="session")
async def html_checker() -> AsyncIterator[HtmlChecker]:
    async with an_html_checker() as checker:
        yield checker


@pytest.fixture
async def site(resources: Resources, clock: MovableClock) -> AsyncIterator[Site]:
    async with a_site(resources, clock) as site:
        yield site


@pytest.fixture
async def visit(chromium: Browser, site: Site) -> AsyncIterator[Visit]:
    """At 390 pixels, German; tests choose otherwise with `page.set_viewport_size`."""
    async with a_visit(chromium, site) as visit:
        yield visit


@pytest.fixture
async def setting(
    chromium: Browser, resources: Resources, clock: MovableClock
) -> AsyncIterator[Setting]:
    async with a_site(
        resources, clock, OFFERING_ALL, {**CLAIM, **ON_FILE, "mobileNumber": NUMBER}
    ) as site:
        yield Setting(chromium, site)
