"""Attacks on the debtor pages: scanners, guessing, replay, hostile names and headers."""

import asyncio
import html
import re
from dataclasses import replace
from typing import Any

import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import OWN_FORM, LandingHarness, a_landing

_SCANNERS: list[tuple[str, dict[str, str]]] = [
    (method, headers)
    for method in ("GET", "HEAD")
    for headers in (
        {"User-Agent": "Mozilla/5.0 (compatible; Barracuda Sentinel)"},
        {"User-Agent": "Mozilla/5.0 (Windows NT 10.0) SafeLinks"},
        {"Sec-Purpose": "prefetch"},
        {"Purpose": "prefetch"},
        {"X-Purpose": "preview"},
        {"Sec-Purpose": "prefetch;prerender"},
        {"User-Agent": "WhatsApp/2.23"},
        {"User-Agent": "facebookexternalhit/1.1"},
        {"Accept": "image/*"},
        {"Range": "bytes=0-100"},
    )
]
_EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>{{ 7777777*3 }}%(name)s"


async def test_link_scanners_publish_no_event_and_see_only_the_creditor(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()

    for method, headers in _SCANNERS:
        answer = await landing.visitor().http.request(method, link, headers=headers)
        assert answer.status_code == 200
        assert answer.headers.get("Set-Cookie") is None
        assert not re.search(r"102,40|INV-1001|Mustermann|E\.", answer.text)

    assert len(_SCANNERS) == 20
    assert await landing.accesses() == []
    assert await landing.payments.count("debtor_sessions") == 0


async def test_session_fixation_is_not_possible(landing: LandingHarness) -> None:
    planted = "A" * 43
    link = await landing.give_link()

    answer = await landing.visitor().http.post(
        link, headers={**OWN_FORM, "Cookie": f"dunwell={planted}"}
    )

    assert f"dunwell={planted}" not in answer.headers["Set-Cookie"]
    assert (await _try_cookie(landing, planted)).status_code == 403


@pytest.mark.parametrize(
    "value", ["", "x", "A" * 43, "A" * 44, "' OR 1=1 --", "%00", "\xff", "A" * 20_000]
)
async def test_an_invented_cookie_opens_nothing(landing: LandingHarness, value: str) -> None:
    await landing.open()
    answer = await _try_cookie(landing, value)
    assert answer.status_code == 403
    assert "Nordwind" not in answer.text


async def test_only_a_hash_of_the_cookie_is_stored(landing: LandingHarness) -> None:
    await landing.open()

    rows = await landing.payments.harness.rows(
        "SELECT row_to_json(s)::text AS row FROM debtor_sessions s WHERE merchant_id = $1"
    )

    cookie = landing.browser.cookie
    assert cookie is not None
    assert len(cookie) == 43
    assert cookie not in rows[0]["row"]


async def test_a_session_shows_only_its_own_claim(landing: LandingHarness) -> None:
    [other] = await landing.payments.harness.create("INV-OTHER")
    await landing.open()

    pages = [
        await landing.browser.get(path)
        for path in (
            f"/claim?claim_id={other}", f"/claim?claimId={other}", f"/claim/{other}",
            f"/claim/pay?claim_id={other}",
        )
    ]  # fmt: skip

    assert not any("INV-OTHER" in page.text for page in pages)


async def test_only_one_of_fifty_concurrent_codes_is_checked(landing: LandingHarness) -> None:
    visitor = landing.visitor()

    answers = await asyncio.gather(
        *(visitor.http.post("/q", data={"code": f"{n:012}"}, headers=OWN_FORM) for n in range(50))
    )

    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(422), statuses.count(429)) == (1, 49)


async def test_all_addresses_of_an_ipv6_network_count_as_one_visitor(
    landing: LandingHarness,
) -> None:
    statuses = [
        (await landing.visitor(f"2001:db8:1:2::{n}").type_code(f"{n:012}")).status_code
        for n in range(6)
    ]
    assert statuses == [422] + [429] * 5
    other = await landing.visitor("2001:db8:1:3::1").type_code("000000000000")
    assert other.status_code == 422


