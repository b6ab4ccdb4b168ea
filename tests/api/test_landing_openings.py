"""Opening a link: once for a double click, back into a live session, and its limits."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from tests.support.application import an_application, connect
from tests.support.landing import OWN_FORM, Browser, Doorstep
from tests.support.ways import levels

_APART = timedelta(seconds=11)


async def test_one_visitor_can_open_a_link_ten_times_an_hour(
    doorstep: Doorstep, clock: MovableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    link, statuses = await doorstep.give_link(), []
    for _ in range(60):
        statuses.append((await doorstep.visitor().post(link)).status_code)
        clock.advance(_APART)

    assert statuses == [303] * 10 + [429] * 50
    assert len(await doorstep.accesses()) == 10
    assert capsys.readouterr().out.count("LINK_LOCKED") == 50
    other = await doorstep.visitor("203.0.113.5").post(link)
    assert other.status_code == 303
    # An hour after the first opening.
    clock.advance(timedelta(hours=1, microseconds=-1) - 60 * _APART)
    assert (await doorstep.visitor().post(link)).status_code == 429
    clock.advance(timedelta(microseconds=1))
    assert (await doorstep.visitor().post(link)).status_code == 303


@pytest.mark.parametrize(("seconds", "openings"), [(9.999999, 1), (10, 2)])
async def test_clicks_within_ten_seconds_count_as_one_opening(
    doorstep: Doorstep, clock: MovableClock, seconds: float, openings: int
) -> None:
    link = await doorstep.give_link()
    await doorstep.visitor().post(link)
    clock.advance(timedelta(seconds=seconds))
    assert (await doorstep.visitor().post(link)).status_code == 303
    assert len(await doorstep.accesses()) == openings


async def test_all_visitors_can_open_a_link_thirty_times_an_hour(
    doorstep: Doorstep,
) -> None:
    link = await doorstep.give_link()
    pages = [await doorstep.visitor(f"203.0.{n}.1").post(link) for n in range(31)]
    assert [page.status_code for page in pages] == [303] * 30 + [429]
    assert int(pages[30].headers["Retry-After"]) == 3600
    assert "sehr oft geöffnet" in pages[30].text
    assert (await doorstep.visitor().post(await doorstep.give_link())).status_code == 303


async def test_the_same_link_returns_to_its_session_at_its_level(
    doorstep: Doorstep,
) -> None:
    link = await doorstep.give_link()
    await doorstep.browser.open(link)
    cookie = doorstep.browser.cookie

    again = await doorstep.browser.post(link)

    assert (again.status_code, again.headers["Location"]) == (303, "/claim")
    assert "Set-Cookie" not in again.headers
    assert doorstep.browser.cookie == cookie
    assert len(await doorstep.accesses()) == 1
    assert await levels(doorstep) == ["LINK"]


async def test_another_link_of_the_claim_opens_a_new_session(doorstep: Doorstep) -> None:
    await doorstep.browser.open(await doorstep.give_link())
    await doorstep.browser.open(await doorstep.give_link("SMS"))
    assert [each["communicationType"] for each in await doorstep.accesses()] == ["EMAIL", "SMS"]


async def test_a_link_does_not_return_to_an_ended_session(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    link = await doorstep.give_link()
    await doorstep.browser.open(link)
    clock.advance(timedelta(hours=1))
    again = await doorstep.browser.post(link)
    assert "Set-Cookie" in again.headers
    assert len(await doorstep.accesses()) == 2


async def test_concurrent_openings_in_two_processes_publish_one_event(doorstep: Doorstep) -> None:
    link = await doorstep.give_link()
    other = an_application(replace(doorstep.till.resources)).app
    browsers = [Browser(connect(app, "192.0.2.1")) for app in (doorstep.app, other)]

    answers = await asyncio.gather(
        *(browsers[n % 2].http.post(link, headers=OWN_FORM) for n in range(8))
    )

    assert {answer.status_code for answer in answers} == {303}
    # Each response has its own token of the same session, under the same cookie name.
    cookies = [answer.headers["Set-Cookie"].partition("=") for answer in answers]
    assert len({name for name, _, _ in cookies}) == 1
    assert len({value for _, _, value in cookies}) == 8
    rows = await doorstep.till.house.rows(
        "SELECT count(DISTINCT session_id) FROM debtor_sessions WHERE merchant_id = $1"
    )
    assert rows[0]["count"] == 1
    assert len(await doorstep.accesses()) == 1


@pytest.mark.parametrize("end", [".", ")", ").", "%29", ",", "%3E", "%E2%80%9D"])
async def test_a_link_followed_by_punctuation_opens(doorstep: Doorstep, end: str) -> None:
    link = await doorstep.give_link()
    page = await doorstep.browser.get(link + end)
    assert page.status_code == 200
    assert f'action="{link}"' in page.text
    assert (await doorstep.browser.post(link + end)).status_code == 303


async def test_a_concurrent_opening_by_another_visitor_is_another_session(
    doorstep: Doorstep,
) -> None:
    link = await doorstep.give_link()
    pages = [await doorstep.visitor(host).post(link) for host in ("192.0.2.1", "192.0.2.2")]
    assert len({page.headers["Set-Cookie"] for page in pages}) == 2
    assert len(await doorstep.accesses()) == 2
