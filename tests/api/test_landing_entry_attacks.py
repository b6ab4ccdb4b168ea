"""Attacks on opening a claim: guessing, other claims, replay and hostile texts."""

import asyncio
import html
import re
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest

from dunwell.interfaces.landing.sign_in.visitor_limits import digest_visitor
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import (
    ON_FILE,
    a_guarded_landing,
    levels,
    list_notices,
    read_sent_code,
    send_links,
)
from tests.support.landing import OWN_FORM, Browser, LandingHarness, read_hidden

_EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7777777*3 }}%(name)s"
_CODE = "/claim/verify/preferences"


async def _post_all(
    landing: LandingHarness, path: str, fields: list[dict[str, str]], cookie: str | None = None
) -> Counter[int]:
    """Send the forms concurrently, each from its own address, and return the responses."""
    headers = OWN_FORM if cookie is None else {**OWN_FORM, "Cookie": f"dunwell={cookie}"}
    answers = await asyncio.gather(
        *(
            landing.visitor(f"203.0.113.{number}").http.post(path, data=each, headers=headers)
            for number, each in enumerate(fields)
        )
    )
    return Counter(answer.status_code for answer in answers)


async def test_forty_concurrent_facts_are_five_attempts(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "POSTAL_CODE") as landing:
        link = await landing.give_link()
        guesses = [{"fact": f"{10000 + number}"} for number in range(40)]
        assert await _post_all(landing, link, guesses) == {422: 5, 429: 35}


async def test_forty_concurrent_codes_are_five_attempts_and_invalidate_the_code(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link = await landing.give_link()
        await landing.browser.post(f"{link}/send")
        code = await read_sent_code(landing)
        guesses = [{"code": f"{number:06}"} for number in range(40) if f"{number:06}" != code]

        answered = await _post_all(landing, f"{link}/code", guesses)
        right = await landing.browser.post(f"{link}/code", code=code)

        assert answered == {422: 5, 429: len(guesses) - 5}
        assert right.status_code == 429
        clock.advance(timedelta(minutes=30))
        assert (await landing.browser.post(f"{link}/code", code=code)).status_code == 422
        assert await levels(landing) == []


async def test_concurrent_use_of_one_code_raises_one_session_once(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock) as landing:
        await landing.open()
        fields = await _have_code_sent(landing)
        cookie = landing.browser.cookie

        answered = await _post_all(landing, f"{_CODE}/code", [fields] * 8, cookie)

        # Requests before the raise count as one double click. None raises a second session.
        assert set(answered) <= {303, 403}
        assert await levels(landing) == ["CODE"]
        assert await landing.payments.audited("session.raise") == 1
        assert len(await landing.accesses()) == 1


async def test_a_used_code_of_a_link_opens_nothing_for_other_visitors(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link = await landing.give_link()
        await landing.browser.post(f"{link}/send")
        code = await read_sent_code(landing)
        await landing.browser.post(f"{link}/code", code=code)

        stranger = landing.visitor("203.0.113.50")
        answers = [await stranger.post(f"{link}/code", code=code) for _ in range(6)]

        assert [each.status_code for each in answers] == [422] * 6
        assert not any("set-cookie" in each.headers for each in answers)
        assert await levels(landing) == ["CODE"]
        assert len(await landing.accesses()) == 1


async def test_concurrent_use_of_a_links_code_opens_one_session(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link = await landing.give_link()
        await landing.browser.post(f"{link}/send")
        fields = {"code": await read_sent_code(landing)}

        assert await _post_all(landing, f"{link}/code", [fields] * 8) == {303: 1, 422: 7}
        assert await levels(landing) == ["CODE"]
        assert len(await landing.accesses()) == 1


async def test_a_code_does_not_open_another_claim(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        [second] = await landing.payments.harness.create("INV-2", **ON_FILE)
        mine, other = await landing.give_link(), await landing.give_link(claim_id=second)
        await landing.browser.post(f"{mine}/send")
        code = await read_sent_code(landing)
        await landing.browser.post(f"{other}/send")

        assert (await landing.browser.post(f"{other}/code", code=code)).status_code == 422
        assert (await landing.browser.post(f"{mine}/code", code=code)).status_code == 303


async def test_another_sessions_code_raises_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock) as landing:
        [second] = await landing.payments.harness.create("INV-2", **ON_FILE)
        stranger = landing.visitor()
        await stranger.open(await landing.give_link(claim_id=second))
        await landing.open()
        code = (await _have_code_sent(landing))["code"]
        page = await stranger.get(f"{_CODE}/code")
        token = read_hidden(page.text, f"{_CODE}/code")

        answer = await stranger.post(f"{_CODE}/code", **token, code=code)

        assert answer.status_code == 422
        assert sorted(await levels(landing)) == ["LINK", "LINK"]


async def test_a_cookie_from_before_a_raised_level_is_invalid(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock) as landing:
        await landing.open()
        copied = landing.browser.cookie
        await landing.browser.get("/claim/verify/claim")
        await landing.browser.submit("/claim/verify/claim", fact="20095")

        thief = landing.visitor()
        stolen = {"Cookie": f"dunwell={copied}"}
        pages = [await thief.get(path, headers=stolen) for path in ("/claim", "/claim/documents")]

        assert all("Nordwind" not in page.text for page in pages)
        assert pages[0].status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "localhost:4711"},
        {"X-Forwarded-Host": "evil.example"},
        {"X-Forwarded-For": "198.51.100.99", "X-Real-IP": "198.51.100.99"},
        {"Forwarded": "for=198.51.100.99;host=evil.example;proto=https"},
        {"X-Original-URL": "/claim", "X-Rewrite-URL": "/claim"},
    ],
)
async def test_forged_headers_do_not_change_redirects(
    resources: Resources, clock: MovableClock, headers: dict[str, str]
) -> None:
    async with a_guarded_landing(resources, clock) as landing:
        link = await landing.give_link()
        page = await landing.browser.get(link, headers=headers)
        opened = await landing.browser.http.post(link, headers={**OWN_FORM, **headers})
        asked = {"reference": "INV-1001", "contact": "erika@example.org"}
        await landing.browser.http.post("/q/new-link", data=asked, headers={**OWN_FORM, **headers})
        await send_links(landing)
        [notice] = await list_notices(landing)

    for hostile in ("evil.example", "localhost:4711"):
        assert hostile not in page.text + notice["body_text"]
        assert hostile not in str(opened.headers)
    assert opened.headers["Location"] == "/claim"
    assert "http://127.0.0.1:8000/q/" in notice["body_text"]


