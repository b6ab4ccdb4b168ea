"""Every page and state: accessible, light, within its width, and kept as a picture to look at."""

from urllib.parse import urlsplit

import pytest
from playwright.async_api import Page

from dunwell.landing.face import ROUTES
from tests.browser.addresses import SHOWN_AT, WITHOUT_A_PAGE, find_address
from tests.browser.html_checker import HtmlChecker
from tests.browser.judges import (
    FITTING,
    keep_screenshot,
    list_loose_ends,
    list_violations,
    measure,
)
from tests.browser.layout import (
    MOST_BYTES,
    find_first_action,
    list_covered,
    list_edgeless,
    list_unclear_focus,
    weigh,
)
from tests.browser.states import STATES
from tests.browser.visit import Visit

# Of each kind of page, those with the most different things on them.
_FORCED = [
    "code-wrong", "link-birth-date-wrong", "link-code-sent", "verify", "real-unconfirmed",
    "claim", "claim-held", "claim-all-at-once", "claim-plan-active", "documents",
    "pay-amount", "pay-method-items", "transfer", "transfer-no-day", "receipt-copied",
    "plan", "plan-errors", "plan-check", "plan-agreed", "help",
    "dispute", "dispute-faults", "dispute-kept", "dispute-sent", "dispute-rejected",
    "preferences", "preferences-no-way-left", "preferences-address-wrong", "preferences-code",
    "preferences-changed",
]  # fmt: skip
# They tell, or offer several ways on, of which none is the main one.
_WITHOUT_ACTION = {
    "absent", "claim-archived", "claim-overpaid", "claim-paid-with-documents", "claim-withdrawn",
    "code-locked", "dispute", "dispute-accepted", "dispute-accepted-open", "dispute-by-link",
    "dispute-rejected", "dispute-sent", "dispute-sent-refused", "dispute-withdrawn",
    "document-lost", "documents", "ended", "help-paused", "help-refused", "link-dead",
    "link-locked", "new-link-often", "new-link-sent", "not-found", "notices", "options",
    "options-none", "preferences", "preferences-changed", "preferences-no-way-left",
    "preferences-sure", "stale", "timed-out", "too-large", "transfer-sent",
}  # fmt: skip


def test_every_address_is_seen_in_some_state() -> None:
    seen = [name for names in SHOWN_AT.values() for name in names.split()]

    assert set(SHOWN_AT) | WITHOUT_A_PAGE == {*ROUTES, "elsewhere"}
    assert sorted(seen) == sorted(STATES)
    assert _WITHOUT_ACTION.union(_FORCED) <= set(STATES)


@pytest.mark.parametrize("name", STATES)
async def test_a_page_is_valid_accessible_light_clear_and_fits(
    visit: Visit, html_checker: HtmlChecker, name: str
) -> None:
    """All that is asked of a state, as to reach one takes most of the time."""
    await STATES[name](visit)

    assert name in SHOWN_AT[find_address(visit.page.url)].split()
    await _judge_what_was_sent(visit, html_checker)
    await _judge_what_is_seen(visit.page, name)
    await _judge_with_the_keyboard(visit.page)
    await _judge_in_forced_colours(visit.page, name)
    await _judge_in_english(visit, html_checker)


async def _judge_what_was_sent(visit: Visit, html_checker: HtmlChecker) -> None:
    assert await weigh(visit.page) <= MOST_BYTES
    source = await visit.read_source()
    assert await html_checker.list_faults(source) == []
    assert list_loose_ends(source, await visit.read_policy()) == []


async def _judge_what_is_seen(page: Page, name: str) -> None:
    for width in (320, 1280, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        assert await measure(page) == FITTING
        assert await list_covered(page) == []
    bottom = await find_first_action(page)
    assert (bottom is None) == (name in _WITHOUT_ACTION)
    is_error = (await page.title()).startswith("Fehler:")
    if not is_error:
        assert (bottom or 0) <= 844
    assert await list_violations(page) == []
    await keep_screenshot(page, name)


async def _judge_with_the_keyboard(page: Page) -> None:
    assert await list_unclear_focus(page) == []
    await page.evaluate("document.activeElement.blur()")


async def _judge_in_forced_colours(page: Page, name: str) -> None:
    await page.emulate_media(forced_colors="active")
    assert await list_edgeless(page) == []
    if name in _FORCED:
        assert await list_violations(page) == []
        await keep_screenshot(page, f"{name}-forced-colours")


async def _judge_in_english(visit: Visit, html_checker: HtmlChecker) -> None:
    """Where the page's address alone leads to it."""
    page = visit.page
    if visit.document is None or visit.document.request.method != "GET":
        return
    await page.emulate_media(forced_colors="none")
    address = urlsplit(page.url)
    await page.goto(address._replace(query=f"{address.query}&lang=en", fragment="").geturl())
    assert await page.evaluate("document.documentElement.lang") == "en"
    assert await html_checker.list_faults(await visit.read_source()) == []
    for width in (320, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        assert await measure(page) == FITTING
        assert await list_covered(page) == []
    assert await list_violations(page) == []


@pytest.mark.parametrize("language", ["de", "en"])
async def test_what_to_do_is_seen_without_scrolling_on_a_phone(visit: Visit, language: str) -> None:
    page = visit.page
    await page.goto(f"{await visit.site.link()}?lang={language}")
    async with page.expect_navigation():
        await page.locator("main button").click()

    for selector in (".amount", ".primary", ".panel .secondary", "a[href^='/claim/dispute']"):
        box = await page.locator(selector).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 844, selector


async def test_the_amount_is_the_largest_text(visit: Visit) -> None:
    await STATES["claim"](visit)

    sizes = await visit.page.evaluate(
        """() => [...document.querySelectorAll('body *')].map(
            e => [parseFloat(getComputedStyle(e).fontSize), e.className])"""
    )
    largest = max(size for size, _ in sizes)
    assert {name for size, name in sizes if size == largest} == {"amount", "money"}


async def test_text_of_twice_the_size_still_fits(visit: Visit) -> None:
    """WCAG 1.4.4: a phone whose owner reads large letters."""
    await visit.page.set_viewport_size({"width": 640, "height": 844})
    await STATES["claim"](visit)

    await visit.page.evaluate("document.documentElement.style.fontSize = '200%'")

    measured = await measure(visit.page)
    assert (measured["scrolls"], measured["wide"], measured["broken"]) == (False, [], [])


async def test_the_keyboard_alone_leads_to_paying(visit: Visit) -> None:
    await STATES["claim"](visit)
    page = visit.page

    seen = []
    for _ in range(5):
        await page.keyboard.press("Tab")
        seen.append(await page.evaluate("document.activeElement.textContent.trim()"))

    assert seen == [
        "Zum Inhalt springen", "English", "Jetzt zahlen", "Ich kann jetzt nicht alles zahlen",
        "An dieser Forderung stimmt etwas nicht",
    ]  # fmt: skip
