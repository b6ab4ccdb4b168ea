"""Large forms: they are read only for users who were signed in, four at once per user, and accepted
only while the session lasts."""

import asyncio
from collections.abc import AsyncIterator

import httpx

from dunwell.platform.resources import Resources
from tests.support.portal import OWN_FORM, Clerk, read_fields

_FORM = {**OWN_FORM, "Content-Type": "application/x-www-form-urlencoded"}
_TYPED = "What+somebody+has+typed+for+an+hour.+" * 300


async def test_the_entered_values_are_shown_when_the_session_has_ended(
    clerk: Clerk, resources: Resources
) -> None:
    body = await _write_form(clerk)
    await _end_sessions(resources)
    answer = await _send(clerk, body)
    assert answer.status_code == 403
    assert "What somebody has typed for an hour." in answer.text


async def test_a_form_without_a_valid_session_is_not_read(clerk: Clerk) -> None:
    body = await _write_form(clerk)
    clerk.http.cookies.clear()
    assert (await _send(clerk, b"")).status_code == 403
    answer = await _send(clerk, body)
    assert answer.status_code == 403
    assert "What somebody has typed" not in answer.text


async def test_a_form_is_refused_if_the_session_ends_during_the_upload(
    clerk: Clerk, resources: Resources
) -> None:
    body = await _write_form(clerk)

    async def send() -> AsyncIterator[bytes]:
        yield body[:5_000]
        await _end_sessions(resources)
        yield body[5_000:]

    assert (await _send(clerk, send())).status_code == 403


async def test_four_large_forms_of_one_user_are_read_at_the_same_time(clerk: Clerk) -> None:
    body, is_over, begun = await _write_form(clerk), asyncio.Event(), asyncio.Semaphore(0)

    async def send() -> AsyncIterator[bytes]:
        begun.release()
        await is_over.wait()
        yield body

    held = [asyncio.create_task(_send(clerk, send())) for _ in range(4)]
    for _ in held:
        await begun.acquire()
    refused, small = await _send(clerk, body), await clerk.get("/claims")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "30")
    assert small.status_code == 200
    is_over.set()
    assert 429 not in {each.status_code for each in await asyncio.gather(*held)}
    assert (await _send(clerk, body)).status_code != 429


async def _write_form(clerk: Clerk) -> bytes:
    page = await clerk.get("/settings/file")
    token = read_fields(page.text)["token"]
    return f"token={token}&text={_TYPED}".encode()


async def _send(clerk: Clerk, content: bytes | AsyncIterator[bytes]) -> httpx.Response:
    return await clerk.http.post(clerk.at("/settings/file"), content=content, headers=_FORM)


async def _end_sessions(resources: Resources) -> None:
    async with resources.database.transaction() as tx:
        await tx.execute("UPDATE portal_sessions SET ended_at = last_used_at")
