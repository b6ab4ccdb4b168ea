"""Take the README's two screenshots: `make pictures`.

Runs the demo with its own data folder, opens its pages in Chromium, and writes PNG files to
docs/images/. Needs Chromium from the system.
"""

import asyncio
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyotp
from playwright.async_api import Browser, Page, async_playwright

_ROOT = Path(__file__).parents[1]
_IMAGES = _ROOT / "docs" / "images"
_PORT = 8400
_CODE_SECONDS = 30


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, _run_demo(Path(folder)) as output:
        asyncio.run(_take_pictures(output))


@contextmanager
def _run_demo(folder: Path) -> Iterator[str]:
    """Run the demo until it has finished, and yield its output."""
    words = [
        sys.executable,
        "-u",
        "-m",
        "examples.demo",
        "--port",
        str(_PORT),
        "--data-dir",
        str(folder),
    ]
    demo = subprocess.Popen(words, cwd=_ROOT, stdout=subprocess.PIPE, text=True)
    assert demo.stdout is not None
    try:
        output = ""
        for line in demo.stdout:
            output += line
            if "Dunwell stays up" in line:
                break
        yield output
    finally:
        demo.terminate()
        demo.wait()


async def _take_pictures(output: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=shutil.which("chromium-headless-shell") or shutil.which("chromium"),
            args=["--no-sandbox"],
        )
        await _take_claim(await _open_page(browser, 960, 990), output)
        await _take_debtor_page(await _open_page(browser, 420, 822), output)
        await browser.close()


async def _take_claim(page: Page, output: str) -> None:
    """Take the portal's page of a claim that went through all channels."""
    await _sign_in(page, output)
    await page.get_by_role("link", name="Teekontor Hansen").first.click()
    await page.get_by_role("link", name="Claims", exact=True).first.click()
    await page.get_by_role("link", name="TK-2026-1006").click()
    await page.get_by_role("heading", level=1).wait_for()
    await page.screenshot(path=_IMAGES / "portal-claim.png")


async def _take_debtor_page(page: Page, output: str) -> None:
    """Take the page of the disputed claim as its debtor sees it on a phone, in English."""
    await page.goto(_find(output, "A debtor's link"))
    await page.locator("main form button").first.click()
    await page.get_by_role("link", name="English").click()
    await page.get_by_role("link", name="Deutsch").wait_for()
    await page.screenshot(path=_IMAGES / "debtor-page.png")


async def _open_page(browser: Browser, width: int, height: int) -> Page:
    context = await browser.new_context(
        locale="en-GB", viewport={"width": width, "height": height}, device_scale_factor=1.5
    )
    return await context.new_page()


async def _sign_in(page: Page, output: str) -> None:
    await page.goto(_find(output, "Portal"))
    await page.get_by_label("E-mail address").fill(_find(output, "e-mail"))
    await page.get_by_label("Password").fill(_find(output, "password"))
    await page.get_by_role("button", name="Continue").click()
    key = pyotp.TOTP(_find(output, "app key"))
    # The demo has used the code of this half minute, and each code is valid only once.
    await page.get_by_label("Six-digit code").fill(key.at(time.time() + _CODE_SECONDS))
    await page.get_by_role("button", name="Sign in").click()
    await page.wait_for_load_state()
    link = page.get_by_role("link", name="Yes, it was me")
    if await link.count():
        await link.click()


def _find(output: str, name: str) -> str:
    """Return what the demo printed after this name."""
    found = re.search(rf"^ *{re.escape(name)} +(\S.*)$", output, re.MULTILINE)
    if found is None:
        raise SystemExit(f"the demo did not print {name!r}:\n{output}")
    return found[1].strip()


if __name__ == "__main__":
    main()