async def test_a_forged_proxy_header_does_not_make_another_visitor(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock) as landing:
        statuses = [
            (await _type_from(landing.browser, f"198.51.100.{number}")).status_code
            for number in range(6)
        ]
    assert statuses == [422] + [429] * 5


@pytest.mark.parametrize("token", ["%C3%A4", "a%20b", "a%0d%0aX:1", "a%3Fx", "%00", "%ff"])
@pytest.mark.parametrize("page", ["", "/send", "/code"])
async def test_an_impossible_token_is_a_dead_link(
    resources: Resources, clock: MovableClock, token: str, page: str
) -> None:
    async with a_guarded_landing(resources, clock) as landing:
        answer = await landing.browser.get(f"/q/{token}{page}")
    assert (answer.status_code, answer.headers.get("Location")) == (410, None)


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.9", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
    ],
)
def test_a_visitor_is_an_ipv4_address_or_an_ipv6_network(
    resources: Resources, one: str, other: str, *, is_same: bool
) -> None:
    keys = resources.keys
    assert (digest_visitor(keys, one) == digest_visitor(keys, other)) is is_same


async def test_hostile_texts_are_escaped(resources: Resources, clock: MovableClock) -> None:
    async with a_guarded_landing(resources, clock, "CUSTOMER_NUMBER") as landing:
        await landing.payments.harness.rows(
            "UPDATE merchants SET name = $2, revision = revision + 1 WHERE merchant_id = $1", _EVIL
        )
        link = await landing.give_link()
        browser = landing.browser
        pages = [
            await browser.get(link),
            await browser.post(link, fact=_EVIL),
            await browser.post("/real", code=_EVIL, amount=_EVIL),
            await browser.post("/q/new-link", reference=_EVIL, contact=""),
            await browser.get("/claim/verify", params={"for": _EVIL}),
        ]

    assert not any(re.search(r"<script>|<img src=x|23333331", page.text) for page in pages)
    assert _EVIL in html.unescape(pages[0].text)


async def test_link_scanners_send_no_code_and_open_nothing(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, "CODE") as landing:
        link = await landing.give_link()
        for number in range(20):
            method = ("GET", "HEAD")[number % 2]
            path = (link, f"{link}/send", f"{link}/code", "/q/new-link")[number % 4]
            answer = await landing.visitor().http.request(method, path)
            assert answer.headers.get("Set-Cookie") is None
            assert not re.search(r"102,40|INV-1001|Mustermann|Erika|erika@", answer.text)

        assert await list_notices(landing) == []
        assert await landing.accesses() == []


async def _type_from(browser: Browser, address: str) -> Any:
    return await browser.http.post(
        "/q", data={"code": "0000-0000-0000"}, headers={**OWN_FORM, "X-Forwarded-For": address}
    )


async def _have_code_sent(landing: LandingHarness) -> dict[str, str]:
    """Send a code and return the form that enters it."""
    await landing.browser.get(_CODE)
    page = await landing.browser.submit(f"{_CODE}/send")
    return {
        **read_hidden(page.text, f"{_CODE}/code"), "code": await read_sent_code(landing),
    }  # fmt: skip
