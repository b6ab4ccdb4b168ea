"""No page of the portal scrolls sideways on the narrowest phone, whatever it contains. The test
follows all links, in German, with names and references of the greatest length."""

import re
from collections.abc import AsyncIterator
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace
from playwright.async_api import Page

from dunwell.accounts.merchants.credentials.credentials import create_credential
from dunwell.contact.messages.suppression import suppress
from dunwell.core.events.webhooks.endpoint import NewEndpoint
from dunwell.core.events.webhooks.endpoints import add_endpoint
from dunwell.core.workflows.definition import FeeStep
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.store import load_current, load_draft, load_workflows
from dunwell.interfaces.portal.render.addresses import PATHS
from dunwell.operations.jobs.previews.draft_previews import run_previews, start_preview
from tests.browser.browser_page import Tabs
from tests.browser.page_checks import keep_screenshot
from tests.browser.site import Site
from tests.support.portal import COOKIE, sign_in
from tests.support.portal_data import PortalData, create_portal_data
from tests.usecases.test_jobs import STARTER

WIDTH = 320
# WCAG 2.2, target size (minimum).
MIN_TARGET = 24
_REFERENCE = "RECHNUNGSNUMMER2026ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789ABCDEF"[:60]
# Pages that the crawl must reach, so that the test cannot pass by finding none.
MUST_SEE = {
    "start", "claims", "claim", "claim_why", "claim_act", "claim_message", "text", "texts",
    "settings", "settings_section", "settings_webhooks", "credentials", "workflows", "workflow",
    "workflow_step", "workflow_publish", "rules", "audit", "disputes", "dispute", "payments",
    "messages", "jobs", "endpoints", "endpoint", "credential", "suppressions", "merchants",
    "account",
}  # fmt: skip
# Addresses with several pages, which differ in the last part.
_WITH_FORMS_BY_NAME = ("settings_section", "claim_act")
_ROUTES = {
    page: re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + r"/?") for page, path in PATHS.items()
}
_WIDER = """() => [...document.querySelectorAll("body *")]
  .filter(each => each.getBoundingClientRect().right > innerWidth + 1
    && getComputedStyle(each).position !== "fixed" && !each.closest(".scroll, .unseen, .areas"))
  .slice(0, 3).map(each => `${each.tagName}.${each.className} ${each.textContent.slice(0, 40)}`)"""
_SCROLLS = "document.documentElement.scrollWidth > innerWidth"
_LINKS = """() => [...document.querySelectorAll("a[href]:not([download])")]
  .map(each => new URL(each.getAttribute("href"), location).href)"""


def find_page(path: str) -> str | None:
    if path in PATHS.values():
        return next(page for page, each in PATHS.items() if each == path)
    return next((page for page, each in _ROUTES.items() if each.fullmatch(path)), None)


@pytest.fixture
async def narrow(tabs: Tabs, site: Site) -> AsyncIterator[tuple[Page, PortalData]]:
    data = await create_portal_data(site.payments.harness)
    harness = data.harness
    await harness.rows(
        "UPDATE claims SET reference_number = $2 WHERE merchant_id = $1 AND claim_id = $3",
        _REFERENCE, data.claim_id,
    )  # fmt: skip
    async with harness.work() as work:
        address = f"{'langer-name' * 5}@{'mail' * 12}.example"
        await suppress(work, harness.resources.keys, "EMAIL", address, "DEBTOR")
        wanted = NewEndpoint(f"http://127.0.0.1:9/{'path' * 40}", ("*",), "Bearer secret")
        await add_endpoint(work, harness.resources.keys, wanted, is_development=True)
        name = "Warenwirtschaftssystem" * 4
        await create_credential(work, name, randomness=bytes(48))
    clerk = await sign_in(site.payments.resources, site.app, harness, language="de")
    async with tabs.lend(site, locale="de-DE") as page:
        cookie = {"name": COOKIE, "value": clerk.http.cookies[COOKIE], "url": site.origin}
        await page.context.add_cookies([cookie])  # type: ignore[list-item]
        await page.set_viewport_size({"width": WIDTH, "height": 800})
        yield page, data


async def test_no_page_scrolls_sideways(narrow: tuple[Page, PortalData], site: Site) -> None:
    page, data = narrow
    merchant = f"{site.origin}/portal/m/{data.harness.merchant.merchant_id}"
    waiting = [merchant, f"{merchant}/claims/{data.claim_id}", f"{site.origin}/portal/account"]
    seen: dict[str, str] = {}
    found = []
    while waiting:
        address = waiting.pop(0)
        path = urlsplit(address).path
        name, last = find_page(path), path.rpartition("/")[2]
        kind = f"{name}-{last}" if name in _WITH_FORMS_BY_NAME else str(name)
        is_file = "." in last
        # The debtor's page is checked by the tests of the debtor pages.
        if name is None or kind in seen or is_file or name == "claim_debtor":
            continue
        seen[kind] = name
        answer = await page.goto(address)
        if answer is None or "text/html" not in answer.headers.get("content-type", ""):
            continue
        await keep_screenshot(page, f"portal-narrow-{kind}")
        if await page.evaluate(_SCROLLS):
            found.append(f"{kind}: {await page.evaluate(_WIDER)}")
        links = await page.evaluate(_LINKS)
        waiting += [each for each in links if each.startswith(f"{site.origin}/portal")]
    assert not found, "\n".join(found)
    assert set(seen.values()) >= MUST_SEE, MUST_SEE - set(seen.values())


async def test_the_navigation_is_large_enough_for_touch(
    narrow: tuple[Page, PortalData], site: Site
) -> None:
    page, data = narrow
    await page.goto(f"{site.origin}/portal/m/{data.harness.merchant.merchant_id}")
    boxes = [await each.bounding_box() for each in await page.locator("nav.areas a").all()]
    assert len(boxes) > 5
    assert [each for each in boxes if each is not None and each["height"] < MIN_TARGET] == []


async def test_the_impact_of_a_draft_does_not_widen_the_page(
    narrow: tuple[Page, PortalData], site: Site
) -> None:
    """The tables of the effect scroll in their own frames."""
    page, data = narrow
    harness = data.harness
    await harness.create("INV-9001")
    async with harness.work(STARTER) as work:
        [workflow] = await load_workflows(work.tx, work.merchant_id)
        current = await load_current(work.tx, work.merchant_id, workflow.workflow_id)
        assert current is not None
        steps = [
            replace(each, value="1234567") if isinstance(each, FeeStep) else each
            for each in current.definition.steps
        ]
        changed = replace(current.definition, steps=tuple(steps))
        await save_draft(work, workflow.name, changed)
        draft = await load_draft(work.tx, work.merchant_id, workflow.workflow_id)
        assert draft is not None
        await start_preview(work, workflow.workflow_id, draft.version_id)
    while await run_previews(harness.resources):
        pass
    merchant = f"{site.origin}/portal/m/{harness.merchant.merchant_id}"
    await page.goto(f"{merchant}/workflows/{workflow.workflow_id}/publish")
    await page.locator("h3#costs").wait_for()
    await keep_screenshot(page, "portal-narrow-effect-of-a-draft")
    assert await page.locator("h3#days + p + .scroll tbody tr").count() > 0
    assert not await page.evaluate(_SCROLLS), await page.evaluate(_WIDER)
