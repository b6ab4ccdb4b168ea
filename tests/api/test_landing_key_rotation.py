"""Links, codes and open forms stay valid when the secret key is rotated."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.guarded_landing import a_guarded_landing, levels, read_sent_code
from tests.support.keys import harness_with_versions
from tests.support.landing import Browser, LandingHarness, read_hidden

_VERIFY = "/claim/verify/preferences"


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    async with a_guarded_landing(resources, clock) as landing:
        yield landing


def rotate(landing: LandingHarness) -> LandingHarness:
    """Return the same pages in processes with a new version of the key."""
    payments = replace(
        landing.payments, harness=harness_with_versions(landing.payments.harness, 2, 1)
    )
    application = an_application(payments.resources)
    application.providers.update(payments.providers)
    return replace(landing, payments=payments, app=application.app)


def move_browser(browser: Browser, landing: LandingHarness) -> Browser:
    """Return the same browser, with its cookie and open page, at these processes."""
    same = landing.visitor("192.0.2.1")
    same.http.cookies, same.page = httpx.Cookies(browser.http.cookies), browser.page
    return same


async def test_a_link_from_before_the_rotation_opens(landing: LandingHarness) -> None:
    link = await landing.give_link()
    page = await rotate(landing).visitor().open(link)
    assert "102,40" in page.text


async def test_letter_codes_from_before_and_after_the_rotation_open(
    landing: LandingHarness,
) -> None:
    rotated = rotate(landing)
    for code in [await landing.give_code(), await rotated.give_code()]:
        page = await rotated.visitor().type_code(code)
        assert (page.status_code, "102,40" in page.text) == (200, True)


async def test_a_session_and_its_form_stay_valid(landing: LandingHarness) -> None:
    await landing.open()
    browser = move_browser(landing.browser, rotate(landing))
    assert browser.page is not None
    fields = read_hidden(browser.page.text, "/claim/extend")
    again = move_browser(landing.browser, rotate(landing))
    answers = [await each.post("/claim/extend", **fields) for each in (browser, again)]
    assert [each.headers["Location"] for each in answers] == ["/claim", "/claim"]
    for each in (browser, again):
        assert (await each.get("/claim")).status_code == 200


async def test_a_form_sent_before_and_after_the_rotation_extends_once(
    landing: LandingHarness,
) -> None:
    page = await landing.open()
    fields = read_hidden(page.text, "/claim/extend")
    browser = move_browser(landing.browser, rotate(landing))
    first = await landing.browser.post("/claim/extend", **fields)
    second = await browser.post("/claim/extend", **fields)
    assert (first.status_code, second.status_code) == (303, 303)
    assert await landing.payments.audited("session.open") == 2


async def test_a_code_sent_before_the_rotation_is_valid_after_it(landing: LandingHarness) -> None:
    await landing.browser.type_code(await landing.give_code())
    await landing.browser.get(_VERIFY)
    await landing.browser.submit(f"{_VERIFY}/send")
    code, rotated = await read_sent_code(landing), rotate(landing)
    assert code != await read_sent_code(rotated)
    page = await move_browser(landing.browser, rotated).submit(f"{_VERIFY}/code", code=code)
    assert page.url.path == "/claim/preferences"
    assert await levels(landing) == ["CODE"]


async def test_wrong_codes_are_counted_across_a_rotation(landing: LandingHarness) -> None:
    rotated = rotate(landing)
    for place in range(5):
        await (landing, rotated)[place % 2].visitor().type_code("ABCD-EFGH-JKMN")
    page = await rotated.visitor().type_code(await landing.give_code())
    assert "102,40" not in page.text
