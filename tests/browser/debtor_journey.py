"""A debtor who uses the pages: reads headings, and presses and fills elements by their names.

The names are the English texts of the templates, translated into the language of the journey with
the pages' catalogue. A placeholder such as `%(day)s` matches any text.
"""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Locator, expect

from dunwell.platform.text.translation import DEBTOR_CATALOGUES, load_languages
from tests.browser.browser_page import HEIGHT, Tabs, Visit
from tests.browser.layout import list_edgeless
from tests.browser.page_checks import FITTING, follow, keep_screenshot, list_loose_ends, measure
from tests.browser.site import Site

_LANGUAGES = load_languages(DEBTOR_CATALOGUES)
_BLANK = re.compile(r"%\(\w+\)s")


@dataclass(frozen=True, slots=True)
class Way:
    """How the pages are viewed."""

    language: str
    width: int
    scripts: bool
    forced_colours: bool = False

    @property
    def name(self) -> str:
        scripts = "" if self.scripts else "-without-scripts"
        return f"{self.language}-{self.width}{scripts}{'-forced' if self.forced_colours else ''}"

    def list_widths(self) -> list[int]:
        """Return the widths at which each page is viewed, at last the one of the journey."""
        return [*(each for each in _WIDTHS if each != self.width), self.width]


_WIDTHS = (320, 390, 1280)
# Each language with and without scripts, twice in forced colors. On each way the pages are viewed
# at all widths.
_WAYS = [
    Way("de", 390, scripts=True),
    Way("de", 320, scripts=False),
    Way("en", 1280, scripts=True),
    Way("en", 390, scripts=False),
    Way("en", 320, scripts=True, forced_colours=True),
    Way("de", 1280, scripts=False, forced_colours=True),
]
_PICTURED = {_WAYS[0], _WAYS[4]}
in_all_ways = pytest.mark.parametrize("way", _WAYS, ids=lambda way: way.name)


@dataclass
class DebtorJourney:
    visit: Visit
    way: Way
    # The journey's name. None if no screenshots are kept.
    journey: str | None = None
    steps: int = 0

    @property
    def site(self) -> Site:
        return self.visit.site

    def say(self, text: str) -> re.Pattern[str]:
        """Return a pattern for the whole text in the journey's language, with anything in its
        placeholders."""
        words = _LANGUAGES[self.way.language].translations.gettext(text)
        parts = (re.escape(part).replace(r"\ ", r"\s+") for part in _BLANK.split(words))
        return re.compile(rf"^\s*{'.+'.join(parts)}\s*$")

    async def go(self, path: str) -> None:
        await self.visit.page.goto(self.site.origin + path)
        await self._arrive()

    async def open_link(self) -> None:
        """Open the link of an e-mail, which asks for no proof."""
        await self.go(await self.site.give_link())
        await self.press("Show the details")

    async def type_code(self) -> None:
        """Enter the code of a letter, which shows all details."""
        await self.go("/q")
        await self.fill("Code from the letter", await self.site.give_code())
        await self.press("Show the details")

    async def press(self, text: str) -> None:
        """Press the link or button with this name, and check the next page."""
        await follow(self.find(text))
        await self._arrive()

    def find(self, text: str) -> Locator:
        page, name = self.visit.page, self.say(text)
        return page.get_by_role("link", name=name).or_(page.get_by_role("button", name=name)).first

    async def fill(self, label: str, value: str) -> None:
        await self.visit.page.get_by_label(self.say(label)).fill(value)

    async def choose(self, label: str) -> None:
        """Select a radio button or toggle a checkbox."""
        box = self.visit.page.get_by_label(self.say(label)).first
        await box.set_checked(not await box.is_checked())

    async def unfold(self) -> None:
        """Open the collapsed part of the page."""
        await self.visit.page.locator("summary").click()

    async def give_files(self, *files: tuple[str, bytes]) -> None:
        given: Any = [
            {"name": name, "mimeType": "application/octet-stream", "buffer": content}
            for name, content in files
        ]
        await self.visit.page.locator("#files").set_input_files(given)

    async def save(self, text: str) -> bytes:
        """Download the file behind the link with this name."""
        async with self.visit.page.expect_download() as download:
            await self.find(text).click()
        saved = await download.value
        content = Path(await saved.path()).read_bytes()  # noqa: ASYNC240 - a file of a few KB
        await saved.delete()
        return content

    async def expect_heading(self, heading: str) -> None:
        await expect(self.visit.page.get_by_role("heading", level=1)).to_have_text(
            self.say(heading)
        )

    async def expect_text(self, text: str) -> None:
        await expect(
            self.visit.page.locator("main").get_by_text(self.say(text)).first
        ).to_be_visible()

    async def _arrive(self) -> None:
        """Check the page that was reached: it fits and keeps to its policy."""
        visit, page = self.visit, self.visit.page
        if "/sandbox-provider/" in page.url:
            return  # The page of the sandbox provider.
        assert list_loose_ends(await visit.read_source(), await visit.read_policy()) == []
        for width in self.way.list_widths():
            await page.set_viewport_size({"width": width, "height": HEIGHT})
            assert await measure(page) == FITTING, width
            if self.way.forced_colours:
                assert await list_edgeless(page) == [], width
        self.steps += 1
        if self.journey is not None and self.way in _PICTURED:
            await keep_screenshot(page, f"journey-{self.journey}-{self.steps}-{self.way.name}")


@dataclass(frozen=True, slots=True)
class Setting:
    """A site and its visitor."""

    tabs: Tabs
    site: Site

    @asynccontextmanager
    async def start_journey(
        self, way: Way, journey: str | None = None
    ) -> AsyncIterator[DebtorJourney]:
        locale = {"de": "de-DE", "en": "en-GB"}[way.language]
        async with self.tabs.visit(
            self.site, locale=locale, width=way.width, scripts=way.scripts
        ) as visit:
            if way.forced_colours:
                await visit.page.emulate_media(forced_colors="active")
            yield DebtorJourney(visit, way, journey)
