"""One page in a fresh browser, and what it asked for and complained of."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from playwright.async_api import Browser, Page, Response

from tests.browser.site import Site

_STATUS = "Failed to load resource: the server responded with a status of"


@dataclass
class Visit:
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

    async def read_policy(self) -> str | None:
        assert self.document is not None
        return await self.document.header_value("content-security-policy")


@asynccontextmanager
async def a_visit(
    chromium: Browser, site: Site, *, locale: str = "de-DE", width: int = 390, scripts: bool = True
) -> AsyncIterator[Visit]:
    """Fails at its end over what the pages complained of, and over any origin but our own."""
    context = await chromium.new_context(
        viewport={"width": width, "height": 844}, locale=locale, java_script_enabled=scripts
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
