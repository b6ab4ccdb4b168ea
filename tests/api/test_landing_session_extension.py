"""Extending a session twice: either response of a double click works, and an ended session stays
ended."""

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dunwell.core.files.upload import MAX_FILE_BYTES
from dunwell.platform.clock import MovableClock
from tests.support.debtor_disputes import open_dispute_form, sign_in_with_letter_code
from tests.support.files import a_pdf
from tests.support.landing import OWN_FORM, Browser, LandingHarness, read_hidden

_EXTEND = "/claim/extend"
_SENT = "A text that must not be lost."
# Long enough that a second click is no double click.
_LATER = timedelta(minutes=5)


async def test_a_second_click_redirects_to_the_claim_if_the_first_response_is_lost(
    landing: LandingHarness,
) -> None:
    fields = await _fill(landing)
    phone = landing.copy_browser()

    first = await landing.copy_browser().post(_EXTEND, **fields)
    second = await phone.post(_EXTEND, **fields)

    assert [_read_redirect(each) for each in (first, second)] == [(303, "/claim")] * 2
    assert first.cookies["dunwell"] != second.cookies["dunwell"]
    assert (await phone.get("/claim")).status_code == 200
    assert await landing.payments.audited("session.open") == 2
    assert len(await landing.accesses()) == 2


async def test_a_second_click_may_arrive_with_the_new_cookie(landing: LandingHarness) -> None:
    fields = await _fill(landing)
    await landing.browser.post(_EXTEND, **fields)

    second = await landing.browser.post(_EXTEND, **fields)

    assert _read_redirect(second) == (303, "/claim")
    assert "set-cookie" not in second.headers
    assert await landing.payments.audited("session.open") == 2


async def test_the_same_form_extends_again_after_ten_seconds(
    landing: LandingHarness, clock: MovableClock
) -> None:
    fields = await _fill(landing)
    first = await landing.browser.post(_EXTEND, **fields)
    clock.advance(_LATER)

    later = await landing.browser.post(_EXTEND, **fields)

    assert _read_redirect(later) == (303, "/claim")
    assert later.cookies["dunwell"] != first.cookies["dunwell"]
    assert (await landing.browser.get("/claim")).status_code == 200
    assert await landing.payments.audited("session.open") == 3


@pytest.mark.parametrize(("seconds", "status"), [(9.999999, 303), (10, 403)])
async def test_the_previous_cookie_is_valid_for_ten_seconds(
    landing: LandingHarness, clock: MovableClock, seconds: float, status: int
) -> None:
    fields = await _fill(landing)
    phone = landing.copy_browser()
    await landing.browser.post(_EXTEND, **fields)
    clock.advance(timedelta(seconds=seconds))

    page = await phone.get("/claim")
    answer = await phone.post(_EXTEND, **fields)

    assert page.status_code == (200 if status == 303 else 403)
    assert answer.status_code == status
    assert ("set-cookie" in answer.headers) == (status == 303)


async def test_the_previous_cookie_is_invalid_once_the_new_session_was_ended(
    landing: LandingHarness,
) -> None:
    fields = await _fill(landing)
    phone = landing.copy_browser()
    await landing.browser.submit(_EXTEND)
    await landing.browser.submit("/claim/end")

    await _check_is_refused(phone, fields)


async def test_a_session_that_was_ended_is_not_extended(landing: LandingHarness) -> None:
    fields = await _fill(landing)
    phone = landing.copy_browser()
    await landing.browser.submit("/claim/end")

    await _check_is_refused(phone, fields)


async def test_a_session_that_timed_out_is_not_extended(
    landing: LandingHarness, clock: MovableClock
) -> None:
    fields = await _fill(landing)
    clock.advance(timedelta(hours=1))

    await _check_is_refused(landing.browser, fields)


async def test_the_previous_cookie_is_replaced_only_by_a_form(landing: LandingHarness) -> None:
    await _fill(landing)
    copied = landing.copy_browser()
    await landing.browser.submit(_EXTEND)

    for given in ({}, {"token": "A" * 43}):
        await _check_is_refused(copied, given)
    assert "set-cookie" not in (await copied.get("/claim")).headers


async def test_after_ten_seconds_the_previous_cookie_is_refused_with_any_form(
    landing: LandingHarness, clock: MovableClock
) -> None:
    fields = await _fill(landing)
    copied = landing.copy_browser()
    await landing.browser.submit(_EXTEND)
    assert landing.browser.page is not None
    new = read_hidden(landing.browser.page.text, _EXTEND)
    clock.advance(timedelta(seconds=10))

    for given in (fields, new):
        await _check_is_refused(copied, given)
    assert (await copied.get("/claim")).status_code == 403


async def test_both_cookies_of_a_double_click_belong_to_one_session(
    landing: LandingHarness,
) -> None:
    fields = await _fill(landing)
    first, second = landing.copy_browser(), landing.copy_browser()
    for browser in (first, second):
        await browser.post(_EXTEND, **fields)
    await first.get("/claim")

    await first.submit("/claim/end")

    assert (await second.get("/claim")).status_code == 403


