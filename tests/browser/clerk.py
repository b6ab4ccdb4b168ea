"""A clerk at the portal in Chromium: has signed in, or stands at its door; presses and fills what
has a name, by mouse or by keyboard, with scripts or without, in either language.

Names are the templates' English, said in the clerk's language from the portal's own catalogues;
what stands in for a name or a number (`%(reference)s`) may be anything, or the fact that is given.
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
# A refusal's page has a status of its own.
_STATUS = "Failed to load resource: the server responded with a status of 4"
# Where the browser signs in from, so that it is no new place.
_HERE = Visitor("127.0.0.1", "Mozilla/5.0 (X11; Linux x86_64) Chrome/140.0 Safari/537.36")
_names = iter(range(1, 2**31))


@dataclass(frozen=True, slots=True)
class PortalWay:
    """How somebody works."""

    language: Literal["en", "de"]
    width: int
    scripts: bool
    by: Literal["mouse", "keyboard"]

    @property
    def name(self) -> str:
        return f"{self.language}-{self.width}-{'js' if self.scripts else 'plain'}-{self.by}"


# Each two of width, scripts and hand meet; so do each language and hand.
WAYS = (
    PortalWay("en", 1280, scripts=True, by="mouse"),
    PortalWay("de", 390, scripts=False, by="mouse"),
    PortalWay("de", 390, scripts=True, by="keyboard"),
    PortalWay("en", 1280, scripts=False, by="keyboard"),
)
in_all_portal_ways = pytest.mark.parametrize("way", WAYS, ids=lambda way: way.name)


@dataclass
class AtWork:
    """One person's browser."""

    page: Page
    way: PortalWay
    site: Site
    world: PortalData
    person: JoinedUser
    complaints: list[str]
    journey: str = ""
    steps: int = 0

    def say(self, text: str, /, **facts: str) -> re.Pattern[str]:
        """The whole text in the clerk's language."""
        words = load_languages(STAFF_CATALOGUES)[self.way.language].words.gettext(text)
        parts = _BLANK.split(words)
        said = [
            re.escape(part).replace(r"\ ", r"\s+")
            if place % 2 == 0
            else (re.escape(facts[part]) if part in facts else ".+")
            for place, part in enumerate(parts)
        ]
        return re.compile(rf"^\s*{''.join(said)}\s*[↑↓↕]?\s*$")

    async def go(self, path: str) -> None:
        """By an address that was kept: below the merchant's."""
        merchant_id = self.world.harness.merchant.merchant_id
        await self.page.goto(f"{self.site.origin}/portal/m/{merchant_id}{path}")
        await self.arrive()

    async def press(self, text: str, /, **facts: str) -> None:
        """The link or button of this name in the page's main part, to the page it leads to."""
        await self.press_at(self.find(text, **facts))

    async def turn_to(self, text: str) -> None:
        """A part of the portal, by its navigation."""
        areas = self.page.locator("nav.areas")
        await self.press_at(areas.get_by_role("link", name=self.say(text)))

    async def press_at(self, control: Locator) -> None:
        async with self.page.expect_navigation():
            await self._hit(control)
        await self.arrive()

    def find(self, text: str, /, **facts: str) -> Locator:
        main, name = self.page.locator("main"), self.say(text, **facts)
        return main.get_by_role("link", name=name).or_(main.get_by_role("button", name=name)).first

    async def open_named(self, words: str) -> None:
        """A link by what stands on it, which is nobody's translation."""
        link = self.page.locator("main").get_by_role("link", name=re.compile(re.escape(words)))
        await self.press_at(link.first)

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
        """A radio button or a tick."""
        await self.tick(self.page.locator("main").get_by_label(self.say(label, **facts)).first)

    async def tick(self, box: Locator) -> None:
        if self.way.by == "keyboard":
            await self._reach(box)
            await self.page.keyboard.press("Space")
        else:
            await box.click()

    async def unfold(self, text: str) -> None:
        """What the page keeps folded under this."""
        await self._hit(self.page.locator("main summary").filter(has_text=self.say(text)).first)

    async def unfold_person(self) -> None:
        """The menu that bears the clerk's name."""
        await self._hit(self.page.locator("header summary").first)

    async def save(self, text: str) -> bytes:
        """What the link of this name puts on the device."""
        async with self.page.expect_download() as download:
            await self._hit(self.find(text))
        saved = await download.value
        content = Path(await saved.path()).read_bytes()  # noqa: ASYNC240 - a few KB
        await saved.delete()
        return content

    async def sees(self, text: str, /, **facts: str) -> None:
        found = self.page.locator("main").get_by_text(self.say(text, **facts))
        await expect(found.first).to_be_visible()

    async def reads(self, words: str) -> None:
        """Words that are nobody's translation."""
        await expect(self.page.locator("main")).to_contain_text(words)

    async def judge(self, checker: HtmlChecker) -> None:
        """The page at hand, by axe and by the Nu checker."""
        found = await list_violations(self.page)
        # As the browser has it: what was sent answers a form, and cannot be asked for again.
        source = f"<!DOCTYPE html>{await self.page.locator('html').evaluate('it => it.outerHTML')}"
        found += await checker.list_faults(source)
        assert not found, found

    async def arrive(self) -> None:
        """On a page of ours that fits, and does nothing but what its policy allows."""
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
        """What the Tab key reaches, and shows that it has."""
        await control.focus()
        assert await control.evaluate(
            "it => it === document.activeElement && it.tabIndex >= 0"
            " && getComputedStyle(it).outlineStyle !== 'none'"
        ), await control.evaluate("it => it.outerHTML.slice(0, 200)")


@asynccontextmanager
async def sit_down(
    tabs: Tabs, site: Site, world: PortalData, way: PortalWay, journey: str = ""
) -> AsyncIterator[AtWork]:
    """Somebody new who has signed in, at the merchant's first page."""
    async with stand_at_door(tabs, site, world, way, journey) as clerk:
        secret = clerk.person.session.secret
        await clerk.page.context.add_cookies(
            [{"name": COOKIE, "value": secret, "url": site.origin}]
        )
        await clerk.go("")
        await clerk.sees("Needs attention")
        yield clerk


@asynccontextmanager
async def stand_at_door(
    tabs: Tabs, site: Site, world: PortalData, way: PortalWay, journey: str = ""
) -> AsyncIterator[AtWork]:
    """Somebody new, who has a password and an app."""
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
            yield AtWork(page, way, site, world, person, complaints, journey)
        strays = [each for each in complaints if not each.startswith(_STATUS)]
        assert not strays, strays


async def sign_in(clerk: AtWork) -> None:
    """With password and app; and choose the merchant."""
    page = clerk.page
    await page.goto(f"{clerk.site.origin}/portal")
    await clerk.fill("E-mail address", clerk.person.email)
    await clerk.fill("Password", PASSWORD)
    await clerk.press("Continue")
    # An app's code is taken once, and joining has taken one.
    clerk.site.clock.advance(timedelta(seconds=30))
    code = clerk.person.code(clerk.site.clock.now())
    await clerk.fill("Six-digit code from your authenticator app", code)
    await clerk.press("Sign in")
    await clerk.fill("Name, key or number", str(clerk.world.harness.merchant.merchant_id))
    await clerk.press("Search")
    await clerk.press_at(page.locator("main table a").first)
    await clerk.sees("Needs attention")
