"""One page in a browser, with its requests and console messages."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.async_api import Browser, Page, Response

from tests.browser.site import Site
from tests.support.landing import OWN_FORM

# The height of a phone's screen in pixels.
HEIGHT = 844
# Milliseconds.
_PATIENCE = 30_000
_STATUS = "Failed to load resource: the server responded with a status of"


@dataclass
class Visit:
    page: Page
    site: Site
    origins: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)
    # The response of the current page.
    document: Response | None = None

    async def go(self, path: str) -> None:
        """Open the address."""
        await self.page.goto(self.site.origin + path)

    async def enter(self) -> None:
        """Enter a letter's code, which shows all details, without the browser. The journeys test
        entering a code on the page."""
        answer = await self.page.context.request.post(
            f"{self.site.origin}/q",
            form={"code": await self.site.give_code()}, headers=OWN_FORM, max_redirects=0,
        )  # fmt: skip
        assert answer.status == 303, await answer.text()

    async def open(self) -> None:
        """Open the claim with a letter's code."""
        await self.enter()
        await self.go("/claim")

    def note(self, answer: Response) -> None:
        """Remember the response of a page. Record every other response with an error status."""
        if answer.request.resource_type == "document":
            self.document = answer
        elif answer.status >= 400:
            self.complaints.append(f"{answer.status} {answer.url}")

    def forget(self) -> None:
        """Forget console messages and requests so far, because they were expected."""
        self.complaints.clear()
        self.origins.clear()

    def list_strays(self) -> list[str]:
        """List console messages, script errors, failed requests and all foreign origins."""
        # For a page with an error status, the browser logs that it failed to load.
        complaints = [each for each in self.complaints if not each.startswith(_STATUS)]
        return [*complaints, *sorted(self.origins - {self.site.origin, "data:,"})]

    async def read_source(self) -> str:
        """Return the source as it was sent, not as the browser parsed it."""
        assert self.document is not None
        return await self.document.text()

    async def read_policy(self) -> str | None:
        assert self.document is not None
        return await self.document.header_value("content-security-policy")


class Tabs:
    """One tab for each kind of reader, reused between tests. Opening a tab takes longer than
    loading ten pages."""

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._free: defaultdict[tuple[str, bool], list[Page]] = defaultdict(list)

    @asynccontextmanager
    async def lend(
        self, site: Site, *, locale: str = "en-GB", scripts: bool = True
    ) -> AsyncIterator[Page]:
        """Provide the tab without cookies. After a failure the next visitor gets a new tab."""
        async with self._lend(locale, scripts=scripts) as page:
            yield page
            if scripts:
                # Leave the page, so that it does not poll for a deleted claim. The notices do not
                # poll. For a page of another origin the browser would start another process.
                await page.goto(f"{site.origin}/claim/notices")

    @asynccontextmanager
    async def _lend(self, locale: str, *, scripts: bool) -> AsyncIterator[Page]:
        free = self._free[locale, scripts]
        page = free.pop() if free else await _open_tab(self._chromium, locale, scripts=scripts)
        await page.context.clear_cookies()
        page.set_default_timeout(_PATIENCE)
        yield page
        free.append(page)

    @asynccontextmanager
    async def visit(
        self, site: Site, *, locale: str = "de-DE", width: int = 390, scripts: bool = True
    ) -> AsyncIterator[Visit]:
        """Like `a_visit`, in a tab that was used before and has no cookies."""
        async with self._lend(locale, scripts=scripts) as page:
            await page.set_viewport_size({"width": width, "height": HEIGHT})
            async with _watched(page, site) as visit:
                yield visit
            await page.emulate_media(forced_colors="none")


@asynccontextmanager
async def a_visit(
    chromium: Browser, site: Site, *, locale: str = "de-DE", width: int = 390, scripts: bool = True
) -> AsyncIterator[Visit]:
    """Visit in a fresh browser. Fails at the end if a page has logged anything to the console or
    has requested a foreign origin."""
    page = await _open_tab(chromium, locale, scripts=scripts)
    await page.set_viewport_size({"width": width, "height": HEIGHT})
    async with _watched(page, site) as visit:
        yield visit
    await page.context.close()


@asynccontextmanager
async def listen(page: Page) -> AsyncIterator[list[str]]:
    """Collect all console messages and uncaught errors of the page."""
    complaints: list[str] = []
    handlers: dict[Any, Callable[[Any], None]] = {
        "console": lambda console_message: complaints.append(console_message.text),
        "pageerror": lambda error: complaints.append(str(error)),
    }
    async with _listen_to(page, handlers):
        yield complaints


@asynccontextmanager
async def _listen_to(page: Page, handlers: dict[Any, Callable[[Any], None]]) -> AsyncIterator[None]:
    for event, note in handlers.items():
        page.on(event, note)
    yield
    for event, note in handlers.items():
        page.remove_listener(event, note)


async def _open_tab(chromium: Browser, locale: str, *, scripts: bool) -> Page:
    context = await chromium.new_context(locale=locale, java_script_enabled=scripts)
    return await context.new_page()


@asynccontextmanager
async def _watched(page: Page, site: Site) -> AsyncIterator[Visit]:
    visit = Visit(page, site)
    handlers: dict[Any, Callable[[Any], None]] = {
        "request": lambda asked: visit.origins.add("/".join(asked.url.split("/")[:3])),
        "console": lambda console_message: visit.complaints.append(console_message.text),
        "response": visit.note,
        "pageerror": lambda error: visit.complaints.append(str(error)),
    }
    async with _listen_to(page, handlers):
        yield visit
    assert visit.list_strays() == []
