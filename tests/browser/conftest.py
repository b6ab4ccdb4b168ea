"""Debian's Chromium over the whole application; every page it loads is kept an eye on."""

import os
import shutil
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from playwright.async_api import Browser, Page, Response, async_playwright

from dunwell.kit.clock import MovableClock
from dunwell.kit.resources import Resources
from tests.browser.html_checker import HtmlChecker, an_html_checker
from tests.browser.site import Site, a_site

_STATUS = "Failed to load resource: the server responded with a status of"
_PROGRAM = os.environ.get("DUNWELL_CHROMIUM") or shutil.which("chromium")


@dataclass
class Visit:
    """One page in a fresh browser, and what it asked for and complained of."""

    page: Page
    site: Site
    origins: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    # The answer that bears the page at hand.
    document: Response | None = None

    def note(self, answer: Response) -> None:
        """Keep the page; complain of a stylesheet or picture that is not there."""
        if answer.request.resource_type == "document":
            self.document = answer
        elif answer.status >= 400:
            self.complaints.append(f"{answer.status} {answer.url}")

    async def read_source(self) -> str:
        """The page as it was sent, not as the browser understood it."""
        assert self.document is not None
        return await self.document.text()


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
    context = await chromium.new_context(
        viewport={"width": 390, "height": 844}, locale="de-DE", java_script_enabled=True
    )
    page = await context.new_page()
    visit = Visit(page, site)
    page.on("request", lambda asked: visit.origins.add("/".join(asked.url.split("/")[:3])))
    page.on("console", lambda said: visit.complaints.append(said.text))
    page.on("response", visit.note)
    page.on("pageerror", lambda error: visit.complaints.append(str(error)))
    yield visit
    await context.close()
    # A page with a status of its own is said to have failed to load.
    assert [each for each in visit.complaints if not each.startswith(_STATUS)] == []
    assert visit.origins <= {site.origin, "data:,"}
