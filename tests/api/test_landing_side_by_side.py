"""Several claims in one browser: each has its own handle, and no form reaches another claim."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from dunwell.interfaces.landing.session.session import HANDLE, MAX_OPEN_CLAIMS
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import connect
from tests.support.guarded_landing import levels
from tests.support.landing import OWN_FORM, Browser, LandingHarness, a_landing, read_hidden

_OBJECTING = "dispute/NOT_MY_DEBT?lang=en"
_DISPUTED = "SELECT claim_id FROM disputes WHERE merchant_id = $1"


def a_browser(landing: LandingHarness) -> Browser:
    return Browser(connect(landing.app, "192.0.2.1"))


async def open_link(browser: Browser, link: str) -> str:
    """Open the link and return the claim's address."""
    path = (await browser.open(link)).url.path
    assert re.fullmatch(f"/claim/{HANDLE}", path)
    return path


async def make_links(landing: LandingHarness, count: int) -> Sequence[str]:
    claim_ids = await landing.payments.harness.create(*(f"INV-{n}" for n in range(count)))
    return [await landing.give_link(claim_id=each) for each in claim_ids]


async def test_each_claim_has_its_own_address_and_cookie(landing: LandingHarness) -> None:
    browser = a_browser(landing)
    first, second = [await open_link(browser, each) for each in await make_links(landing, 2)]

    pages = [await browser.get(each) for each in (first, second, first)]

    assert ["INV-0" in page.text for page in pages] == [True, False, True]
    assert ["INV-1" in page.text for page in pages] == [False, True, False]
    assert {f"dunwell-{each.removeprefix('/claim/')}" for each in (first, second)} == {
        *browser.http.cookies
    }
    assert not re.search(rf'(?:href|action)="{second}', pages[0].text)


async def test_a_form_belongs_to_its_claim_whatever_other_tabs_did(landing: LandingHarness) -> None:
    browser, links = a_browser(landing), await make_links(landing, 2)
    first = await open_link(browser, links[0])
    form = f"{first}/{_OBJECTING}"
    hidden = read_hidden((await browser.get(form)).text, form)
    second = await open_link(browser, links[1])
    others = f"{second}/{_OBJECTING}"
    token = read_hidden((await browser.get(others)).text, others)["token"]
    parts = {name: (None, text) for name, text in (hidden | {"do": "send"}).items()}

    foreign = await browser.http.post(
        others.partition("?")[0], files=parts, headers=OWN_FORM | {"Sec-Fetch-Site": "cross-site"}
    )
    sent = await browser.http.post(form.partition("?")[0], files=parts, headers=OWN_FORM)

    assert token != hidden["token"]
    assert foreign.status_code == 403
    assert sent.headers["Location"].startswith(f"{first}/disputes/")
    [row] = await landing.payments.harness.rows(_DISPUTED)
    assert row["claim_id"] == min(await _claim_ids(landing, "INV-0"))