async def test_extending_on_a_form_returns_to_it_with_the_input(
    landing: LandingHarness,
) -> None:
    path, given = await _fill_dispute(landing, [("offer.pdf", a_pdf())])
    phone = landing.copy_browser()

    first = await landing.copy_browser().http.post(path, **given)
    second = await phone.http.post(path, **given)
    page = await phone.get(path)

    assert [_read_redirect(each) for each in (first, second)] == [(303, path)] * 2
    assert first.cookies["dunwell"] != second.cookies["dunwell"]
    assert f"{_SENT}</textarea>" in page.text
    assert page.text.count("offer.pdf</bdi>") == 1


async def test_concurrent_extensions_return_to_the_form_too(landing: LandingHarness) -> None:
    path, given = await _fill_dispute(landing, [("offer.pdf", a_pdf())])

    answers: list[httpx.Response] = await asyncio.gather(
        *(landing.copy_browser().http.post(path, **given) for _ in range(4))
    )

    assert {_read_redirect(each) for each in answers} == {(303, path)}
    assert len({each.cookies["dunwell"] for each in answers}) == 4
    assert await landing.payments.audited("session.open") == 2


async def test_a_form_with_the_previous_cookie_is_refused_after_ten_seconds(
    landing: LandingHarness, clock: MovableClock
) -> None:
    path, given = await _fill_dispute(landing, [], do="send")
    phone = landing.copy_browser()
    await landing.browser.get("/claim")
    await landing.browser.submit(_EXTEND)
    clock.advance(timedelta(seconds=10))

    answer = await phone.http.post(path, **given)

    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers
    assert await landing.payments.count("disputes") == 0


async def test_a_form_in_another_tab_is_sent_in_the_extended_session(
    landing: LandingHarness,
) -> None:
    path, given = await _fill_dispute(landing, [], do="send")
    await landing.browser.get("/claim")
    await landing.browser.submit(_EXTEND)

    answer = await landing.browser.http.post(path, **given)

    assert answer.status_code == 303
    assert answer.headers["Location"].startswith("/claim/disputes/")
    assert await landing.payments.count("disputes") == 1


async def test_a_form_from_two_tokens_ago_is_saved_but_not_sent(
    landing: LandingHarness, clock: MovableClock
) -> None:
    path, given = await _fill_dispute(landing, [], do="send")
    for _ in range(2):
        clock.advance(_LATER)
        await landing.browser.get("/claim")
        await landing.browser.submit(_EXTEND)

    answer = await landing.browser.http.post(path, **given)

    assert answer.status_code == 409
    assert f"{_SENT}</textarea>" in answer.text
    assert await landing.payments.count("disputes") == 0


async def test_a_form_with_the_new_cookie_extends_once(
    landing: LandingHarness,
) -> None:
    path, given = await _fill_dispute(landing, [("offer.pdf", a_pdf())])
    await landing.browser.http.post(path, **given)

    second = await landing.browser.http.post(path, **given)

    assert _read_redirect(second) == (303, f"{path}#saved")
    assert "set-cookie" not in second.headers
    assert await landing.payments.audited("session.open") == 2
    page = await landing.browser.get(path)
    assert page.text.count("offer.pdf</bdi>") == 1


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        (("song.mp3", b"ID3 no document"), "We cannot read “song.mp3”."),
        (("large.pdf", b"%PDF" + bytes(MAX_FILE_BYTES)), "“large.pdf” is larger than 10"),
        (("none.pdf", b""), "“none.pdf” is empty."),
    ],
    ids=["type", "size", "empty"],
)
async def test_extending_on_a_form_shows_the_refused_file(
    landing: LandingHarness, file: tuple[str, bytes], expected: str
) -> None:
    path, given = await _fill_dispute(landing, [("offer.pdf", a_pdf()), file])
    phone, path = landing.copy_browser(), f"{path}?lang=en"

    pages = [await landing.browser.http.post(path, **given), await phone.http.post(path, **given)]

    for page in pages:
        assert page.status_code == 422
        assert expected in page.text
        assert "offer.pdf</bdi>" in page.text
        assert f"{_SENT}</textarea>" in page.text
    assert (await phone.get("/claim")).status_code == 200
    token = read_hidden(pages[0].text, path)["token"]
    again = given | {"files": [("token", (None, token.encode())), *given["files"][1:]]}
    assert (await landing.browser.http.post(path, **again)).status_code == 422


async def _fill(landing: LandingHarness) -> dict[str, str]:
    """Return the form that extends the session."""
    return read_hidden((await landing.open()).text, _EXTEND)


async def _fill_dispute(
    landing: LandingHarness, files: list[tuple[str, bytes]], do: str = "stay"
) -> tuple[str, Any]:
    """Return the address of a dispute form, and the form with a text and these files."""
    await sign_in_with_letter_code(landing)
    shown = await open_dispute_form(landing, "OTHER")
    assert landing.browser.page is not None
    hidden = read_hidden(landing.browser.page.text, shown)
    texts = {**hidden, "message": _SENT, "do": do}
    parts: list[Any] = [(name, (None, text.encode())) for name, text in texts.items()]
    parts += [("files", file) for file in files or [("", b"")]]
    return shown.partition("?")[0], {"files": parts, "headers": OWN_FORM}


async def _check_is_refused(browser: Browser, fields: dict[str, str]) -> None:
    answer = await browser.post(_EXTEND, **fields)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


def _read_redirect(answer: httpx.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("Location")
