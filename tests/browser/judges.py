"""What every page is held to in the browser: axe, nothing too wide, too small or broken."""

import asyncio
from pathlib import Path
from typing import Any

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Locator, Page

ROOT = Path(__file__).parents[2]
SCREENSHOTS = ROOT / "var" / "screenshots"
_RULES = [
    "wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22a", "wcag22aa", "best-practice",
]  # fmt: skip
# What is wider than its page, and what can be pressed but is smaller than 24 by 24 (in running text
# the line's height will do).
_MEASURE = """() => {
  const wide = [...document.querySelectorAll('body *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.skip'))
    .map(e => e.outerHTML.slice(0, 120));
  const small = [...document.querySelectorAll('a, button, input:not([type=hidden])')]
    .filter(e => {
      const box = e.getBoundingClientRect();
      const flows = e.tagName === 'A' && getComputedStyle(e).display === 'inline';
      return !flows && !e.closest('.skip') && (box.height < 24 || box.width < 24);
    })
    .map(e => e.outerHTML.slice(0, 120));
  const broken = [...document.querySelectorAll('bdi.money')]
    .filter(e => new Set([...e.getClientRects()].map(box => Math.round(box.top))).size > 1)
    .map(e => e.outerHTML);
  return {
    scrolls: document.documentElement.scrollWidth > innerWidth, wide, small, broken,
    scripts: document.scripts.length,
    styled: document.querySelectorAll('[style], style').length,
  };
}"""
FITTING = {
    "scrolls": False, "wide": [], "small": [], "broken": [], "scripts": 0, "styled": 0,
}  # fmt: skip


async def list_violations(page: Page) -> list[str]:
    """What axe finds, WCAG 2.0 to 2.2, A and AA, and its best practices."""
    found = await Axe().run(page, options={"runOnly": _RULES, "resultTypes": ["violations"]})
    return [
        f"{each['id']}: {node['html'][:200]} {node.get('failureSummary', '')}"
        for each in found.response["violations"]
        for node in each["nodes"]
    ]


async def follow(control: Locator) -> None:
    """Press it, and wait until the page it leads to is there."""
    async with control.page.expect_navigation():
        await control.click()


async def measure(page: Page) -> Any:
    return await page.evaluate(_MEASURE)


async def keep_screenshot(page: Page, name: str) -> None:
    await asyncio.to_thread(SCREENSHOTS.mkdir, parents=True, exist_ok=True)
    await page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True)