async def test_the_handle_stays_the_same_in_extended_raised_and_new_sessions(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser, link = a_browser(landing), await landing.give_link()
    path = await open_link(browser, link)

    extended = await browser.submit(f"{path}/extend")
    again = await open_link(browser, link)
    await browser.get(f"{path}/verify/claim")
    raised = await browser.submit(f"{path}/verify/claim/letter", code=await landing.give_code())
    by_another = await open_link(browser, await landing.give_link("SMS"))
    clock.advance(timedelta(hours=1))
    timed_out = await browser.get(path)
    reopened = await open_link(browser, link)

    assert [extended.url.path, raised.url.path] == [path, path]
    assert [again, by_another, reopened] == [path] * 3
    assert timed_out.status_code == 403
    assert len(browser.http.cookies) == 1


async def test_another_link_of_the_claim_keeps_the_level(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser = a_browser(landing)
    await browser.type_code(await landing.give_code())
    await open_link(browser, await landing.give_link())
    clock.advance(timedelta(hours=1))
    await open_link(browser, await landing.give_link())
    stranger = a_browser(landing)
    await stranger.open(await landing.give_link())

    assert await levels(landing) == ["FACT", "FACT", "LINK", "LINK"]


async def test_a_letters_code_returns_to_its_session(
    landing: LandingHarness,
) -> None:
    browser, code = a_browser(landing), await landing.give_code()
    first = await browser.type_code(code)
    again = await browser.type_code(code)
    assert first.url == again.url
    assert len(await landing.accesses()) == 1


async def open_nine(landing: LandingHarness, browser: Browser, clock: MovableClock) -> list[str]:
    """Return the claims' addresses, the oldest first."""
    paths = []
    for link in await make_links(landing, MAX_OPEN_CLAIMS + 1):
        paths.append(await open_link(browser, link))
        clock.advance(timedelta(minutes=1))
    assert MAX_OPEN_CLAIMS == 8
    return paths


async def test_a_ninth_claim_asks_before_it_closes_the_oldest(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser = a_browser(landing)
    paths = await open_nine(landing, browser, clock)

    asked = await browser.get(f"{paths[-1]}?lang=en")
    others = [await browser.get(path) for path in paths[:-1]]

    assert "Too many claims are open in this browser" in asked.text
    assert "INV-0" in asked.text
    assert "INV-8" not in asked.text
    assert "/pay" not in asked.text
    assert ["INV-" in page.text for page in others] == [True] * MAX_OPEN_CLAIMS
    assert len(browser.http.cookies) == MAX_OPEN_CLAIMS + 1


async def test_if_the_debtor_consents_the_oldest_claim_is_closed(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser = a_browser(landing)
    paths = await open_nine(landing, browser, clock)
    await browser.get(f"{paths[-1]}?lang=en")

    page = await browser.submit(f"{paths[-1]}/room?lang=en", do="open")

    assert "INV-8" in page.text
    pages = [await browser.get(path) for path in paths]
    assert [page.status_code for page in pages] == [403] + [200] * MAX_OPEN_CLAIMS
    assert "Please open the claim first" in (await browser.get(f"{paths[0]}?lang=en")).text
    assert len(browser.http.cookies) == MAX_OPEN_CLAIMS


async def test_if_the_debtor_declines_the_ninth_claim_is_closed(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser = a_browser(landing)
    paths = await open_nine(landing, browser, clock)
    await browser.get(f"{paths[-1]}?lang=en")

    page = await browser.submit(f"{paths[-1]}/room?lang=en", do="back")

    assert "INV-7" in page.text
    pages = [await browser.get(path) for path in paths]
    assert [page.status_code for page in pages] == [200] * MAX_OPEN_CLAIMS + [403]
    assert len(browser.http.cookies) == MAX_OPEN_CLAIMS


async def test_without_an_answer_the_question_is_repeated(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser = a_browser(landing)
    paths = await open_nine(landing, browser, clock)
    [claim_id] = await landing.payments.harness.create("INV-tenth")
    tenth = await open_link(browser, await landing.give_link(claim_id=claim_id))

    pages = [await browser.get(f"{path}?lang=en") for path in (*paths, tenth)]
    assert ["Too many claims" in page.text for page in pages] == [False] * 8 + [True] * 2
    await browser.submit(f"{tenth}/room?lang=en", do="open")
    statuses = [(await browser.get(path)).status_code for path in (*paths, tenth)]
    assert statuses == [403, 403] + [200] * 8


async def test_sessions_that_timed_out_are_removed_first(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser, links = a_browser(landing), await make_links(landing, MAX_OPEN_CLAIMS + 1)
    first = await open_link(browser, links[0])
    second = await open_link(browser, links[1])
    clock.advance(timedelta(minutes=50))
    await browser.get(first)
    await browser.submit(f"{first}/extend")
    clock.advance(timedelta(minutes=11))
    for link in links[2:]:
        await open_link(browser, link)

    assert (await browser.get(first)).status_code == 200
    assert "Please open the claim" in (await browser.get(second)).text


async def test_an_address_without_a_handle_redirects_to_the_latest_claim(
    landing: LandingHarness, clock: MovableClock
) -> None:
    browser, links = a_browser(landing), await make_links(landing, 2)
    first = await open_link(browser, links[0])
    clock.advance(timedelta(minutes=1))
    second = await open_link(browser, links[1])
    before = await browser.get("/claim")
    below = await browser.get("/claim/pay/method?want=whole&lang=en&x=%0d%C3%A4")
    await browser.get(second)
    await browser.submit(f"{second}/end")
    after = await browser.get("/claim")

    assert (before.status_code, before.headers["Location"]) == (303, second)
    assert below.headers["Location"] == f"{second}/pay/method?want=whole&lang=en&x=%0d%C3%A4"
    assert after.headers["Location"] == first


@pytest.mark.parametrize("path", ["/claim", "/claim/pay", "/claim/abcdefghij", "/claim/dispute/X"])
async def test_without_an_open_claim_the_page_says_so(landing: LandingHarness, path: str) -> None:
    page = await a_browser(landing).get(path, headers={"Accept-Language": "en"})
    assert page.status_code == 403
    assert "Please open the claim first" in page.text


@pytest.mark.parametrize("path", ["/claim/nothing", "/claim/ABCDEFGHIJ", "/claim/abcdefghijk"])
async def test_an_invalid_handle_is_not_found(landing: LandingHarness, path: str) -> None:
    assert (await a_browser(landing).get(path)).status_code == 404


async def test_a_cookie_is_valid_for_its_handle_only(landing: LandingHarness) -> None:
    browser, links = a_browser(landing), await make_links(landing, 2)
    first, second = [await open_link(browser, each) for each in links]
    browser.http.cookies.delete(f"dunwell-{first.removeprefix('/claim/')}")

    assert (await browser.get(first)).status_code == 403
    assert (await browser.get(second)).status_code == 200


async def test_the_handle_reveals_nothing_about_the_claim(landing: LandingHarness) -> None:
    link = await landing.give_link()
    here = await open_link(a_browser(landing), link)
    there = await open_link(Browser(connect(landing.app, "203.0.113.9")), link)
    assert here != there


async def test_over_https_each_cookie_is_bound_to_the_host(
    resources: Resources, clock: MovableClock
) -> None:
    settings = replace(resources.settings, public_url="https://pay.example")
    async with a_landing(replace(resources, settings=settings), clock) as landing:
        answer = await a_browser(landing).http.post(await landing.give_link(), headers=OWN_FORM)

    cookie, *flags = answer.headers["Set-Cookie"].split("; ")
    handle = answer.headers["Location"].removeprefix("/claim/")
    assert cookie.startswith(f"__Host-dunwell-{handle}=")
    assert sorted(flags) == ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]


async def test_claims_of_two_merchants_can_be_open_together(
    resources: Resources, clock: MovableClock, landing: LandingHarness
) -> None:
    async with a_landing(resources, clock, key="other") as other:
        browser = a_browser(landing)
        paths = [await open_link(browser, await each.give_link()) for each in (landing, other)]
        for path in paths:
            await browser.get(path)
            await browser.submit(f"{path}/extend")

        assert [len(await each.accesses()) for each in (landing, other)] == [2, 2]


async def _claim_ids(landing: LandingHarness, reference: str) -> list[int]:
    rows = await landing.payments.harness.rows(
        "SELECT claim_id FROM claims WHERE merchant_id = $1 AND reference_number = $2", reference
    )
    return [row["claim_id"] for row in rows]
