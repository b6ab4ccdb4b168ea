"""The checks of a page's state: each possible fault is found by the check that is responsible for
it."""

import json

import pytest
from playwright.async_api import Route

from tests.browser.browser_page import Visit
from tests.browser.html_checker import HtmlChecker
from tests.browser.state_checks import list_faults, list_faults_in_english
from tests.browser.states import STATES

# Additional CSS rules that break a page, by the check that finds them.
_IN_STYLES = {
    "at 200 %, scrolls, wide": ":lang(de) .amount { width: 2000px }",
    "small": ":lang(de) nav a { display: block; width: 20px; height: 20px; overflow: hidden }",
    "at 200 %, broken": ":lang(de) .amount .money { white-space: normal; word-break: break-all; "
    "letter-spacing: 2ch }",
    "covered": ":lang(de) .amount { margin-bottom: -2.5rem }",
    "action": ":lang(de) h1 { margin-top: 999px }",
    "axe": "@media (forced-colors: none) { :lang(de) .label { color: #ccc } }",
    "focus": ":lang(de) .primary:focus-visible { outline: none }",
    "edge": "@media (forced-colors: active) { .primary { border: 0 } }",
    "axe in forced colours": "@media (forced-colors: active) { .label { color: #ccc } }",
    "English scrolls, English wide": ":lang(en) .amount { width: 2000px }",
    "English covered": ":lang(en) .amount { margin-bottom: -2.5rem }",
    "English axe": ":lang(en) .label { color: #ccc }",
}
# The page's policy allows no inline styles.
_ADD_RULE = """
const sheet = new CSSStyleSheet();
sheet.replaceSync(%s);
document.adoptedStyleSheets = [sheet];
"""
# Replacements in the page's source that break it, by the check that finds them.
_IN_SOURCES = {
    "weight": ("</footer>", f"<!-- {'abcdefghijklmnop' * 1024} --></footer>"),
    "HTML": ('<html lang="de"', '<html lang="de" border="1"'),
    "asked, inline, loose end": ("Zum Inhalt springen", "Zum Inhalt springen<script>1</script>"),
    "action": ('class="primary"', 'class="secondary"'),
    "English HTML": ('<html lang="en"', '<html lang="en" border="1"'),
    "English language": ('<html lang="en"', '<html lang="de"'),
    "asked": ("</footer>", '<img src="http://127.0.0.2:9/x.png" alt=""></footer>'),
}


@pytest.mark.parametrize("judges", _IN_STYLES)
async def test_a_fault_of_layout_is_found(
    visit: Visit, html_checker: HtmlChecker, judges: str
) -> None:
    await visit.page.add_init_script(_ADD_RULE % json.dumps(_IN_STYLES[judges]))
    await STATES["claim"](visit)

    found = await list_faults(visit, html_checker, "claim")
    found += await list_faults_in_english(visit, html_checker)

    assert _name_judges(found) == judges, found


@pytest.mark.parametrize("judges", _IN_SOURCES)
async def test_a_fault_of_content_is_found(
    return_visit: Visit, html_checker: HtmlChecker, judges: str
) -> None:
    visit = return_visit

    async def replace(route: Route) -> None:
        answer = await route.fetch()
        changed = (await answer.text()).replace(*_IN_SOURCES[judges])
        await route.fulfill(response=answer, body=changed)

    await STATES["claim"](visit)
    await visit.page.route("**/claim?*", replace)
    await visit.page.goto(f"{visit.site.origin}/claim?")

    found = await list_faults(visit, html_checker, "claim")
    found += await list_faults_in_english(visit, html_checker)

    await visit.page.unroute_all()
    visit.forget()
    assert _name_judges(found) == judges, found


def _name_judges(found: list[str]) -> str:
    return ", ".join(sorted({each.partition(":")[0] for each in found}))
