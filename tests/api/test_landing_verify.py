"""Raising the level of a session with a known fact, a letter's code, or a sent code."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from dunwell.contact.notices.notice import REPEATED_WITHIN
from dunwell.interfaces.landing.session.session import Level
from dunwell.interfaces.landing.session.store import find_session, save_raised_level
from dunwell.platform.clock import MovableClock
from dunwell.platform.crypto import sha256
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import a_guarded_landing, levels, list_notices, read_sent_code
from tests.support.landing import LandingHarness, read_hidden

_VERIFY = "/claim/verify/claim"
_CODE = "/claim/verify/preferences"


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """A merchant whose links open without a proof."""
    async with a_guarded_landing(resources, clock) as landing:
        yield landing


async def _enter_fact(landing: LandingHarness, fact: str = "20095") -> Any:
    await landing.browser.get(_VERIFY)
    return await landing.browser.submit(_VERIFY, fact=fact)


async def _have_code_sent(landing: LandingHarness) -> str:
    await landing.browser.get(_CODE)
    await landing.browser.submit(f"{_CODE}/send")
    return await read_sent_code(landing)


async def test_a_known_fact_shows_the_items(landing: LandingHarness) -> None:
    before = await landing.open()
    after = await _enter_fact(landing)

    assert "So setzt sich der Betrag zusammen" in after.text
    assert ("<table" in before.text, "<table" in after.text) == (False, True)
    assert await levels(landing) == ["FACT"]


async def test_a_letters_code_shows_the_items(landing: LandingHarness) -> None:
    await landing.open()
    code = await landing.give_code()
    await landing.browser.get(_VERIFY)

    page = await landing.browser.submit(f"{_VERIFY}/letter", code=code.lower())

    assert (page.status_code, page.url.path) == (200, "/claim")
    assert await levels(landing) == ["FACT"]


async def test_another_claims_letter_code_is_wrong(
    landing: LandingHarness, clock: MovableClock
) -> None:
    [other] = await landing.payments.harness.create("INV-OTHER")
    await landing.open()
    await landing.browser.get(_VERIFY)

    pages = []
    for code in (await landing.give_code(other), "0000-0000-0000"):
        pages.append(await landing.browser.submit(f"{_VERIFY}/letter", code=code))
        clock.advance(timedelta(seconds=1))

    assert {page.status_code for page in pages} == {422}
    assert len({page.text for page in pages}) == 1
    assert await levels(landing) == ["LINK"]


async def test_a_code_sent_to_the_address_on_file_shows_all_details(
    landing: LandingHarness,
) -> None:
    await landing.open()
    code = await _have_code_sent(landing)

    answer = await landing.browser.post(f"{_CODE}/code", **_hidden(landing), code=code)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/preferences")
    assert await levels(landing) == ["CODE"]
    [notice] = await list_notices(landing)
    assert (notice["channel"], notice["recipient"]) == ("EMAIL", "erika@example.org")


async def test_a_raised_session_keeps_its_id_and_gets_another_cookie(
    landing: LandingHarness,
) -> None:
    await landing.open()
    first = landing.browser.cookie
    await _enter_fact(landing)
    second = landing.browser.cookie
    code = await _have_code_sent(landing)
    await landing.browser.submit(f"{_CODE}/code", code=code)

    assert len({first, second, landing.browser.cookie}) == 3
    [details] = await landing.accesses()
    [row] = await landing.payments.harness.rows(
        "SELECT session_id::text FROM debtor_sessions WHERE merchant_id = $1"
    )
    assert details["sessionId"] == row["session_id"]
    for stale in (first, second):
        page = await landing.visitor().get("/claim", headers={"Cookie": f"dunwell={stale}"})
        assert page.status_code == 403
    audited = [await landing.payments.audited(f"session.{each}") for each in ("open", "raise")]
    assert audited == [1, 2]


async def test_a_fact_or_a_letters_code_does_not_lower_the_level(landing: LandingHarness) -> None:
    await landing.open()
    code = await _have_code_sent(landing)
    await landing.browser.submit(f"{_CODE}/code", code=code)
    cookie, token = landing.browser.cookie, _hidden(landing)

    answers = [
        await landing.browser.post(_VERIFY, **token, fact="20095"),
        await landing.browser.post(f"{_VERIFY}/letter", **token, code=await landing.give_code()),
    ]

    assert [each.headers.get("Location") for each in answers] == ["/claim"] * 2
    assert landing.browser.cookie == cookie
    assert await levels(landing) == ["CODE"]


@pytest.mark.parametrize("level", list(Level))
async def test_no_session_is_stored_at_a_lower_level(landing: LandingHarness, level: Level) -> None:
    await landing.open()
    await _enter_fact(landing)
    cookie, new_hash = landing.browser.cookie, b"n" * 32
    assert cookie is not None
    async with landing.payments.resources.database.transaction() as tx:
        session = await find_session(tx, sha256(cookie.encode()))
        assert session is not None
        is_raised = await save_raised_level(tx, session, new_hash, level, landing.payments.now)

    assert is_raised is (level is Level.CODE)
    assert await levels(landing) == [max(level, Level.FACT, key=list(Level).index)]


async def test_raising_the_level_does_not_extend_the_session(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    clock.advance(timedelta(minutes=50))
    await _enter_fact(landing)
    clock.advance(timedelta(minutes=11))
    assert (await landing.browser.get("/claim")).status_code == 403


async def test_a_level_that_is_reached_is_not_requested_again(landing: LandingHarness) -> None:
    await landing.browser.type_code(await landing.give_code())
    cookie = landing.browser.cookie

    answer = await landing.browser.get("/claim/verify/documents")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/documents")
    assert landing.browser.cookie == cookie


@pytest.mark.parametrize(
    "name", ["//evil.example", "https://evil.example", "../q", "", "x" * 3000, "%0d%0aX:1", "end"]
)
async def test_verification_redirects_only_to_our_pages(landing: LandingHarness, name: str) -> None:
    await landing.open()

    asked = await landing.browser.get("/claim/verify", params={"for": name, "lang": "en"})
    page = await landing.browser.get(asked.headers["Location"])

    assert asked.headers["Location"] == "/claim/verify/claim?lang=en"
    assert 'action="/claim/verify/claim?lang=en"' in page.text


async def test_an_unknown_name_in_the_path_redirects_to_the_claim(landing: LandingHarness) -> None:
    await landing.open()
    page = await landing.browser.get("/claim/verify/evil.example")
    assert "evil.example" not in page.text
    assert 'action="/claim/verify/claim"' in page.text


@pytest.mark.parametrize(("seconds", "level"), [(599, "CODE"), (600, "LINK")])
async def test_a_code_works_for_ten_minutes(
    landing: LandingHarness, clock: MovableClock, seconds: int, level: str
) -> None:
    await landing.open()
    code = await _have_code_sent(landing)
    clock.advance(timedelta(seconds=seconds))

    await landing.browser.submit(f"{_CODE}/code", code=code)

    assert await levels(landing) == [level]


async def test_only_the_newest_code_is_valid(landing: LandingHarness, clock: MovableClock) -> None:
    await landing.open()
    old = await _have_code_sent(landing)
    clock.advance(REPEATED_WITHIN)
    new = await _have_code_sent(landing)

    assert (await landing.browser.submit(f"{_CODE}/code", code=old)).status_code == 422
    await landing.browser.submit(f"{_CODE}/code", code=new)
    assert await levels(landing) == ["CODE"]


async def test_a_code_works_once(landing: LandingHarness) -> None:
    link = await landing.give_link()
    await landing.browser.open(link)
    code = await _have_code_sent(landing)
    await landing.browser.submit(f"{_CODE}/code", code=code)
    landing.browser = landing.visitor()
    await landing.open()
    await landing.browser.get(f"{_CODE}/code")

    page = await landing.browser.submit(f"{_CODE}/code", code=code)

    assert page.status_code == 422
    assert sorted(await levels(landing)) == ["CODE", "LINK"]


async def test_at_most_five_codes_are_sent_in_an_hour(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    for _ in range(5):
        code = await _have_code_sent(landing)
        clock.advance(REPEATED_WITHIN)
    await landing.browser.get(_CODE)
    refused = await landing.browser.submit(f"{_CODE}/send")

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "3550")
    assert "Bitte verwenden Sie den neuesten." in refused.text
    assert len(await list_notices(landing)) == 5
    await landing.browser.get(f"{_CODE}/code")
    await landing.browser.submit(f"{_CODE}/code", code=code)
    assert await levels(landing) == ["CODE"]


async def test_without_an_address_on_file_a_phone_number_is_shown(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_landing(resources, clock, email=None) as landing:
        await landing.open()
        page = await landing.browser.get(_CODE)
        sent = await landing.browser.post(f"{_CODE}/send", **_hidden(landing))

        assert page.text.count('href="tel:+49401234560"') == 2
        assert sent.status_code == 303
        assert await list_notices(landing) == []


def _hidden(landing: LandingHarness) -> dict[str, str]:
    assert landing.browser.page is not None
    return read_hidden(landing.browser.page.text, "/claim/end")
