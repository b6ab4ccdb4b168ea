"""If a form arrives after its session has ended, its texts are shown again, but no proof of
identity."""

from datetime import timedelta

import httpx
import pytest

from dunwell.interfaces.landing.render.typed_fields import list_typed_texts
from dunwell.platform.clock import MovableClock
from tests.support.debtor_disputes import disputes, open_dispute_form, sign_in_with_letter_code
from tests.support.files import a_pdf
from tests.support.landing import OWN_FORM, LandingHarness, read_hidden

_FOREIGN = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
_WORDS = "I never <b>ordered</b> there"


def forget_cookies(landing: LandingHarness) -> None:
    landing.browser.http.cookies = httpx.Cookies()


async def test_without_a_cookie_the_text_of_a_dispute_is_shown_again(
    landing: LandingHarness,
) -> None:
    await landing.open()
    path = await open_dispute_form(landing, "NOT_MY_DEBT")
    forget_cookies(landing)

    page = await landing.browser.send(
        path, [("bill.pdf", a_pdf())], do="send", message=_WORDS, person="Max Muster"
    )

    assert page.status_code == 403
    assert "Please open the claim first" in page.text
    assert "I never &lt;b&gt;ordered&lt;/b&gt; there" in page.text
    assert "Max Muster" in page.text
    assert await disputes(landing) == []


@pytest.mark.parametrize("size", [300_000, 3_000_000])
async def test_a_large_file_after_the_text_does_not_lose_the_text(
    landing: LandingHarness, size: int
) -> None:
    await landing.open()
    path = await open_dispute_form(landing, "NOT_MY_DEBT")
    forget_cookies(landing)
    page = await landing.browser.send(path, [("bill.pdf", b"x" * size)], do="send", message=_WORDS)
    assert "I never &lt;b&gt;ordered" in page.text


async def test_after_the_session_the_text_is_shown_and_was_saved(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    path = await open_dispute_form(landing, "NOT_MY_DEBT")
    clock.advance(timedelta(minutes=61))
    page = await landing.browser.send(path, do="send", message=_WORDS)
    assert page.status_code == 403
    assert "What you wrote is saved" in page.text
    assert "I never &lt;b&gt;ordered" in page.text


@pytest.mark.parametrize("is_cookie_gone", [True, False])
async def test_the_fields_of_a_form_without_files_are_shown_again(
    landing: LandingHarness, clock: MovableClock, *, is_cookie_gone: bool
) -> None:
    await sign_in_with_letter_code(landing)
    page = await landing.browser.get("/claim?lang=en")
    token = read_hidden(page.text, "/claim/end?lang=en")["token"]
    path = "/claim/pay/sent?lang=en"
    if is_cookie_gone:
        forget_cookies(landing)
    else:
        clock.advance(timedelta(minutes=61))

    shown = await landing.browser.post(path, token=token, on_day="7", on_month="11", on_year="2031")

    assert shown.status_code == 403
    assert "7 11 2031" in shown.text
    assert token not in shown.text


async def test_proofs_of_identity_are_never_shown_again(landing: LandingHarness) -> None:
    await landing.open()
    page = await landing.browser.get("/claim/verify/claim?lang=en")
    path = "/claim/verify/claim/letter?lang=en"
    token = read_hidden(page.text, path)["token"]
    forget_cookies(landing)
    for where, name in (("", "fact"), ("/letter", "code"), ("/code", "code"), ("", "born_day")):
        shown = await landing.browser.post(
            f"/claim/verify/claim{where}?lang=en", token=token, **{name: "SECRET-7"}
        )
        assert shown.status_code == 403
        assert "SECRET-7" not in shown.text
    assert list_typed_texts({"fact": "1", "code": "2", "token": "3", "born_day": "4"}) == []


async def test_a_foreign_form_cannot_put_text_on_our_page(landing: LandingHarness) -> None:
    await landing.open()
    path = await open_dispute_form(landing, "NOT_MY_DEBT")
    token = read_hidden(landing.browser.page.text if landing.browser.page else "", path)["token"]
    forget_cookies(landing)
    files = {"token": (None, token), "message": (None, "Pay to another account")}
    for headers in (_FOREIGN, {"Origin": "null"}, {}):
        shown = await landing.browser.http.post(path, files=files, headers=headers)
        assert "another account" not in shown.text
    shown = await landing.browser.http.post(
        path, files={"message": (None, "Pay to another account")}, headers=OWN_FORM
    )
    assert "another account" not in shown.text
