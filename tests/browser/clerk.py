"""A clerk who uses the portal in Chromium: the clerk presses and fills elements by their names,
with the mouse or the keyboard, with or without scripts, in either language.

The names are the English texts of the templates, translated into the clerk's language with the
portal's catalogues. A placeholder such as `%(reference)s` matches any text, or the value that is
given.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Locator, Page, expect

from dunwell.accounts.merchants.rights import Role
from dunwell.accounts.users.user import UserRoles
from dunwell.accounts.users.user_work import Visitor
from dunwell.platform.text.translation import STAFF_CATALOGUES, load_languages
from tests.browser.browser_page import Tabs, listen
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import Site
from tests.support.portal import COOKIE
from tests.support.portal_data import PortalData
from tests.support.users import PASSWORD, JoinedUser, a_new_user, build_sign_in_services, join

_HEIGHT, _PATIENCE = 900, 8_000
_BLANK = re.compile(r"%\((\w+)\)s")
_POLICY = "default-src 'none'"
# The console message for a page with a status from 400 to 499.
_STATUS = "Failed to load resource: the server responded with a status of 4"
# The network and browser of earlier sign-ins, so that this one does not count as a new network.
_HERE = Visitor("127.0.0.1", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36")
_names = iter(range(1, 2**31))


@dataclass(frozen=True, slots=True)
class PortalWay:
    """How a clerk works: language, width, scripts, and mouse or keyboard."""

    language: Literal["en", "de"]
    width: int
    scripts: bool
    by: Literal["mouse", "keyboard"]

    @property
    def name(self) -> str:
        return f"{self.language}-{self.width}-{'js' if self.scripts else 'plain'}-{self.by}"


# Every pair of values of width, scripts and device occurs, and every pair of language and device.
WAYS = (
    PortalWay("en", 1280, scripts=True, by="mouse"),
    PortalWay("de", 390, scripts=False, by="mouse"),
    PortalWay("de", 390, scripts=True, by="keyboard"),
    PortalWay("en", 1280, scripts=False, by="keyboard"),
)
in_all_portal_ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


@dataclass
class PortalClerk:
    """A signed-in clerk's browser."""

    page: Page
    way: PortalWay
    site: Site
    data: PortalData
    person: JoinedUser
    complaints: list[str]
    journey: str = ""
    steps: int = 0

    def say(self, text: str, /, **facts: str) -> re.Pattern[str]:
        """Return a pattern for the whole text in the clerk's language."""
        words = load_languages(STAFF_CATALOGUES)[self.way.language].translations.gettext(text)
        parts = _BLANK.split(words)
        translated = [
            re.escape(part).replace(r"\ ", r"\s+")
            if place % 2 == 0
            else (re.escape(facts[part]) if part in facts else ".+")
            for place, part in enumerate(parts)
        ]
        return re.compile(rf"^\s*{''.join(translated)}\s*[↑↓↕]?\s*$")

    async def go(self, path: str) -> None:
        """Open a path below the merchant's."""
        merchant_id = self.data.harness.merchant.merchant_id
        await self.page.goto(f"{self.site.origin}/portal/m/{merchant_id}{path}")
        await self.arrive()

    async def press(self, text: str, /, **facts: str) -> None:
        """Press the link or button with this name in the page's main part and wait for the next
        page."""
        await self.press_element(self.find(text, **facts))

    async def open_part(self, text: str) -> None:
        """Open a part of the portal with its navigation."""
        areas = self.page.locator("nav.areas")
        await self.press_element(areas.get_by_role("link", name=self.say(text)))

    async def press_element(self, control: Locator) -> None:
        async with self.page.expect_navigation():
            await self._hit(control)
        await self.arrive()

    def find(self, text: str, /, **facts: str) -> Locator:
        main, name = self.page.locator("main"), self.say(text, **facts)
        return main.get_by_role("link", name=name).or_(main.get_by_role("button", name=name)).first

    async def open_named(self, words: str) -> None:
        """Follow the link with these words, which are not translated."""
        link = self.page.locator("main").get_by_role("link", name=re.compile(re.escape(words)))
        await self.press_element(link.first)

    async def fill(self, label: str, value: str) -> None:
        box = self.page.locator("main").get_by_label(self.say(label)).first
        if self.way.by == "keyboard" and await box.get_attribute("type") != "date":
            await self._reach(box)
            await self.page.keyboard.press("Control+a")
            await self.page.keyboard.type(value)
            return
        await box.fill(value)

    async def pick(self, label: str, value: str) -> None:
        await self.page.locator("main").get_by_label(self.say(label)).first.select_option(value)

    async def choose(self, label: str, /, **facts: str) -> None:
        """Select a radio button or a checkbox."""
        await self.tick(self.page.locator("main").get_by_label(self.say(label, **facts)).first)

    async def tick(self, box: Locator) -> None:
        if self.way.by == "keyboard":
            await self._reach(box)
            await self.page.keyboard.press("Space")
        else:
            await box.click()

    async def unfold(self, text: str) -> None:
        """Unfold the part of the page with this heading."""
        await self._hit(self.page.locator("main summary").filter(has_text=self.say(text)).first)

    async def unfold_user_menu(self) -> None:
        """Unfold the menu that has the clerk's name."""
        await self._hit(self.page.locator("header summary").first)

    async def save(self, text: str) -> bytes:
        """Return the content of the file that the link with this name downloads."""
        async with self.page.expect_download() as download:
            await self._hit(self.find(text))
        saved = await download.value
        content = Path(await saved.path()).read_bytes()  # noqa: ASYNC240 - a few KB
        await saved.delete()
        return content

    async def expect_text(self, text: str, /, **facts: str) -> None:
        found = self.page.locator("main").get_by_text(self.say(text, **facts))
        await expect(found.first).to_be_visible()

    async def expect_words(self, words: str) -> None:
        """Expect words that are not translated on the page."""
        await expect(self.page.locator("main")).to_contain_text(words)

    async def check_page(self, checker: HtmlChecker) -> None:
        """Check the current page with axe and the Nu checker."""
        found = await list_violations(self.page)
        # Check the document in the browser, because the response to a form cannot be requested
        # again.
        source = f"<!DOCTYPE html>{await self.page.locator('html').evaluate('it => it.outerHTML')}"
        found += await checker.list_faults(source)
        assert not found, found

    async def arrive(self) -> None:
        """Expect one of our pages that fits its width and keeps to its policy."""
        measured = await measure(self.page)
        assert not measured["scrolls"], self.page.url
        assert not measured["broken"], measured["broken"]
        loose = list_loose_ends(await self.page.content(), _POLICY)
        assert not loose, loose
        self.steps += 1
        await keep_screenshot(self.page, f"clerk-{self.journey}-{self.steps}-{self.way.name}")

    async def _hit(self, control: Locator) -> None:
        if self.way.by == "mouse":
            await control.click()
            return
        await self._reach(control)
        await self.page.keyboard.press("Enter")

    async def _reach(self, control: Locator) -> None:
        """Reach the control with the Tab key and expect a visible focus."""
        await control.focus()
        assert await control.evaluate(
            "it => it === document.activeElement && it.tabIndex >= 0"
            " && getComputedStyle(it).outlineStyle !== 'none'"
        ), await control.evaluate("it => it.outerHTML.slice(0, 200)")


