"""Opening a link: once for a double click, back into a live session, and its limits."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.platform.clock import MovableClock
from tests.support.application import an_application, connect
from tests.support.guarded_landing import levels
from tests.support.landing import OWN_FORM, Browser, LandingHarness

_APART = timedelta(seconds=11)


async def test_one_visitor_can_open_a_link_ten_times_an_hour(
    landing: LandingHarness, clock: MovableClock, capsys: pytest.CaptureFixture[str]
) -> None:
    link, statuses = await landing.give_link(), []
    for _ in range(60):
        statuses.append((await landing.visitor().post(link)).status_code)
        clock.advance(_APART)

    assert statuses == [303] * 10 + [429] * 50
    assert len(await landing.accesses()) == 10
    assert capsys.readouterr().out.count("LINK_LOCKED") == 50
    other = await landing.visitor("203.0.113.5").post(link)
    assert other.status_code == 303
    # An hour after the first opening.
    clock.advance(timedelta(hours=1, microseconds=-1) - 60 * _APART)
    assert (await landing.visitor().post(link)).status_code == 429
    clock.advance(timedelta(microseconds=1))
    assert (await landing.visitor().post(link)).status_code == 303


@pytest.mark.parametrize(("seconds", "openings"), [(9.999999, 1), (10, 2)])
async def test_clicks_within_ten_seconds_count_as_one_opening(
    landing: LandingHarness, clock: MovableClock, seconds: float, openings: int
) -> None:
    link = await landing.give_link()
    await landing.visitor().post(link)
    clock.advance(timedelta(seconds=seconds))
    assert (await landing.visitor().post(link)).status_code == 303
    assert len(await landing.accesses()) == openings


async def test_all_visitors_can_open_a_link_thirty_times_an_hour(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    pages = [await landing.visitor(f"203.0.{n}.1").post(link) for n in range(31)]
    assert [page.status_code for page in pages] == [303] * 30 + [429]
    assert int(pages[30].headers["Retry-After"]) == 3600
    assert "sehr oft geöffnet" in pages[30].text
    assert (await landing.visitor().post(await landing.give_link())).status_code == 303


async def test_the_same_link_returns_to_its_session_at_its_level(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    await landing.browser.open(link)
    cookie = landing.browser.cookie

    again = await landing.browser.post(link)

    assert (again.status_code, again.headers["Location"]) == (303, "/claim")
    assert "Set-Cookie" not in again.headers
    assert landing.browser.cookie == cookie
    assert len(await landing.accesses()) == 1
    assert await levels(landing) == ["LINK"]


async def test_another_link_of_the_claim_opens_a_new_session(landing: LandingHarness) -> None:
    await landing.browser.open(await landing.give_link())
    await landing.browser.open(await landing.give_link("SMS"))
    assert [each["communicationType"] for each in await landing.accesses()] == ["EMAIL", "SMS"]


async def test_a_link_does_not_return_to_an_ended_session(
    landing: LandingHarness, clock: MovableClock
) -> None:
    link = await landing.give_link()
    await landing.browser.open(link)
    clock.advance(timedelta(hours=1))
    again = await landing.browser.post(link)
    assert "Set-Cookie" in again.headers
    assert len(await landing.accesses()) == 2


async def test_concurrent_openings_in_two_processes_publish_one_event(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    other = an_application(replace(landing.payments.resources)).app
    browsers = [Browser(connect(app, "192.0.2.1")) for app in (landing.app, other)]

    answers = await asyncio.gather(
        *(browsers[n % 2].http.post(link, headers=OWN_FORM) for n in range(8))
    )

    assert {answer.status_code for answer in answers} == {303}
    # Each response has its own token of the same session, under the same cookie name.
    cookies = [answer.headers["Set-Cookie"].partition("=") for answer in answers]
    assert len({name for name, _, _ in cookies}) == 1
    assert len({value for _, _, value in cookies}) == 8
    rows = await landing.payments.harness.rows(
        "SELECT count(DISTINCT session_id) FROM debtor_sessions WHERE merchant_id = $1"
    )
    assert rows[0]["count"] == 1
    assert len(await landing.accesses()) == 1


@pytest.mark.parametrize("end", [".", ")", ").", "%29", ",", "%3E", "%E2%80%9D"])
async def test_a_link_followed_by_punctuation_opens(landing: LandingHarness, end: str) -> None:
    link = await landing.give_link()
    page = await landing.browser.get(link + end)
    assert page.status_code == 200
    assert f'action="{link}"' in page.text
    assert (await landing.browser.post(link + end)).status_code == 303


async def test_each_visitor_who_opens_a_link_gets_a_separate_session(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    pages = [await landing.visitor(host).post(link) for host in ("192.0.2.1", "192.0.2.2")]
    assert len({page.headers["Set-Cookie"] for page in pages}) == 2
    assert len(await landing.accesses()) == 2
