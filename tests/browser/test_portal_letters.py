"""The pages of letter batches in Chromium: they are accessible and fit their width, and letters are
resolved with the keyboard, with and without scripts."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from dunwell.accounts.installation.apply_installation import apply_installation
from dunwell.accounts.installation.delivery_providers import BatchSettings, FolderProvider
from dunwell.accounts.installation.installation_file import Installation
from tests.browser.browser_page import Tabs, listen
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import keep_screenshot, list_loose_ends, list_violations, measure
from tests.browser.site import Site
from tests.support.letter_harness import LetterHarness, a_harness_with_a_folder, write_status
from tests.support.portal import COOKIE, sign_in

_ASKED = "delivery-providers/post/doubtful-letters"
_NOON = "2026-03-04T12:00:00Z"
_NEWEST = "SELECT batch_id FROM letter_batches WHERE $1 > 0 ORDER BY batch_id DESC LIMIT 1"
_DOUBT = """
UPDATE letter_batch_items SET doubt = CASE communication_id WHEN
    (SELECT communication_id FROM letter_batch_items WHERE merchant_id = $1 AND state = 'WAITING'
     ORDER BY communication_id DESC LIMIT 1) THEN 'MISSING' ELSE 'UNCONFIRMED' END
WHERE merchant_id = $1 AND state = 'WAITING'
"""
_LEFT = "SELECT state, doubt FROM letter_batch_items WHERE merchant_id = $1 AND batch_id IS NULL"


@pytest.fixture
async def letter_harness(site: Site, tmp_path: Path) -> AsyncIterator[LetterHarness]:
    """A released batch of three letters, and three letters whose release is unknown."""
    resources, folder = site.payments.resources, tmp_path / "letters"
    line = FolderProvider(channel="LETTER", folder=str(folder))
    await apply_installation(resources, Installation(delivery_providers={"post": line}))
    letter_harness = await a_harness_with_a_folder(
        resources, site.clock, folder, BatchSettings(most=3), key="suedwind"
    )
    await letter_harness.create(*(f"RE-2026-08{number}" for number in range(15, 18)))
    site.clock.advance(timedelta(hours=1))
    assert await letter_harness.release() == 3
    first, second, _ = letter_harness.references()
    site.clock.advance(timedelta(days=1))
    await letter_harness.create(*(f"RE-2026-09{number}" for number in range(31, 34)))
    letter_harness.write_status_file(
        "montag.csv", write_status((first, "returned", _NOON), (second, "posted", _NOON))
    )
    letter_harness.write_status_file("dienstag-nachgereicht.csv", "kennung;zustand\n")
    await letter_harness.read_statuses()
    await letter_harness.harness.rows(_DOUBT)
    yield letter_harness
    await letter_harness.adapter.close()


@asynccontextmanager
async def a_page(
    tabs: Tabs, site: Site, locale: str = "en-GB", *, with_scripts: bool = True
) -> AsyncIterator[Page]:
    """Yield a page of a user who is an operator for all merchants."""
    clerk = await sign_in(
        site.payments.resources, site.app, site.payments.harness, language=locale[:2]
    )
    secret = clerk.http.cookies[COOKIE]
    async with tabs.lend(site, locale=locale, scripts=with_scripts) as page:
        await page.context.add_cookies([{"name": COOKIE, "value": secret, "url": site.origin}])
        await page.set_viewport_size({"width": 1280, "height": 720})
        yield page


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
async def test_letter_batches_are_listed(
    tabs: Tabs, site: Site, letter_harness: LetterHarness, html_checker: HtmlChecker, locale: str
) -> None:
    [newest] = await letter_harness.harness.rows(_NEWEST)
    batch = f"delivery-providers/batches/{newest['batch_id']}"
    shown = {
        "delivery-providers/batches": "letter-batches", batch: "letter-batch",
        f"{batch}?show=failed": "letter-batch-failed", _ASKED: "letters-asked",
    }  # fmt: skip
    found = []
    async with a_page(tabs, site, locale) as page, listen(page) as complaints:
        for name, kept in shown.items():
            answer = await page.goto(f"{site.origin}/portal/{name}")
            assert answer is not None
            assert answer.status == 200
            source = await answer.text()
            found += await html_checker.list_faults(source)
            found += list_loose_ends(source, "default-src 'none'")
            found += await list_page_faults(page, f"portal-{kept}-{locale[:2]}")
        await page.get_by_role("radio").first.check()
        await page.locator(".acts button.primary").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        found += await html_checker.list_faults(await page.content())
        found += await list_page_faults(page, f"portal-letters-asked-fault-{locale[:2]}")
    assert found == []
    assert [each for each in complaints if "422" not in each] == []


@pytest.mark.parametrize("with_scripts", [True, False])
async def test_letters_are_resolved_with_the_keyboard(
    tabs: Tabs, site: Site, letter_harness: LetterHarness, with_scripts: bool
) -> None:
    """With scripts, one checkbox selects all letters."""
    async with a_page(tabs, site, with_scripts=with_scripts) as page:
        await page.goto(f"{site.origin}/portal/{_ASKED}")
        boxes = page.locator("input[name=letter]")
        every = page.get_by_label("Select all on this page")
        await expect(boxes).to_have_count(3)
        if with_scripts:
            await every.focus()
            await page.keyboard.press("Space")
            await expect(page.locator("input[name=letter]:checked")).to_have_count(3)
        else:
            await expect(every).to_be_hidden()
            await boxes.first.focus()
            await page.keyboard.press("Space")
        await page.get_by_role("radio").first.focus()
        await page.keyboard.press("Space")
        await page.get_by_role("button", name="Resolve selected letters").focus()
        async with page.expect_navigation():
            await page.keyboard.press("Enter")
        await expect(page.get_by_role("status")).to_contain_text("Resolved.")
        await expect(boxes).to_have_count(0 if with_scripts else 2)
    left = [row["doubt"] is None for row in await letter_harness.harness.rows(_LEFT)]
    assert sorted(left) == ([True] * 3 if with_scripts else [False, False, True])


async def list_page_faults(page: Page, kept: str) -> list[str]:
    """List the faults of the current page, wide and narrow."""
    found = []
    for width in (1280, 390):
        await page.set_viewport_size({"width": width, "height": 900})
        measured = await measure(page)
        found += [f"{kept} {width} {key}" for key in ("scrolls", "broken") if measured[key]]
        found += await list_violations(page)
        await keep_screenshot(page, f"{kept}-{width}")
    return found
