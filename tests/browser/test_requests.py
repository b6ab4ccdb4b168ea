"""What the pages request, and injected content that their policy blocks."""

import pytest
from playwright.async_api import Browser

from tests.browser.browser_page import Visit, a_visit
from tests.browser.debtor_journey import DebtorJourney, Setting, Way
from tests.browser.page_checks import follow
from tests.browser.states import STATES

_STRANGER = "http://127.0.0.2:9"
# Injected content by the rule that it breaks, executed in a claim page.
_PLANTS = {
    "script-src": "document.body.append(Object.assign(document.createElement('script'), "
    "{textContent: 'document.title = 1'}))",
    "script-src-elem": "document.body.append(Object.assign(document.createElement('script'), "
    "{src: 'http://127.0.0.2:9/x.js'}))",
    "script-src-attr": "document.querySelector('main').setAttribute('onclick', '1'); "
    "document.querySelector('main').click()",
    "style-src": "document.body.append(Object.assign(document.createElement('style'), "
    "{textContent: 'body { display: none }'}))",
    "img-src": "document.body.append(Object.assign(document.createElement('img'), "
    "{src: 'http://127.0.0.2:9/x.png'}))",
    "form-action": "const form = document.createElement('form'); "
    "form.action = 'http://127.0.0.2:9/'; document.body.append(form); form.submit()",
    "connect-src": "fetch('/claim').catch(() => 0)",
    "base-uri": "document.head.append(Object.assign(document.createElement('base'), "
    "{href: 'http://127.0.0.2:9/'}))",
    "frame-src": "document.body.append(Object.assign(document.createElement('iframe'), "
    "{src: '/claim'}))",
}


async def test_a_whole_journey_requests_only_our_own_origin(
    chromium: Browser, setting: Setting
) -> None:
    kinds, hosts = set(), set()
    async with a_visit(chromium, setting.site) as visit:
        debtor = DebtorJourney(visit, Way("de", 390, scripts=True))
        visit.page.on("request", lambda asked: kinds.add(asked.resource_type))
        visit.page.on("request", lambda asked: hosts.add(asked.url.split("/")[2]))
        await debtor.type_code()
        await debtor.press("Pay now")
        await debtor.press("Pay all of it")
        await debtor.press("Pay by bank transfer")
        await debtor.go("/claim/plan")
        await debtor.go("/claim/dispute/AMOUNT_WRONG")
        await debtor.go("/claim/preferences")
        await debtor.press("End session")

    assert hosts == {setting.site.origin.removeprefix("http://")}
    # A browser with a window also requests the icon, with the kind "other".
    assert kinds - {"other"} == {"document", "stylesheet", "image", "script"}


# A promise that waits for up to five seconds, because the policy forbids evaluating code in the
# page.
_WAIT = """() => new Promise(done => {
    let looks = 0;
    const look = () => window.stopped.length || ++looks > 500 ? done() : setTimeout(look, 10);
    look();
})"""


@pytest.mark.parametrize("directive", _PLANTS)
async def test_injected_markup_has_no_effect(visit: Visit, directive: str) -> None:
    await STATES["claim"](visit)
    await visit.page.evaluate(
        """() => { window.stopped = []; addEventListener('securitypolicyviolation',
                   event => window.stopped.push(event.effectiveDirective)) }"""
    )

    await visit.page.evaluate(f"() => {{ {_PLANTS[directive]} }}")
    await visit.page.evaluate(_WAIT)
    stopped = await visit.page.evaluate("window.stopped")
    complaints, visit.complaints = visit.complaints, []
    visit.origins.discard(_STRANGER)  # The request was blocked.

    assert [each.removesuffix("-elem") for each in stopped] == [directive.removesuffix("-elem")]
    assert all("Content Security Policy" in each for each in complaints)


async def test_errors_in_the_browser_console_are_noticed(visit: Visit) -> None:
    await visit.page.goto(visit.site.origin + "/q")
    await follow(visit.page.get_by_role("link", name="English"))

    await visit.page.evaluate("() => { console.error('a script failed') }")
    complaints, visit.complaints = visit.complaints, []

    assert complaints == ["a script failed"]
