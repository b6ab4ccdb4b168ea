"""The checks themselves find faults."""

import pytest
from playwright.async_api import Browser

from tests.browser.browser_page import Visit
from tests.browser.html_checker import HtmlChecker
from tests.browser.layout import (
    find_first_action,
    list_covered,
    list_edgeless,
    list_unclear_focus,
    weigh,
)
from tests.browser.page_checks import list_loose_ends, list_violations
from tests.browser.states import STATES

_WRONG = '<!DOCTYPE html><html lang="en"><title>x</title><p><input><div>y</div></p>'


async def test_the_html_checker_finds_errors(html_checker: HtmlChecker) -> None:
    assert any("“p”" in fault for fault in await html_checker.list_faults(_WRONG))


async def test_axe_finds_errors(chromium: Browser) -> None:
    page = await chromium.new_page()
    await page.set_content(_WRONG)

    found = await list_violations(page)

    await page.close()
    assert any(fault.startswith("label:") for fault in found)


_STRICT = "default-src 'none'; script-src 'self'; form-action 'self' https://pay.example"


@pytest.mark.parametrize(
    "source",
    [
        "<style>p {}</style>", "<script>1</script>", '<p class="x" style="top: 0">',
        '<button onclick="1">', '<a href="javascript:1">',
    ],
)  # fmt: skip
def test_inline_scripts_and_styles_are_found(source: str) -> None:
    assert len(list_loose_ends(source, _STRICT)) == 1


@pytest.mark.parametrize(
    "policy",
    [None, "script-src 'self'", f"{_STRICT}; img-src *", f"{_STRICT}; style-src 'unsafe-inline'"],
)
def test_a_weak_content_security_policy_is_found(policy: str | None) -> None:
    harmless = '<link rel="icon" href="data:,"><script type="module" src="/x.js"></script>'

    assert list_loose_ends(harmless, _STRICT) == []
    assert len(list_loose_ends(harmless, policy)) == 1


async def test_an_element_that_covers_text_is_found(visit: Visit) -> None:
    await STATES["claim"](visit)
    assert await list_covered(visit.page) == []

    await visit.page.evaluate("document.querySelector('.amount').style.marginBottom = '-3rem'")

    assert any("money" in each for each in await list_covered(visit.page))


@pytest.mark.parametrize("outline", ["none", "3px solid transparent", "3px solid #ddd"])
async def test_an_invisible_focus_is_found(visit: Visit, outline: str) -> None:
    await STATES["code"](visit)
    assert await list_unclear_focus(visit.page) == []
    await visit.page.reload()

    await visit.page.evaluate(f"document.querySelector('#code').style.outline = '{outline}'")

    assert ['id="code"' in each for each in await list_unclear_focus(visit.page)] == [True]


async def test_a_missing_border_is_found(visit: Visit) -> None:
    await STATES["code"](visit)
    assert await list_edgeless(visit.page) == []

    await visit.page.evaluate("document.querySelector('.primary').style.border = '0'")

    assert len(await list_edgeless(visit.page)) == 1


async def test_a_primary_action_far_down_and_a_large_page_are_found(visit: Visit) -> None:
    await STATES["code"](visit)
    light, near = await weigh(visit.page), await find_first_action(visit.page) or 999
    source = await visit.read_source()

    await visit.page.evaluate("document.querySelector('h1').style.marginTop = '999px'")

    assert len(source.encode()) < light < 15_000
    assert near < 844 < (await find_first_action(visit.page) or 0)
    await visit.page.evaluate("document.querySelector('.primary').remove()")
    assert await find_first_action(visit.page) is None
