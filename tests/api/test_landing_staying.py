"""One more hour, asked for twice: a slow phone gets on, whichever answer it keeps, and what has
ended stays ended."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dunwell.core.files.upload import MAX_FILE_BYTES
from dunwell.platform.clock import MovableClock
from tests.support.files import a_pdf
from tests.support.landing import OWN_FORM, Browser, Doorstep, read_hidden
from tests.support.objections import enter, look

_EXTEND = "/claim/extend"
_SENT = "A text that must not be lost."
# No second click any more.
_LATER = timedelta(minutes=5)


async def test_a_second_click_whose_first_answer_is_lost_lands_on_the_claim(
    doorstep: Doorstep,
) -> None:
    fields = await _fill(doorstep)
    phone = doorstep.copy_browser()

    first = await doorstep.copy_browser().post(_EXTEND, **fields)
    second = await phone.post(_EXTEND, **fields)

    assert [_lead(each) for each in (first, second)] == [(303, "/claim")] * 2
    assert first.cookies["dunwell"] != second.cookies["dunwell"]
    assert (await phone.get("/claim")).status_code == 200
    assert await doorstep.till.audited("session.open") == 2
    assert len(await doorstep.accesses()) == 2


async def test_the_new_cookie_may_be_there_before_the_second_click(doorstep: Doorstep) -> None:
    fields = await _fill(doorstep)
    await doorstep.browser.post(_EXTEND, **fields)

    second = await doorstep.browser.post(_EXTEND, **fields)

    assert _lead(second) == (303, "/claim")
    assert "set-cookie" not in second.headers
    assert await doorstep.till.audited("session.open") == 2


async def test_who_goes_back_to_the_form_later_gets_another_hour(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    fields = await _fill(doorstep)
    first = await doorstep.browser.post(_EXTEND, **fields)
    clock.advance(_LATER)

    later = await doorstep.browser.post(_EXTEND, **fields)

    assert _lead(later) == (303, "/claim")
    assert later.cookies["dunwell"] != first.cookies["dunwell"]
    assert (await doorstep.browser.get("/claim")).status_code == 200
    assert await doorstep.till.audited("session.open") == 3


@pytest.mark.parametrize(("seconds", "status"), [(9.999999, 303), (10, 403)])
async def test_the_previous_cookie_is_valid_for_ten_seconds(
    doorstep: Doorstep, clock: MovableClock, seconds: float, status: int
) -> None:
    fields = await _fill(doorstep)
    phone = doorstep.copy_browser()
    await doorstep.browser.post(_EXTEND, **fields)
    clock.advance(timedelta(seconds=seconds))

    page = await phone.get("/claim")
    answer = await phone.post(_EXTEND, **fields)

    assert page.status_code == (200 if status == 303 else 403)
    assert answer.status_code == status
    assert ("set-cookie" in answer.headers) == (status == 303)


async def test_nothing_comes_back_once_the_new_session_was_ended(doorstep: Doorstep) -> None:
    fields = await _fill(doorstep)
    phone = doorstep.copy_browser()
    await doorstep.browser.submit(_EXTEND)
    await doorstep.browser.submit("/claim/end")

    await _is_refused(phone, fields)


async def test_a_session_that_was_ended_is_not_extended(doorstep: Doorstep) -> None:
    fields = await _fill(doorstep)
    phone = doorstep.copy_browser()
    await doorstep.browser.submit("/claim/end")

    await _is_refused(phone, fields)


async def test_a_session_that_timed_out_is_not_extended(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    fields = await _fill(doorstep)
    clock.advance(timedelta(hours=1))

    await _is_refused(doorstep.browser, fields)


async def test_the_previous_cookie_gets_no_new_one_without_a_form(doorstep: Doorstep) -> None:
    await _fill(doorstep)
    thief = doorstep.copy_browser()
    await doorstep.browser.submit(_EXTEND)

    for given in ({}, {"token": "A" * 43}):
        await _is_refused(thief, given)
    assert "set-cookie" not in (await thief.get("/claim")).headers


async def test_after_ten_seconds_the_previous_cookie_gets_nothing_with_any_form(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    fields = await _fill(doorstep)
    thief = doorstep.copy_browser()
    await doorstep.browser.submit(_EXTEND)
    assert doorstep.browser.page is not None
    new = read_hidden(doorstep.browser.page.text, _EXTEND)
    clock.advance(timedelta(seconds=10))

    for given in (fields, new):
        await _is_refused(thief, given)
    assert (await thief.get("/claim")).status_code == 403


async def test_both_cookies_of_a_double_click_end_together(doorstep: Doorstep) -> None:
    fields = await _fill(doorstep)
    first, second = doorstep.copy_browser(), doorstep.copy_browser()
    for browser in (first, second):
        await browser.post(_EXTEND, **fields)
    await first.get("/claim")

    await first.submit("/claim/end")

    assert (await second.get("/claim")).status_code == 403


async def test_one_more_hour_on_a_form_lands_there_again_with_all_that_was_typed(
    doorstep: Doorstep,
) -> None:
    path, given = await _object(doorstep, [("offer.pdf", a_pdf())])
    phone = doorstep.copy_browser()

    first = await doorstep.copy_browser().http.post(path, **given)
    second = await phone.http.post(path, **given)
    page = await phone.get(path)

    assert [_lead(each) for each in (first, second)] == [(303, path)] * 2
    assert first.cookies["dunwell"] != second.cookies["dunwell"]
    assert f"{_SENT}</textarea>" in page.text
    assert page.text.count("offer.pdf</bdi>") == 1


async def test_forms_at_the_same_time_do_too(doorstep: Doorstep) -> None:
    path, given = await _object(doorstep, [("offer.pdf", a_pdf())])

    answers: list[httpx.Response] = await asyncio.gather(
        *(doorstep.copy_browser().http.post(path, **given) for _ in range(4))
    )

    assert {_lead(each) for each in answers} == {(303, path)}
    assert len({each.cookies["dunwell"] for each in answers}) == 4
    assert await doorstep.till.audited("session.open") == 2


async def test_a_form_with_the_previous_cookie_is_not_sent_after_ten_seconds(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    path, given = await _object(doorstep, [], do="send")
    phone = doorstep.copy_browser()
    await doorstep.browser.get("/claim")
    await doorstep.browser.submit(_EXTEND)
    clock.advance(timedelta(seconds=10))

    answer = await phone.http.post(path, **given)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert await doorstep.till.count("disputes") == 0


async def test_a_form_that_stood_open_beside_is_sent_in_the_longer_session(
    doorstep: Doorstep,
) -> None:
    path, given = await _object(doorstep, [], do="send")
    await doorstep.browser.get("/claim")
    await doorstep.browser.submit(_EXTEND)

    answer = await doorstep.browser.http.post(path, **given)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/claim/disputes/")
    assert await doorstep.till.count("disputes") == 1


async def test_a_form_of_two_sessions_ago_is_kept_and_not_sent(
    doorstep: Doorstep, clock: MovableClock
) -> None:
    path, given = await _object(doorstep, [], do="send")
    for _ in range(2):
        clock.advance(_LATER)
        await doorstep.browser.get("/claim")
        await doorstep.browser.submit(_EXTEND)

    answer = await doorstep.browser.http.post(path, **given)

    assert answer.status_code == 409
    assert f"{_SENT}</textarea>" in answer.text
    assert await doorstep.till.count("disputes") == 0


async def test_one_more_hour_on_a_form_with_the_new_cookie_is_done_once(
    doorstep: Doorstep,
) -> None:
    path, given = await _object(doorstep, [("offer.pdf", a_pdf())])
    await doorstep.browser.http.post(path, **given)

    second = await doorstep.browser.http.post(path, **given)

    assert _lead(second) == (303, f"{path}#saved")
    assert "set-cookie" not in second.headers
    assert await doorstep.till.audited("session.open") == 2
    page = await doorstep.browser.get(path)
    assert page.text.count("offer.pdf</bdi>") == 1


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (("song.mp3", b"ID3 no document"), "We cannot read “song.mp3”."),
        (("large.pdf", b"%PDF" + bytes(MAX_FILE_BYTES)), "“large.pdf” is larger than 10"),
        (("none.pdf", b""), "“none.pdf” is empty."),
    ],
    ids=["type", "size", "empty"],
)
async def test_one_more_hour_says_which_file_was_not_kept(
    doorstep: Doorstep, file: tuple[str, bytes], said: str
) -> None:
    path, given = await _object(doorstep, [("offer.pdf", a_pdf()), file])
    phone, path = doorstep.copy_browser(), f"{path}?lang=en"

    pages = [await doorstep.browser.http.post(path, **given), await phone.http.post(path, **given)]

    for page in pages:
        assert page.status_code == 422
        assert said in page.text
        assert "offer.pdf</bdi>" in page.text
        assert f"{_SENT}</textarea>" in page.text
    assert (await phone.get("/claim")).status_code == 200
    token = read_hidden(pages[0].text, path)["token"]
    again = given | {"files": [("token", (None, token.encode())), *given["files"][1:]]}
    assert (await doorstep.browser.http.post(path, **again)).status_code == 422


async def _fill(doorstep: Doorstep) -> dict[str, str]:
    """Of an opened claim, what its form for one more hour takes along."""
    return read_hidden((await doorstep.open()).text, _EXTEND)


async def _object(
    doorstep: Doorstep, files: list[tuple[str, bytes]], do: str = "stay"
) -> tuple[str, Any]:
    """The address of an objection's form, and the form itself with a text and these files."""
    await enter(doorstep)
    shown = await look(doorstep, "OTHER")
    assert doorstep.browser.page is not None
    hidden = read_hidden(doorstep.browser.page.text, shown)
    texts = {**hidden, "message": _SENT, "do": do}
    parts: list[Any] = [(name, (None, text.encode())) for name, text in texts.items()]
    parts += [("files", file) for file in files or [("", b"")]]
    return shown.partition("?")[0], {"files": parts, "headers": OWN_FORM}


async def _is_refused(browser: Browser, fields: dict[str, str]) -> None:
    answer = await browser.post(_EXTEND, **fields)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def _lead(answer: httpx.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("Location")
