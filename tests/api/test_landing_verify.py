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
from tests.support.landing import Doorstep, read_hidden
from tests.support.ways import a_guarded_doorstep, levels, list_notices, read_sent_code

_VERIFY = "/claim/verify/claim"
_CODE = "/claim/verify/preferences"


@pytest.fixture
async def doorstep(resources: Resources, clock: MovableClock) -> AsyncIterator[Doorstep]:
    """A merchant whose links open without a proof."""
    async with a_guarded_doorstep(resources, clock) as doorstep:
        yield doorstep


async def _enter_fact(doorstep: Doorstep, fact: str = "20095") -> Any:
    await doorstep.browser.get(_VERIFY)
    return await doorstep.browser.submit(_VERIFY, fact=fact)


async def _have_code_sent(doorstep: Doorstep) -> str:
    await doorstep.browser.get(_CODE)
    await doorstep.browser.submit(f"{_CODE}/send")
    return await read_sent_code(doorstep)


async def test_a_known_fact_shows_the_items(doorstep: Doorstep) -> None:
    before = await doorstep.open()
    after = await _enter_fact(doorstep)

    assert "So setzt sich der Betrag zusammen" in after.text
    assert ("<table" in before.text, "<table" in after.text) == (False, True)
    assert await levels(doorstep) == ["FACT"]


async def test_a_letters_code_shows_the_items(doorstep: Doorstep) -> None:
    await doorstep.open()
    code = await doorstep.give_code()
    await doorstep.browser.get(_VERIFY)

    page = await doorstep.browser.submit(f"{_VERIFY}/letter", code=code.lower())

    assert (page.status_code, page.url.path) == (200, "/claim")
    assert await levels(doorstep) == ["FACT"]


async def test_another_claims_letter_code_is_wrong(doorstep: Doorstep, clock: MovableClock) -> None:
    [other] = await doorstep.till.house.create("INV-OTHER")
    await doorstep.open()
    await doorstep.browser.get(_VERIFY)

    pages = []
    for code in (await doorstep.give_code(other), "0000-0000-0000"):
        pages.append(await doorstep.browser.submit(f"{_VERIFY}/letter", code=code))
        clock.advance(timedelta(seconds=1))

    assert {page.status_code for page in pages} == {422}
    assert len({page.text for page in pages}) == 1
    assert await levels(doorstep) == ["LINK"]


async def test_a_code_sent_to_the_address_on_file_shows_all_details(doorstep: Doorstep) -> None:
    await doorstep.open()
    code = await _have_code_sent(doorstep)

    answer = await doorstep.browser.post(f"{_CODE}/code", **_hidden(doorstep), code=code)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/preferences")
    assert await levels(doorstep) == ["CODE"]
    [notice] = await list_notices(doorstep)
    assert (notice["channel"], notice["recipient"]) == ("EMAIL", "erika@example.org")


async def test_a_raised_session_keeps_its_id_and_gets_another_cookie(
    doorstep: Doorstep,
) -> None:
    await doorstep.open()
    first = doorstep.browser.cookie
    await _enter_fact(doorstep)
    second = doorstep.browser.cookie
    code = await _have_code_sent(doorstep)
    await doorstep.browser.submit(f"{_CODE}/code", code=code)

    assert len({first, second, doorstep.browser.cookie}) == 3
    [details] = await doorstep.accesses()
    [row] = await doorstep.till.house.rows(
        "SELECT session_id::text FROM debtor_sessions WHERE merchant_id = $1"
    )
    assert details["sessionId"] == row["session_id"]
    for stale in (first, second):
        page = await doorstep.visitor().get("/claim", headers={"Cookie": f"dunwell={stale}"})
        assert page.status_code == 403
    audited = [await doorstep.till.audited(f"session.{each}") for each in ("open", "raise")]
    assert audited == [1, 2]


async def test_a_fact_or_a_letters_code_does_not_lower_the_level(doorstep: Doorstep) -> None:
    await doorstep.open()
    code = await _have_code_sent(doorstep)
    await doorstep.browser.submit(f"{_CODE}/code", code=code)
    cookie, token = doorstep.browser.cookie, _hidden(doorstep)

    answers = [
        await doorstep.browser.post(_VERIFY, **token, fact="20095"),
        await doorstep.browser.post(f"{_VERIFY}/letter", **token, code=await doorstep.give_code()),
    ]

    assert [each.headers.get("Location") for each in answers] == ["/claim"] * 2
    assert doorstep.browser.cookie == cookie
    assert await levels(doorstep) == ["CODE"]


