"""The portal's pages in Chromium: they are accessible, fit their width and keep to their policy;
and the work of a day with the keyboard."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from playwright.async_api import Page, expect

from dunwell.contact.messages.ledger.seal_ledger import seal_ledger
from tests.browser.browser_page import Tabs, listen
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import Site
from tests.support.portal import COOKIE, sign_in
from tests.support.portal_data import PortalData, create_portal_data

_HEIGHT = 900


@dataclass
class SignedInPage:
    """The browser of a signed-in user."""

    page: Page
    data: PortalData
    site: Site
    complaints: list[str]

    def address(self, path: str) -> str:
        return f"{self.site.origin}/portal/m/{self.data.harness.merchant.merchant_id}{path}"

    async def go(self, path: str) -> str:
        """Open the path and return the page's source."""
        answer = await self.page.goto(self.address(path))
        assert answer is not None
        assert answer.status == 200, path
        return await answer.text()


@asynccontextmanager
async def open_portal(
    tabs: Tabs, site: Site, *, locale: str = "en-GB", width: int = 1280,
    scripts: bool = True,
) -> AsyncIterator[SignedInPage]:  # fmt: skip
    data = await create_portal_data(site.payments.harness)
    language = locale[:2]
    clerk = await sign_in(site.payments.resources, site.app, data.harness, language=language)
    secret = clerk.http.cookies[COOKIE]
    async with tabs.lend(site, locale=locale, scripts=scripts) as page, listen(page) as complaints:
        await page.context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
        await page.set_viewport_size({"width": width, "height": _HEIGHT})
        yield SignedInPage(page, data, site, complaints)


def _list_paths(data: PortalData) -> dict[str, str]:
    claim, other = data.claim_id, data.claim_ids[5]
    dispute_at = f"/claims/{claim}/disputes/{data.disputed.dispute_id}"
    return {
        "start": "", "claims": "/claims", "claims-filtered": "/claims?status=IN_PROCESS&hold=PAUSE",
        "claims-none": "/claims?q=nobody", "claim": f"/claims/{claim}",
        "claim-plain": f"/claims/{other}?show=process", "why": f"/claims/{claim}/why",
        "account": f"/claims/{claim}/account", "payment": f"/claims/{other}/payment",
        "pause": f"/claims/{other}/pause", "end": f"/claims/{other}/end",
        "contact": f"/claims/{other}/contact", "note": f"/claims/{other}/note",
        "answers": f"/claims/{claim}/answers",
        "objection": f"/claims/{other}/dispute", "disputes": "/disputes",
        "disputes-ended": "/disputes?state=REJECTED", "dispute": dispute_at,
        "evidence": f"{dispute_at}/files/{data.file_id}/pages?page=2",
        "evidence-large": f"{dispute_at}/files/{data.file_id}/pages?page=13&size=large",
        "texts": "/answer-texts", "plans": "/plans",
        "plan": f"/claims/{data.plan_claim_id}/plans/{data.plan_id}", "payments": "/payments",
        "messages": "/messages", "jobs": "/jobs", "webhooks": "/webhooks",
        "suppressions": "/suppressions", "replies": "/replies",
        "disputes-mine": "/disputes?whose=mine",
        "plans-nobodys": "/plans?whose=nobodys", "audit": "/audit",
        "audit-checked": "/audit?action=hold.open&check=yes",
        "audit-faults": "/audit?claim=nowhere&since=x",
    }  # fmt: skip


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_every_page_is_accessible_and_fits(
    tabs: Tabs, site: Site, html_checker: HtmlChecker, locale: str
) -> None:
    found = []
    async with open_portal(tabs, site, locale=locale) as tab:
        paths = {**_list_paths(tab.data), "message": await _find_message(tab)}
        for name, path in paths.items():
            source = await tab.go(path)
            policy = "default-src 'none'"
            problems = [*await html_checker.list_faults(source), *list_loose_ends(source, policy)]
            for width in (1280, 390):
                await tab.page.set_viewport_size({"width": width, "height": _HEIGHT})
                measured = await measure(tab.page)
                problems += [
                    f"{width}: {key} {measured[key]}"
                    for key in ("scrolls", "broken")
                    if measured[key]
                ]
                problems += [f"{width}: {each}" for each in await list_violations(tab.page)]
                await keep_screenshot(tab.page, f"portal-{name}-{locale[:2]}-{width}")
            found += [f"{name} {each}" for each in problems]
        assert tab.complaints == []
    assert found == []


async def _find_message(tab: SignedInPage) -> str:
    rows = await tab.data.harness.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND claim_id = $2",
        tab.data.claim_id,
    )
    return f"/claims/{tab.data.claim_id}/messages/{rows[0]['communication_id']}"


@pytest.mark.parametrize("width", [390, 1280])
async def test_the_disputed_claim_is_found_and_answered_by_keyboard(
    tabs: Tabs, site: Site, width: int
) -> None:
    async with open_portal(tabs, site, width=width) as tab:
        page = tab.page
        await tab.go("")
        await page.keyboard.press("g")
        async with page.expect_navigation():
            await page.keyboard.press("d")
        await page.get_by_role("link", name="Erika Mustermann").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await page.get_by_label("Reject dispute").focus()
        await page.keyboard.press("Space")
        await page.get_by_label("Message to the debtor").focus()
        await page.keyboard.type("The parcel never came back to us.")
        await page.get_by_role("button", name="Preview").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.locator(".sheet")).to_contain_text("The parcel never came back to us.")
        await keep_screenshot(page, f"portal-preview-en-{width}")
        await page.get_by_role("button", name="Send response").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.get_by_role("status").first).to_contain_text("Response sent.")
        await expect(page.locator("main")).to_contain_text("Rejected")
        assert tab.complaints == []


