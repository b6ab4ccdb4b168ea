"""Debian's Chromium and the whole application. Every page that it loads is checked for errors."""

import os
import shutil
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, async_playwright

from dunwell.platform.clock import MovableClock
from dunwell.platform.config import load_settings
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Database
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.ids import RandomIds
from dunwell.platform.resources import Resources
from tests.browser.browser_page import Tabs, Visit, a_visit
from tests.browser.debtor_journey import Setting
from tests.browser.html_checker import HtmlChecker, an_html_checker
from tests.browser.site import CLAIM, OFFERING_ALL, RunningApplication, Site
from tests.conftest import MONDAY_MORNING
from tests.support.guarded_landing import NUMBER, ON_FILE
from tests.support.served import serve

# Prefer the browser without windows, which takes two thirds of the time.
_PROGRAM = (
    os.environ.get("DUNWELL_CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
)

# These tests take much longer than the others.
_LONG = (
    "test_newcomer",
    "test_portal_whole_process",
    "test_every_page_is_accessible_and_fits",
    "test_a_merchant_is_created_and_configured_in_ten_minutes",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the long tests first, so that the processes finish at about the same time."""
    items.sort(key=lambda item: not any(name in item.nodeid for name in _LONG))


@pytest.fixture(scope="session")
async def chromium() -> AsyncIterator[Browser]:
    assert _PROGRAM, "Chromium is missing; on Debian: apt-get install chromium-headless-shell"
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


@pytest.fixture(scope="session")
async def tabs(chromium: Browser) -> Tabs:
    return Tabs(chromium)


@pytest.fixture(scope="session")
async def lasting_application(
    postgres: EmbeddedPostgres, pool: Database, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[RunningApplication]:
    settings = load_settings({
        "DUNWELL_DATA_DIR": str(tmp_path_factory.mktemp("application")),
        "DUNWELL_DATABASE_URL": postgres.url,
        "DUNWELL_CONTACT_PHONE": "+49 30 23125 010",
    })  # fmt: skip
    clock, keys = MovableClock(MONDAY_MORNING), KeyRing(settings.secret_key)
    async with serve(Resources(settings, pool, clock, RandomIds(), keys)) as served:
        yield RunningApplication(served, clock)


@pytest.fixture
async def application(
    lasting_application: RunningApplication, database: Database
) -> RunningApplication:
    """The application on a Monday morning, without users and without an operator."""
    lasting_application.clock.move_to(MONDAY_MORNING)
    await lasting_application.served.installation.refresh()
    return lasting_application


@pytest.fixture
async def site(application: RunningApplication) -> Site:
    return await application.create_site()


@pytest.fixture
async def visit(chromium: Browser, site: Site) -> AsyncIterator[Visit]:
    """A visit in German at 390 pixels. Tests change the width with `page.set_viewport_size`."""
    async with a_visit(chromium, site) as visit:
        yield visit


@pytest.fixture
async def return_visit(tabs: Tabs, site: Site) -> AsyncIterator[Visit]:
    """A visit in a reused tab, for tests that change only pages."""
    async with tabs.visit(site) as visit:
        yield visit


@pytest.fixture
async def setting(tabs: Tabs, application: RunningApplication) -> Setting:
    """A merchant that offers everything that a verified debtor can choose."""
    debtor = {**CLAIM, **ON_FILE, "mobileNumber": NUMBER}
    return Setting(tabs, await application.create_site(OFFERING_ALL, debtor))
