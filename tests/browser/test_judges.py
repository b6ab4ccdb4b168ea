"""The judges themselves: what is wrong is found."""

from playwright.async_api import Browser

from tests.browser.html_checker import HtmlChecker
from tests.browser.judges import list_violations

_WRONG = '<!DOCTYPE html><html lang="en"><title>x</title><p><input><div>y</div></p>'


async def test_the_html_checker_finds_what_is_wrong(html_checker: HtmlChecker) -> None:
    assert any("“p”" in fault for fault in await html_checker.list_faults(_WRONG))


async def test_axe_finds_what_is_wrong(chromium: Browser) -> None:
    page = await chromium.new_page()
    await page.set_content(_WRONG)

    found = await list_violations(page)

    await page.close()
    assert any(fault.startswith("label:") for fault in found)
