"""Debian's Chromium over the whole application; every page it loads is kept an eye on."""

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
from tests.browser.site import CLAIM, OFFERING_ALL, Site, Stage
from tests.conftest import MONDAY_MORNING
from tests.support.guarded_landing import NUMBER, ON_FILE
from tests.support.served import serve

# The one without a window, where it is there: it takes two thirds of the time.
_PROGRAM = (
    os.environ.get("DUNWELL_CHROMIUM")
    or shutil.which("chromium-headless-shell")
    or shutil.which("chromium")
)

# They take many times as long as the others: a whole demo, whole processes, all of a part's pages.
_LONG = (
    "test_newcomer",
    "test_portal_whole_process",
    "test_every_page_is_accessible_and_fits",
    "test_a_merchant_comes_from_nothing_to_configured",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The long ones first: at the end the other processes would have nothing to do beside them."""
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
async def lasting_stage(
    postgres: EmbeddedPostgres, pool: Database, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Stage]:
    settings = load_settings({
        "DUNWELL_DATA_DIR": str(tmp_path_factory.mktemp("stage")),
        "DUNWELL_DATABASE_URL": postgres.url,
        "DUNWELL_CONTACT_PHONE": "+49 30 23125 010",
    })  # fmt: skip
    clock, keys = MovableClock(MONDAY_MORNING), KeyRing(settings.secret_key)
    async with serve(Resources(settings, pool, clock, RandomIds(), keys)) as served:
        yield Stage(served, clock)


@pytest.fixture
async def stage(lasting_stage: Stage, database: Database) -> Stage:
    """On a Monday morning, with nobody on it, and nobody who runs it."""
    lasting_stage.clock.move_to(MONDAY_MORNING)
    await lasting_stage.served.installation.read()
    return lasting_stage


@pytest.fixture
async def site(stage: Stage) -> Site:
    return await stage.give_site()


@pytest.fixture
async def visit(chromium: Browser, site: Site) -> AsyncIterator[Visit]:
    """At 390 pixels, German; tests choose otherwise with `page.set_viewport_size`."""
    async with a_visit(chromium, site) as visit:
        yield visit


@pytest.fixture
async def return_visit(tabs: Tabs, site: Site) -> AsyncIterator[Visit]:
    """The same, for tests that change nothing but pages."""
    async with tabs.visit(site) as visit:
        yield visit


@pytest.fixture
async def setting(tabs: Tabs, stage: Stage) -> Setting:
    """A merchant that offers all there is to a debtor whom it knows well."""
    debtor = {**CLAIM, **ON_FILE, "mobileNumber": NUMBER}
    return Setting(tabs, await stage.give_site(OFFERING_ALL, debtor))
