"""Sending a proof twice: either response of a double click works."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import a_guarded_landing, levels, read_sent_code
from tests.support.landing import LandingHarness, read_hidden

_FACT = "/claim/verify/documents"
_CODE = "/claim/verify/preferences"


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    async with a_guarded_landing(resources, clock) as landing:
        yield landing


@pytest.mark.parametrize("way", ["FACT", "LETTER", "CODE"])
async def test_a_second_click_redirects_to_the_page_if_the_first_response_is_lost(
    landing: LandingHarness, way: str
) -> None:
    path, fields = await _fill(landing, way)
    place = path.removesuffix("/letter").removesuffix("/code").replace("/verify", "")
    phone = landing.copy_browser()

    first = await landing.copy_browser().post(path, **fields)
    second = await phone.post(path, **fields)

    assert [each.status_code for each in (first, second)] == [303, 303]
    assert [each.headers["Location"] for each in (first, second)] == [place, place]
    assert first.cookies["dunwell"] != second.cookies["dunwell"]
    assert (await phone.get(place)).status_code == 200
    assert await landing.payments.audited("session.raise") == 1
    assert len(await landing.accesses()) == 1


@pytest.mark.parametrize("way", ["FACT", "LETTER", "CODE"])
async def test_concurrent_clicks_redirect_to_the_page_too(
    landing: LandingHarness, way: str
) -> None:
    path, fields = await _fill(landing, way)

    answers: list[httpx.Response] = await asyncio.gather(
        *(landing.copy_browser().post(path, **fields) for _ in range(4))
    )

    assert {each.status_code for each in answers} == {303}
    assert len({each.cookies["dunwell"] for each in answers}) == 4
    assert await levels(landing) == ["CODE" if way == "CODE" else "FACT"]


@pytest.mark.parametrize("way", ["FACT", "LETTER", "CODE"])
async def test_a_second_click_may_arrive_with_the_new_cookie(
    landing: LandingHarness, way: str
) -> None:
    path, fields = await _fill(landing, way)
    await landing.browser.post(path, **fields)
    cookie = landing.browser.cookie

    second = await landing.browser.post(path, **fields)

    assert second.status_code == 303
    assert "set-cookie" not in second.headers
    assert landing.browser.cookie == cookie


@pytest.mark.parametrize("way", ["FACT", "LETTER", "CODE"])
async def test_the_old_cookie_without_the_proof_opens_nothing(
    landing: LandingHarness, way: str
) -> None:
    path, fields = await _fill(landing, way)
    copied = landing.copy_browser()
    await landing.browser.post(path, **fields)
    proof = next(name for name in fields if name != "token")

    answers = [
        await copied.get("/claim"),
        await copied.get(_FACT),
        await copied.post(path, **fields | {proof: "99999"}),
        await copied.post(path, token=fields["token"]),
        await copied.post(path, **fields | {"token": "A" * 43}),
    ]

    assert {each.status_code for each in answers} == {403}
    assert not any("set-cookie" in each.headers for each in answers)
    assert not any('name="token"' in each.text for each in answers)


async def test_a_used_code_does_not_raise_another_session_with_its_old_cookie(
    landing: LandingHarness,
) -> None:
    link = await landing.give_link()
    other = landing.visitor("192.0.2.2")
    await other.open(link)
    path, fields = await _fill(landing, "CODE")
    await other.get(path)
    assert other.page is not None
    token = read_hidden(other.page.text, path)["token"]
    await landing.browser.post(path, **fields)

    answer = await other.post(path, token=token, code=fields["code"])

    assert answer.status_code == 422
    assert sorted(await levels(landing)) == ["CODE", "LINK"]


async def test_the_old_cookie_is_invalid_once_the_session_was_ended(
    landing: LandingHarness,
) -> None:
    path, fields = await _fill(landing, "FACT")
    phone = landing.copy_browser()
    await landing.browser.post(path, **fields)
    await landing.browser.get("/claim")
    await landing.browser.submit("/claim/end")

    answer = await phone.post(path, **fields)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def test_wrong_facts_with_an_old_cookie_count_as_attempts(landing: LandingHarness) -> None:
    path, fields = await _fill(landing, "FACT")
    phone = landing.copy_browser()
    await landing.browser.post(path, **fields)
    for _ in range(5):
        await phone.post(path, **fields | {"fact": "99999"})

    answer = await phone.post(path, **fields)

    assert answer.status_code == 403


@pytest.mark.parametrize("way", ["FACT", "CODE"])
@pytest.mark.parametrize(("seconds", "status"), [(9.999999, 303), (10, 403)])
async def test_a_repeated_proof_counts_as_a_double_click_for_ten_seconds(
    landing: LandingHarness, clock: MovableClock, seconds: float, status: int, way: str
) -> None:
    path, fields = await _fill(landing, way)
    phone = landing.copy_browser()
    await landing.browser.post(path, **fields)
    clock.advance(timedelta(seconds=seconds))

    assert (await phone.post(path, **fields)).status_code == status


async def _fill(landing: LandingHarness, way: str) -> tuple[str, dict[str, str]]:
    """Return the address and the fields of the form for this proof."""
    await landing.open()
    if way == "CODE":
        await landing.browser.get(_CODE)
        page = await landing.browser.submit(f"{_CODE}/send")
        path, typed = f"{_CODE}/code", {"code": await read_sent_code(landing)}
    else:
        page = await landing.browser.get(_FACT)
        path = _FACT if way == "FACT" else f"{_FACT}/letter"
        typed = {"fact": "20095"} if way == "FACT" else {"code": await landing.give_code()}
    return path, read_hidden(page.text, path) | typed
