"""Every page and state: accessible, light, within its width, and kept as a picture to look at."""

import pytest

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
# Forms that ask for much before their button.
_LONG = {
    "dispute-amount", "dispute-paid", "dispute-insolvency", "dispute-kept", "plan", "plan-schedule",
}  # fmt: skip


def test_every_address_is_seen_in_some_state() -> None:
    seen = [name for names in SHOWN_AT.values() for name in names.split()]

    assert set(SHOWN_AT) | WITHOUT_A_PAGE == {*ROUTES, "elsewhere"}
    assert sorted(seen) == sorted(STATES)


@pytest.mark.parametrize("name", STATES)
async def test_a_page_is_valid_accessible_light_and_fits(
    visit: Visit, html_checker: HtmlChecker, name: str
) -> None:
    page = visit.page

    await STATES[name](visit)

    assert name in SHOWN_AT[find_address(page.url)].split()
    assert await weigh(page) <= MOST_BYTES
    assert await html_checker.list_faults(await visit.read_source()) == []
    assert list_loose_ends(await visit.read_source(), await visit.read_policy()) == []
    for width in (320, 1280, 390):
        await page.set_viewport_size({"width": width, "height": 844})
        assert await measure(page) == FITTING
        assert await list_covered(page) == []
    assert await list_violations(page) == []
    await keep_screenshot(page, name)


@pytest.mark.parametrize("name", STATES)
async def test_a_page_shows_its_focus_its_first_action_and_its_edges(
    visit: Visit, name: str
) -> None:
    page = visit.page

    await STATES[name](visit)

    is_error = (await page.title()).startswith("Fehler:")
    if name not in _LONG and not is_error:
        assert await find_first_action(page) <= 844
    assert await list_unclear_focus(page) == []
    await page.emulate_media(forced_colors="active")
    assert await list_edgeless(page) == []


@pytest.mark.parametrize("name", _FORCED)
async def test_a_page_stands_in_forced_colours(visit: Visit, name: str) -> None:
    await visit.page.emulate_media(forced_colors="active")

    await STATES[name](visit)

    assert await list_violations(visit.page) == []
    await keep_screenshot(visit.page, f"{name}-forced-colours")


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
