"""What the scripts add to pages that work without them."""

import re

from playwright.async_api import expect

from tests.browser.browser_page import Visit
from tests.browser.claim_states import offer_plans
from tests.browser.page_checks import follow, keep_screenshot, list_violations
from tests.browser.states import STATES

_WARNING = "Diese Seite schließt sich in etwa fünf Minuten."


async def test_the_page_warns_five_minutes_before_the_end_and_keeps_the_focus(
    visit: Visit,
) -> None:
    page = visit.page
    await page.clock.install()
    await STATES["claim"](visit)
    await page.locator(".primary").focus()
    await page.clock.fast_forward("53:59")
    await expect(page.locator(".warning button")).to_be_hidden()

    await page.clock.fast_forward("00:02")

    await expect(page.locator(".warning [role=status]")).to_have_text(_WARNING)
    assert await page.evaluate("document.activeElement.className") == "primary"
    assert await list_violations(page) == []
    await keep_screenshot(page, "claim-warned")
    await follow(page.get_by_role("button", name="Eine Stunde länger bleiben").last)
    await expect(page.locator(".session p")).to_have_text(re.compile("noch 60 Minuten"))


async def test_all_data_for_other_programs_can_be_copied(visit: Visit) -> None:
    page = visit.page
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await STATES["transfer"](visit)

    await page.get_by_role("button", name="Kopieren: IBAN").click()

    await expect(page.locator("[data-copied]")).to_have_text("Kopiert: IBAN")
    assert await page.evaluate("navigator.clipboard.readText()") == "DE02120300000000202051"
    assert await page.locator(".copy").count() == await page.locator("[data-copy]").count()
    assert await list_violations(page) == []
    for width in (320, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        await keep_screenshot(page, f"transfer-copy-{width}")


async def test_a_chosen_plan_is_shown_at_once(visit: Visit) -> None:
    page = visit.page
    await offer_plans(visit)
    await STATES["claim"](visit)
    await page.goto(f"{visit.site.origin}/claim/plan")
    await expect(page.locator("[data-plan-preview]")).to_be_hidden()

    for count in (3, 2):
        await page.locator(f"input[name=offer][value='{count}']").check()
        await expect(page.locator("[data-plan-preview] tbody tr")).to_have_count(count)
    shown = await page.locator("[data-plan-preview]").inner_text()
    await keep_screenshot(page, "plan-previewed")
    await follow(page.locator("form[data-plan] .primary"))

    assert await page.locator("section[aria-labelledby=schedule]").inner_text() == shown


async def test_without_scripts_their_controls_are_hidden(visit: Visit) -> None:
    await STATES["transfer"](visit)
    cookies = await visit.page.context.cookies()
    browser = visit.page.context.browser
    assert browser is not None
    context = await browser.new_context(java_script_enabled=False)
    await context.add_cookies(cookies)  # type: ignore[arg-type]
    page = await context.new_page()
    await page.goto(visit.page.url)

    shown = await page.locator("[data-copy]").count()
    added = await page.locator(".copy, .warning.shown, .warning button:visible").count()
    await context.close()

    assert shown > 0
    assert added == 0
