"""Every page and state is accessible, small, and fits its width. A screenshot is kept."""

import pytest

from tests.browser.addresses import SHOWN_AT, WITHOUT_A_PAGE, find_address
from tests.browser.browser_page import Visit
from tests.browser.html_checker import HtmlChecker
from tests.browser.page_checks import measure
from tests.browser.state_checks import (
    IN_FORCED_COLOURS,
    LONG,
    WITHOUT_ACTION,
    keep_pictures,
    list_faults,
    list_faults_in_english,
)
from tests.browser.states import STATES
from tests.support.one_claim import ROUTES


def test_every_address_is_covered_by_a_state() -> None:
    seen = [name for names in SHOWN_AT.values() for name in names.split()]

    assert set(SHOWN_AT) | WITHOUT_A_PAGE == {*ROUTES, "elsewhere"}
    assert sorted(seen) == sorted(STATES)
    assert set(STATES) >= WITHOUT_ACTION | IN_FORCED_COLOURS | LONG


@pytest.mark.parametrize("name", STATES)
async def test_a_page_is_valid_accessible_light_clear_and_fits(
    return_visit: Visit, html_checker: HtmlChecker, name: str
) -> None:
    """All checks are in one test, because reaching a state takes most of the time."""
    await STATES[name](return_visit)
    assert name in SHOWN_AT[find_address(return_visit.page.url)].split()

    found = await list_faults(return_visit, html_checker, name)
    await keep_pictures(return_visit.page, name)
    found += await list_faults_in_english(return_visit, html_checker)

    assert found == []


@pytest.mark.parametrize("language", ["de", "en"])
async def test_the_primary_action_is_visible_without_scrolling_on_a_phone(
    visit: Visit, language: str
) -> None:
    page = visit.page
    await page.goto(f"{await visit.site.link()}?lang={language}")
    async with page.expect_navigation():
        await page.locator("main button").click()

    for selector in (".amount", ".primary", ".panel .secondary", "a[href*='/dispute']"):
        box = await page.locator(selector).first.bounding_box()
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
    """WCAG 1.4.4: a phone with large text."""
    await visit.page.set_viewport_size({"width": 640, "height": 844})
    await STATES["claim"](visit)

    await visit.page.evaluate("document.documentElement.style.fontSize = '200%'")

    measured = await measure(visit.page)
    assert (measured["scrolls"], measured["wide"], measured["broken"]) == (False, [], [])


async def test_paying_works_with_the_keyboard_alone(visit: Visit) -> None:
    await STATES["claim"](visit)
    page = visit.page

    seen = []
    for _ in range(6):
        await page.keyboard.press("Tab")
        seen.append(await page.evaluate("document.activeElement.textContent.trim()"))

    assert seen == [
        "Zum Inhalt springen", "English", "Jetzt zahlen", "Ich kann jetzt nicht alles zahlen",
        "Ich bin nicht gemeint", "An dieser Forderung stimmt etwas nicht",
    ]  # fmt: skip
