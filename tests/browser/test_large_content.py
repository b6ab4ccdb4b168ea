"""Large text, large amounts, many items and printed pages."""

from pathlib import Path

from playwright.async_api import Browser, expect

from tests.browser.browser_page import a_visit
from tests.browser.page_checks import follow, keep_screenshot, measure
from tests.browser.site import CLAIM, OFFERING_ALL, RunningApplication
from tests.browser.test_brands import WITH_SUMS
from tests.support.tools import run_tool


async def test_amounts_of_ten_digits_fit_at_twice_the_text_size(
    chromium: Browser, application: RunningApplication
) -> None:
    items = [{**CLAIM["items"][0], "value": "9999999999"}, *CLAIM["items"][1:]]
    site = await application.create_site(OFFERING_ALL, {**CLAIM, "items": items})
    async with a_visit(chromium, site, width=390) as visit:
        await visit.open()
        for path in WITH_SUMS:
            await visit.go(path)
            await visit.page.evaluate("document.documentElement.style.fontSize = '200%'")
            measured = await measure(visit.page)
            await keep_screenshot(visit.page, f"large{path.replace('/', '-')}")
            found = {key: measured[key] for key in ("scrolls", "wide", "broken")}
            assert (path, found) == (path, {"scrolls": False, "wide": [], "broken": []})


async def test_all_sixty_items_are_selected_or_deselected_with_one_button(
    chromium: Browser, application: RunningApplication
) -> None:
    owed = [{**CLAIM["items"][0], "reference": f"RE-{n}", "value": "1000"} for n in range(60)]
    site = await application.create_site(OFFERING_ALL, {**CLAIM, "items": owed})
    for scripts in (True, False):
        context = await chromium.new_context(locale="de-DE", java_script_enabled=scripts)
        page = await context.new_page()
        await page.goto(f"{site.origin}/q")
        await page.locator("#code").fill(await site.give_code())
        await follow(page.locator("main button"))
        await page.goto(f"{site.origin}/claim/pay")
        for words, count in (("Auswahl aufheben", 0), ("Alle auswählen", 60)):
            await page.get_by_role("button", name=words).click()
            await expect(page.locator("[name=item]:checked")).to_have_count(count)
        await context.close()


async def test_printed_pages_keep_rows_together_and_show_the_total_once_with_the_date(
    chromium: Browser, application: RunningApplication, tmp_path: Path
) -> None:
    owed = [{**CLAIM["items"][0], "reference": f"RE-{n}", "value": "1000"} for n in range(60)]
    site = await application.create_site(OFFERING_ALL, {**CLAIM, "items": owed})
    async with a_visit(chromium, site) as visit:
        await visit.open()
        path = tmp_path / "claim.pdf"
        await visit.page.pdf(path=path, format="A4")
    pages = run_tool("pdftotext", "-layout", str(path), "-").split("\f")
    text = "\n".join(pages)
    assert text.count("Noch zu zahlen") == 2  # Once at the top and once below the last row.
    assert text.count("Gedruckt am 2. März 2026.") == 1
    assert "Jetzt zahlen" not in text
    for page in pages:
        # A row's reference and its second line are on the same sheet.
        assert page.count("RE-") == page.count("Fällig am 10. Februar")
