"""Amounts while the reader enlarges the text: complete, never wider than the page, and never
smaller than before."""

from typing import Any

import pytest
from playwright.async_api import Browser

from tests.browser.browser_page import a_visit
from tests.browser.page_checks import follow, keep_screenshot
from tests.browser.site import CLAIM, OFFERING_ALL, RunningApplication
from tests.browser.test_brands import WITH_SUMS

# The reader's text size in pixels, from 100 % to 200 %. Media queries in em follow it.
_TEXT_SIZES = (16, 17, 18, 20, 24, 28, 32)
# The widest amount with ten digits, as two items that can be paid singly.
_TEN_DIGITS = [
    {**CLAIM["items"][0], "value": "9999999998"},
    {**CLAIM["items"][1], "value": "1"},
]
_READ_AMOUNTS = """() => ({
  sizes: [...document.querySelectorAll('bdi.money')].filter(e => e.checkVisibility())
    .map(e => [e.innerText, parseFloat(getComputedStyle(e).fontSize)]),
  wide: [...document.querySelectorAll('body *')].filter(e =>
    e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.skip'))
    .map(e => e.outerHTML.slice(0, 120)),
  broken: [...document.querySelectorAll('bdi.money')]
    .filter(e => new Set([...e.getClientRects()].map(box => Math.round(box.top))).size > 1)
    .map(e => e.outerHTML),
  scrolls: document.documentElement.scrollWidth > innerWidth,
})"""


@pytest.mark.parametrize("width", [320, 390, 641, 1280])
async def test_amounts_of_ten_digits_fit_and_grow_with_the_text(
    chromium: Browser, application: RunningApplication, width: int
) -> None:
    site = await application.create_site(OFFERING_ALL, {**CLAIM, "items": _TEN_DIGITS})
    found: list[Any] = []
    counted = 0
    async with a_visit(chromium, site, width=width) as visit:
        page = visit.page
        cdp = await page.context.new_cdp_session(page)
        await visit.go("/q")
        await page.locator("#code").fill(await site.give_code())
        await follow(page.locator("main button"))
        for path in WITH_SUMS:
            before: list[tuple[str, float]] = []
            await cdp.send("Page.setFontSizes", {"fontSizes": {"standard": 16}})
            await visit.go(path)
            for size in _TEXT_SIZES:
                await cdp.send("Page.setFontSizes", {"fontSizes": {"standard": size}})
                read = await page.evaluate(_READ_AMOUNTS)
                found += [
                    (path, size, key, read[key])
                    for key in ("scrolls", "wide", "broken")
                    if read[key]
                ]
                sizes = [(words, shown) for words, shown in read["sizes"]]
                found += [
                    (path, size, was, now)
                    for was, now in zip(before, sizes, strict=False)
                    if now[1] < was[1] - 0.01
                ]
                before = sizes
            counted += len(before)
            await keep_screenshot(page, f"large-text-{width}{path.replace('/', '-')}")
    assert found == [], "\n".join(map(str, found))
    assert counted > 20
