"""Links, codes and open forms stay valid when the secret key is rotated."""

from collections.abc import AsyncIterator
from dataclasses import replace

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.keys import house_with_versions
from tests.support.landing import Browser, Doorstep, read_hidden
from tests.support.ways import a_guarded_doorstep, levels, read_sent_code

_VERIFY = "/claim/verify/preferences"


@pytest.fixture
async def doorstep(resources: Resources, clock: MovableClock) -> AsyncIterator[Doorstep]:
    async with a_guarded_doorstep(resources, clock) as doorstep:
        yield doorstep


def rotate(doorstep: Doorstep) -> Doorstep:
    """Return the same pages in processes with a new version of the key."""
    till = replace(doorstep.till, house=house_with_versions(doorstep.till.house, 2, 1))
    application = an_application(till.resources)
    application.providers.update(till.providers)
    return replace(doorstep, till=till, app=application.app)


def go_on(browser: Browser, doorstep: Doorstep) -> Browser:
    """Return the same browser, with its cookie and open page, at these processes."""
    same = doorstep.visitor("192.0.2.1")
    same.http.cookies, same.page = httpx.Cookies(browser.http.cookies), browser.page
    return same


async def test_a_link_from_before_the_rotation_opens(doorstep: Doorstep) -> None:
    link = await doorstep.give_link()
    page = await rotate(doorstep).visitor().open(link)
    assert "102,40" in page.text


async def test_letter_codes_from_before_and_after_the_rotation_open(doorstep: Doorstep) -> None:
    rotated = rotate(doorstep)
    for code in [await doorstep.give_code(), await rotated.give_code()]:
        page = await rotated.visitor().type_code(code)
        assert (page.status_code, "102,40" in page.text) == (200, True)


async def test_a_session_and_its_form_stay_valid(doorstep: Doorstep) -> None:
    await doorstep.open()
    browser = go_on(doorstep.browser, rotate(doorstep))
    assert browser.page is not None
    fields = read_hidden(browser.page.text, "/claim/extend")
    again = go_on(doorstep.browser, rotate(doorstep))
    answers = [await each.post("/claim/extend", **fields) for each in (browser, again)]
    assert [each.headers["Location"] for each in answers] == ["/claim", "/claim"]
    for each in (browser, again):
        assert (await each.get("/claim")).status_code == 200


async def test_a_form_sent_before_and_after_the_rotation_extends_once(doorstep: Doorstep) -> None:
    page = await doorstep.open()
    fields = read_hidden(page.text, "/claim/extend")
    browser = go_on(doorstep.browser, rotate(doorstep))
    first = await doorstep.browser.post("/claim/extend", **fields)
    second = await browser.post("/claim/extend", **fields)
    assert (first.status_code, second.status_code) == (303, 303)
    assert await doorstep.till.audited("session.open") == 2


async def test_a_code_sent_before_the_rotation_is_valid_after_it(doorstep: Doorstep) -> None:
    await doorstep.browser.type_code(await doorstep.give_code())
    await doorstep.browser.get(_VERIFY)
    await doorstep.browser.submit(f"{_VERIFY}/send")
    code, rotated = await read_sent_code(doorstep), rotate(doorstep)
    assert code != await read_sent_code(rotated)
    page = await go_on(doorstep.browser, rotated).submit(f"{_VERIFY}/code", code=code)
    assert page.url.path == "/claim/preferences"
    assert await levels(doorstep) == ["CODE"]


async def test_wrong_codes_are_counted_across_a_rotation(doorstep: Doorstep) -> None:
    rotated = rotate(doorstep)
    for place in range(5):
        await (doorstep, rotated)[place % 2].visitor().type_code("ABCD-EFGH-JKMN")
    page = await rotated.visitor().type_code(await doorstep.give_code())
    assert "102,40" not in page.text
