"""What is checked on every page in the browser: axe, and elements that are too wide, too small or
broken."""

import asyncio
import os
import re
from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "var" / "screenshots"
IS_PICTURED = os.environ.get("SCREENSHOTS") == "1"
_RULES = [
    "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice",
]  # fmt: skip
_AXE = Axe().axe_script
_RUN_AXE = """rules => axe.run(document, {runOnly: rules, resultTypes: ['violations']})
  .then(found => found.violations)"""
_INLINE = re.compile(
    r"<style|<script(?![^>]*\bsrc=)|<[^>]*\s(?:style|on\w+)=|(?:href|action)=\"(?:javascript|data):(?!,)"
)
_OWN = {"'none'", "'self'", "data:"}
# Elements that are wider than their page, and controls smaller than 24 by 24 pixels. In running
# text the height of the line is sufficient.
_MEASURE = """() => {
  const wide = [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.skip'))
    .map(e => e.outerHTML.slice(0, 120));
  const small = [...document.querySelectorAll('a, button, input:not([type=hidden])')]
    .filter(e => {
      const box = e.getBoundingClientRect();
      const flows = e.tagName === 'A' && getComputedStyle(e).display === 'inline';
      const shows = e.checkVisibility() && !e.closest('.skip');
      return shows && !flows && Math.round(Math.min(box.height, box.width)) < 24;
    })
    .map(e => e.outerHTML.slice(0, 120));
  const broken = [...document.querySelectorAll('bdi.money')]
    .filter(e => new Set([...e.getClientRects()].map(box => Math.round(box.top))).size > 1)
    .map(e => e.outerHTML);
  return {
    scrolls: document.documentElement.scrollWidth > innerWidth, wide, small, broken,
    inline: [...document.scripts].filter(e => !e.src || e.textContent).length,
    styled: document.querySelectorAll('[style], style').length,
  };
}"""
FITTING = {
    "scrolls": False, "wide": [], "small": [], "broken": [], "inline": 0, "styled": 0,
}  # fmt: skip


async def list_violations(page: Page) -> list[str]:
    """List what axe reports for WCAG 2.0 to 2.2, levels A and AA, and for its best practices."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(_AXE)
    return [
        f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for each in await page.evaluate(_RUN_AXE, _RULES)
        for node in each["nodes"]
    ]


def list_loose_ends(source: str, policy: str | None) -> list[str]:
    """List inline scripts and styles in a page's source, and foreign origins that its policy
    allows."""
    found = _INLINE.findall(source)
    directives = [each.split() for each in (policy or "none").split(";")]
    if ["default-src", "'none'"] not in directives:
        found.append("no policy")
    # The response to a form may redirect to the payment provider.
    held = [each for each in directives if each[0] != "form-action"]
    found += [" ".join(each) for each in held if set(each[1:]) - _OWN]
    return found


async def follow(control: Locator) -> None:
    """Press the control, and wait for the next page."""
    async with control.page.expect_navigation():
        await control.click()


async def measure(page: Page) -> Any:
    return await page.evaluate(_MEASURE)


async def keep_screenshot(page: Page, name: str) -> None:
    """Save a screenshot if screenshots are enabled. They take a tenth of the tests' time."""
    if not IS_PICTURED:
        return
    await asyncio.to_thread(SCREENSHOTS.mkdir, parents=True, exist_ok=True)
    await page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