async def test_a_visitors_address_is_stored_only_as_a_digest(landing: LandingHarness) -> None:
    await landing.visitor("203.0.113.9").type_code("0000-0000-0000")

    async with landing.payments.resources.database.connection() as connection:
        [row] = await connection.fetch("SELECT * FROM rate_limits")

    assert b"203.0.113.9" not in row["subject_digest"]
    assert len(row["subject_digest"]) == 32


async def test_concurrent_guessing_logs_an_error_for_every_hundred_wrong_codes(
    landing: LandingHarness, capsys: pytest.CaptureFixture[str]
) -> None:
    at_once, before = asyncio.Semaphore(40), await _count_wrong(landing)

    async def guess(number: int) -> int:
        async with at_once:
            visitor = landing.visitor(f"203.{number // 200}.{number % 200}.1")
            return (await visitor.type_code(f"{number:012}")).status_code

    statuses = await asyncio.gather(*(guess(number) for number in range(250)))

    assert set(statuses) == {422}
    logged = re.findall(
        r"possible guessing of letter codes.*?count\D+(\d+)", capsys.readouterr().out
    )
    assert logged == ["100", "200"]
    assert await _count_wrong(landing) - before == 250


@pytest.mark.parametrize(
    "lang", ["de%0d%0aSet-Cookie:%20a=b", "de\u2028", "../../x", "<b>", "de" * 5000]
)
async def test_a_language_cannot_inject_a_header(landing: LandingHarness, lang: str) -> None:
    link = await landing.give_link()

    answer = await landing.browser.http.post(f"{link}?lang={lang}", headers=OWN_FORM)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim")
    assert "a=b" not in answer.headers["Set-Cookie"]


async def test_names_are_escaped(resources: Resources, clock: MovableClock) -> None:
    debtor: dict[str, Any] = {
        "debtorName": _EVIL, "debtorLastName": _EVIL, "companyName": _EVIL,
        "items": [{"reference": _EVIL, "type": "PRIMARY", "value": "100"}],
    }  # fmt: skip
    async with a_landing(resources, clock, debtor=debtor) as landing:
        await landing.payments.harness.rows(
            "UPDATE merchants SET name = $2, revision = revision + 1 WHERE merchant_id = $1", _EVIL
        )
        await landing.payments.harness.rows(
            "UPDATE claims SET reference_number = $2 WHERE merchant_id = $1", _EVIL
        )
        link = await landing.give_link()
        pages = [await landing.browser.get(link)]
        pages.append(await landing.browser.type_code(await landing.give_code()))
        pages += [await landing.browser.get(path) for path in ("/claim/pay", "/claim/notices")]

    for page in pages:
        assert page.status_code == 200
        assert not re.search(r"<script>|<img src=x|23333331", page.text)
        assert _EVIL in html.unescape(page.text)


async def test_over_https_the_cookie_is_bound_to_the_host(
    resources: Resources, clock: MovableClock
) -> None:
    settings = replace(resources.settings, public_url="https://pay.example")
    secure = replace(resources, settings=settings)
    async with a_landing(secure, clock) as landing:
        answer = await landing.browser.http.post(await landing.give_link(), headers=OWN_FORM)
        given = answer.headers["Set-Cookie"]
        cookie, *flags = given.split("; ")
        page = await landing.visitor().get("/claim", headers={"Cookie": cookie})
        plain = cookie.replace("__Host-", "")
        unprefixed = await landing.visitor().get("/claim", headers={"Cookie": plain})

    assert cookie.startswith("__Host-dunwell=")
    assert sorted(flags) == ["HttpOnly", "Path=/", "SameSite=Lax", "Secure"]
    assert (page.status_code, unprefixed.status_code) == (200, 403)


async def _try_cookie(landing: LandingHarness, value: str) -> Any:
    header = b"dunwell=" + value.encode("latin-1")
    return await landing.visitor().get("/claim", headers=[(b"Cookie", header)])


async def _count_wrong(landing: LandingHarness) -> float:
    text = (await landing.browser.get("/metrics")).text
    found = re.search(r"^dunwell_landing_wrong_codes_total (\S+)$", text, re.MULTILINE)
    assert found is not None
    return float(found[1])