async def test_leaving_a_page_with_input_asks_for_confirmation(tabs: Tabs, site: Site) -> None:
    async with open_portal(tabs, site) as tab:
        asked: list[str] = []

        async def answer(dialog):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            asked.append(dialog.type)
            await dialog.dismiss()

        tab.page.on("dialog", answer)
        await tab.go(f"/claims/{tab.data.claim_id}/note")
        await tab.page.get_by_label("Note").click()
        await tab.page.keyboard.type("Half a thought")
        await tab.page.get_by_role("link", name="Back to the claim").click()
        await expect(tab.page.get_by_label("Note")).to_have_value("Half a thought")
        assert asked == ["beforeunload"]
        tab.page.remove_listener("dialog", answer)


async def _is_drawn(page: Page, selector: str) -> bool:
    found = page.locator(selector).first
    await expect(found).to_be_visible()
    script = "async img => { await img.decode(); return img.naturalWidth > 0 }"
    return bool(await found.evaluate(script))


@pytest.mark.parametrize("width", [390, 1280])
async def test_evidence_is_viewed_page_by_page_with_the_keyboard(
    tabs: Tabs, site: Site, width: int
) -> None:
    async with open_portal(tabs, site, width=width) as tab:
        page, claim = tab.page, tab.data.claim_id
        await tab.go(f"/claims/{claim}/disputes/{tab.data.disputed.dispute_id}")
        assert await _is_drawn(page, ".files img")
        await page.get_by_role("link", name="View Sendungsnachweis").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.locator("main")).to_contain_text("Page 1 of 15")
        assert await _is_drawn(page, ".leaf img")
        for key, number in (("ArrowRight", 2), ("ArrowRight", 3), ("ArrowLeft", 2)):
            async with page.expect_navigation():
                await page.keyboard.press(key)
            await expect(page.locator(".turn")).to_contain_text(f"Page {number} of 15")
        assert await _is_drawn(page, ".thumbs img")
        assert tab.complaints == []


@pytest.mark.parametrize("scripts", [True, False])
async def test_evidence_is_viewed_and_saved_with_the_mouse(
    tabs: Tabs, site: Site, *, scripts: bool
) -> None:
    async with open_portal(tabs, site, scripts=scripts) as tab:
        page, claim = tab.page, tab.data.claim_id
        await tab.go(f"/claims/{claim}/disputes/{tab.data.disputed.dispute_id}")
        await page.get_by_role("link", name="View Sendungsnachweis").click()
        await page.get_by_role("link", name="Next page").click()
        await expect(page.locator(".turn")).to_contain_text("Page 2 of 15")
        await page.get_by_role("link", name="Page 5", exact=True).click()
        await page.get_by_role("link", name="Full size").click()
        assert await _is_drawn(page, ".leaf.large img")
        async with page.expect_download() as coming:
            await page.get_by_role("link", name="Download the original").click()
        saved = await (await coming.value).path()
        assert (await asyncio.to_thread(saved.read_bytes)).startswith(b"%PDF")
        assert tab.complaints == []


async def test_a_dispute_is_assigned_to_oneself_with_the_keyboard(tabs: Tabs, site: Site) -> None:
    async with open_portal(tabs, site) as tab:
        page = tab.page
        await tab.go(f"/claims/{tab.data.claim_id}/disputes/{tab.data.disputed.dispute_id}")
        await page.get_by_role("button", name="Assign to me").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.get_by_role("status").first).to_contain_text("Assigned.")
        await page.keyboard.press("g")
        async with page.expect_navigation():
            await page.keyboard.press("d")
        await page.get_by_role("link", name="Mine", exact=True).focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.locator("main tbody")).to_contain_text("Erika Mustermann")
        await page.get_by_role("link", name="Unassigned").click()
        await expect(page.locator("main")).not_to_contain_text("Erika Mustermann")
        assert tab.complaints == []


@pytest.mark.parametrize("scripts", [True, False])
async def test_a_plan_is_assigned_to_a_colleague_with_the_mouse(
    tabs: Tabs, site: Site, *, scripts: bool
) -> None:
    async with open_portal(tabs, site, width=390, scripts=scripts) as tab:
        page, data = tab.page, tab.data
        await tab.go(f"/claims/{data.plan_claim_id}/plans/{data.plan_id}")
        await page.get_by_label("Assignee").select_option(label="Me")
        await page.get_by_role("button", name="Assign", exact=True).click()
        await expect(page.get_by_role("status").first).to_contain_text("Assigned.")
        await page.get_by_label("Assignee").select_option(label="Unassigned")
        await page.get_by_role("button", name="Assign", exact=True).click()
        await expect(page.locator("aside")).to_contain_text("Unassigned")
        assert tab.complaints == []


async def test_the_audit_log_is_filtered_and_checked_by_keyboard(tabs: Tabs, site: Site) -> None:
    async with open_portal(tabs, site) as tab:
        await seal_ledger(site.payments.resources)
        page = tab.page
        await tab.go("")
        await page.keyboard.press("g")
        async with page.expect_navigation():
            await page.keyboard.press("a")
        await page.get_by_label("Action").focus()
        await page.keyboard.type("hold.open")
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.locator("main tbody tr")).not_to_have_count(0)
        await page.get_by_role("button", name="Verify seals").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.get_by_role("status").first).to_contain_text("Verified: seals")
        await keep_screenshot(page, "portal-audit-verdict-en-1280")
        await page.get_by_role("button", name="Export CSV").click()
        await expect(page).to_have_url(re.compile(r"/jobs/"))
        assert tab.complaints == []
