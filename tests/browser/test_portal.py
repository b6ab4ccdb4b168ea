"""The portal's pages in Chromium, as a clerk sees them: accessible, within their width, without a
violation of their policy; and a day's work by keyboard."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from playwright.async_api import Browser, Page, expect

from tests.browser.html_checker import HtmlChecker
from tests.browser.judges import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import Site
from tests.support.portal import COOKIE, sign_in
from tests.support.portal_world import PortalWorld, a_portal_world

_HEIGHT = 900


@dataclass
class Seat:
    """A browser of somebody who has signed in."""

    page: Page
    world: PortalWorld
    site: Site
    complaints: list[str]

    def address(self, path: str) -> str:
        return f"{self.site.origin}/portal/m/{self.world.house.merchant.merchant_id}{path}"

    async def go(self, path: str) -> str:
        """The page's source."""
        answer = await self.page.goto(self.address(path))
        assert answer is not None
        assert answer.status == 200, path
        return await answer.text()


@asynccontextmanager
async def _sit_down(
    chromium: Browser, site: Site, *, locale: str = "en-GB", width: int = 1280,
    scripts: bool = True,
) -> AsyncIterator[Seat]:  # fmt: skip
    world = await a_portal_world(site.till.house)
    language = locale[:2]
    clerk = await sign_in(site.till.resources, site.app, world.house, language=language)
    secret = clerk.http.cookies[COOKIE]
    context = await chromium.new_context(locale=locale, java_script_enabled=scripts)
    await context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
    page = await context.new_page()
    await page.set_viewport_size({"width": width, "height": _HEIGHT})
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    yield Seat(page, world, site, complaints)
    await context.close()


def _list_paths(world: PortalWorld) -> dict[str, str]:
    claim, other = world.claim_id, world.claim_ids[5]
    dispute_at = f"/claims/{claim}/disputes/{world.disputed.dispute_id}"
    return {
        "start": "", "claims": "/claims", "claims-filtered": "/claims?status=IN_PROCESS&hold=PAUSE",
        "claims-none": "/claims?q=nobody", "claim": f"/claims/{claim}",
        "claim-plain": f"/claims/{other}?show=process", "why": f"/claims/{claim}/why",
        "account": f"/claims/{claim}/account", "payment": f"/claims/{other}/payment",
        "pause": f"/claims/{other}/pause", "end": f"/claims/{other}/end",
        "contact": f"/claims/{other}/contact", "note": f"/claims/{other}/note",
        "objection": f"/claims/{other}/dispute", "disputes": "/disputes",
        "disputes-ended": "/disputes?state=REJECTED", "dispute": dispute_at,
        "texts": "/answer-texts", "plans": "/plans",
        "plan": f"/claims/{world.plan_claim_id}/plans/{world.plan_id}", "payments": "/payments",
        "messages": "/messages", "jobs": "/jobs", "webhooks": "/webhooks",
        "suppressions": "/suppressions",
    }  # fmt: skip


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_every_page_is_accessible_and_fits(
    chromium: Browser, site: Site, html_checker: HtmlChecker, locale: str
) -> None:
    found = []
    async with _sit_down(chromium, site, locale=locale) as seat:
        paths = {**_list_paths(seat.world), "message": await _find_message(seat)}
        for name, path in paths.items():
            source = await seat.go(path)
            policy = "default-src 'none'"
            problems = [*await html_checker.list_faults(source), *list_loose_ends(source, policy)]
            for width in (1280, 390):
                await seat.page.set_viewport_size({"width": width, "height": _HEIGHT})
                measured = await measure(seat.page)
                problems += [
                    f"{width}: {key} {measured[key]}"
                    for key in ("scrolls", "broken")
                    if measured[key]
                ]
                problems += [f"{width}: {each}" for each in await list_violations(seat.page)]
                await keep_screenshot(seat.page, f"portal-{name}-{locale[:2]}-{width}")
            found += [f"{name} {each}" for each in problems]
        assert seat.complaints == []
    assert found == []


async def _find_message(seat: Seat) -> str:
    rows = await seat.world.house.rows(
        "SELECT communication_id FROM communications WHERE merchant_id = $1 AND claim_id = $2",
        seat.world.claim_id,
    )
    return f"/claims/{seat.world.claim_id}/messages/{rows[0]['communication_id']}"


@pytest.mark.parametrize("width", [390, 1280])
async def test_the_disputed_claim_is_found_and_answered_by_keyboard(
    chromium: Browser, site: Site, width: int
) -> None:
    async with _sit_down(chromium, site, width=width) as seat:
        page = seat.page
        await seat.go("")
        await page.keyboard.press("g")
        async with page.expect_navigation():
            await page.keyboard.press("d")
        await page.get_by_role("link", name="Erika Mustermann").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await page.get_by_label("No: the claim stands").focus()
        await page.keyboard.press("Space")
        await page.get_by_label("Message to the debtor").focus()
        await page.keyboard.type("The parcel never came back to us.")
        await page.get_by_role("button", name="Look at it before it is sent").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.locator(".sheet")).to_contain_text("The parcel never came back to us.")
        await keep_screenshot(page, f"portal-preview-en-{width}")
        await page.get_by_role("button", name="Send the answer").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.get_by_role("status").first).to_contain_text("The answer is sent.")
        await expect(page.locator("main")).to_contain_text("Rejected")
        assert seat.complaints == []


async def test_a_page_is_left_after_a_question_when_something_was_typed(
    chromium: Browser, site: Site
) -> None:
    async with _sit_down(chromium, site) as seat:
        asked: list[str] = []

        async def answer(dialog):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            asked.append(dialog.type)
            await dialog.dismiss()

        seat.page.on("dialog", answer)
        await seat.go(f"/claims/{seat.world.claim_id}/note")
        await seat.page.get_by_label("Note").click()
        await seat.page.keyboard.type("Half a thought")
        await seat.page.get_by_role("link", name="Back to the claim").click()
        await expect(seat.page.get_by_label("Note")).to_have_value("Half a thought")
        assert asked == ["beforeunload"]