@pytest.mark.parametrize("level", list(Level))
async def test_no_session_is_stored_at_a_lower_level(doorstep: Doorstep, level: Level) -> None:
    await doorstep.open()
    await _enter_fact(doorstep)
    cookie, new_hash = doorstep.browser.cookie, b"n" * 32
    assert cookie is not None
    async with doorstep.till.resources.database.transaction() as tx:
        session = await find_session(tx, sha256(cookie.encode()))
        assert session is not None
        is_raised = await save_raised_level(tx, session, new_hash, level, doorstep.till.now)

    assert is_raised is (level is Level.CODE)
    assert await levels(doorstep) == [max(level, Level.FACT, key=list(Level).index)]


async def test_raising_the_level_does_not_extend_the_session(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    await doorstep.open()
    clock.advance(timedelta(minutes=50))
    await _enter_fact(doorstep)
    clock.advance(timedelta(minutes=11))
    assert (await doorstep.browser.get("/claim")).status_code == 403


async def test_a_level_that_is_reached_is_not_requested_again(doorstep: Doorstep) -> None:
    await doorstep.browser.type_code(await doorstep.give_code())
    cookie = doorstep.browser.cookie

    answer = await doorstep.browser.get("/claim/verify/documents")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/documents")
    assert doorstep.browser.cookie == cookie


@pytest.mark.parametrize(
    "name", ["//evil.example", "https://evil.example", "../q", "", "x" * 3000, "%0d%0aX:1", "end"]
)
async def test_verification_redirects_only_to_our_pages(doorstep: Doorstep, name: str) -> None:
    await doorstep.open()

    asked = await doorstep.browser.get("/claim/verify", params={"for": name, "lang": "en"})
    page = await doorstep.browser.get(asked.headers["Location"])

    assert asked.headers["Location"] == "/claim/verify/claim?lang=en"
    assert 'action="/claim/verify/claim?lang=en"' in page.text


async def test_an_unknown_name_in_the_path_redirects_to_the_claim(doorstep: Doorstep) -> None:
    await doorstep.open()
    page = await doorstep.browser.get("/claim/verify/evil.example")
    assert "evil.example" not in page.text
    assert 'action="/claim/verify/claim"' in page.text


@pytest.mark.parametrize(("seconds", "level"), [(599, "CODE"), (600, "LINK")])
async def test_a_code_works_for_ten_minutes(
    doorstep: Doorstep, clock: MovableClock, seconds: int, level: str
) -> None:
    await doorstep.open()
    code = await _have_code_sent(doorstep)
    clock.advance(timedelta(seconds=seconds))

    await doorstep.browser.submit(f"{_CODE}/code", code=code)

    assert await levels(doorstep) == [level]


async def test_only_the_newest_code_is_valid(doorstep: Doorstep, clock: MovableClock) -> None:
    await doorstep.open()
    old = await _have_code_sent(doorstep)
    clock.advance(REPEATED_WITHIN)
    new = await _have_code_sent(doorstep)

    assert (await doorstep.browser.submit(f"{_CODE}/code", code=old)).status_code == 422
    await doorstep.browser.submit(f"{_CODE}/code", code=new)
    assert await levels(doorstep) == ["CODE"]


async def test_a_code_works_once(doorstep: Doorstep) -> None:
    link = await doorstep.give_link()
    await doorstep.browser.open(link)
    code = await _have_code_sent(doorstep)
    await doorstep.browser.submit(f"{_CODE}/code", code=code)
    doorstep.browser = doorstep.visitor()
    await doorstep.open()
    await doorstep.browser.get(f"{_CODE}/code")

    page = await doorstep.browser.submit(f"{_CODE}/code", code=code)

    assert page.status_code == 422
    assert sorted(await levels(doorstep)) == ["CODE", "LINK"]


async def test_at_most_five_codes_are_sent_in_an_hour(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    await doorstep.open()
    for _ in range(5):
        code = await _have_code_sent(doorstep)
        clock.advance(REPEATED_WITHIN)
    await doorstep.browser.get(_CODE)
    refused = await doorstep.browser.submit(f"{_CODE}/send")

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "3550")
    assert "Bitte verwenden Sie den neuesten." in refused.text
    assert len(await list_notices(doorstep)) == 5
    await doorstep.browser.get(f"{_CODE}/code")
    await doorstep.browser.submit(f"{_CODE}/code", code=code)
    assert await levels(doorstep) == ["CODE"]


async def test_without_an_address_on_file_a_phone_number_is_shown(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_guarded_doorstep(resources, clock, email=None) as doorstep:
        await doorstep.open()
        page = await doorstep.browser.get(_CODE)
        sent = await doorstep.browser.post(f"{_CODE}/send", **_hidden(doorstep))

        assert page.text.count('href="tel:+49401234560"') == 2
        assert sent.status_code == 303
        assert await list_notices(doorstep) == []


def _hidden(doorstep: Doorstep) -> dict[str, str]:
    assert doorstep.browser.page is not None
    return read_hidden(doorstep.browser.page.text, "/claim/end")