@asynccontextmanager
async def open_portal(
    tabs: Tabs, site: Site, data: PortalData, way: PortalWay, journey: str = ""
) -> AsyncIterator[PortalClerk]:
    """Yield a new user who is signed in at the merchant's first page."""
    async with open_sign_in_page(tabs, site, data, way, journey) as clerk:
        secret = clerk.person.session.secret
        await clerk.page.context.add_cookies(
            [{"name": COOKIE, "value": secret, "url": site.origin}]
        )
        await clerk.go("")
        await clerk.expect_text("Needs attention")
        yield clerk


@asynccontextmanager
async def open_sign_in_page(
    tabs: Tabs, site: Site, data: PortalData, way: PortalWay, journey: str = ""
) -> AsyncIterator[PortalClerk]:
    """Yield a new user with a password and an app who is not signed in."""
    number = next(_names)
    new = a_new_user(
        f"clerk-{number}@example.org",
        name=f"Kim {number}", language=way.language, roles=UserRoles(Role.ADMIN),
    )  # fmt: skip
    person = await join(build_sign_in_services(site.payments.resources), new, visitor=_HERE)
    locale = {"de": "de-DE", "en": "en-GB"}[way.language]
    async with tabs.lend(site, locale=locale, scripts=way.scripts) as page:
        page.set_default_timeout(_PATIENCE)
        await page.set_viewport_size({"width": way.width, "height": _HEIGHT})
        async with listen(page) as complaints:
            yield PortalClerk(page, way, site, data, person, complaints, journey)
        strays = [each for each in complaints if not each.startswith(_STATUS)]
        assert not strays, strays


async def sign_in(clerk: PortalClerk) -> None:
    """Sign in with password and app, and choose the merchant."""
    page = clerk.page
    await page.goto(f"{clerk.site.origin}/portal")
    await clerk.fill("E-mail address", clerk.person.email)
    await clerk.fill("Password", PASSWORD)
    await clerk.press("Continue")
    # A code of the app works once, and creating the account has used one.
    clerk.site.clock.advance(timedelta(seconds=30))
    code = clerk.person.code(clerk.site.clock.now())
    await clerk.fill("Six-digit code from your authenticator app", code)
    await clerk.press("Sign in")
    await clerk.fill("Name, key or number", str(clerk.data.harness.merchant.merchant_id))
    await clerk.press("Search")
    await clerk.press_element(page.locator("main table a").first)
    await clerk.expect_text("Needs attention")
