"""What a link alone can do with disputes, their limits, and sessions that end during an upload."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import httpx

from dunwell.cases.disputes.dispute import MAX_FILES_AT_ONCE
from dunwell.interfaces.landing.session.drafts import MAX_UNSENT_FILES
from dunwell.platform.clock import MovableClock
from tests.support.debtor_disputes import (
    disputes,
    list_event_reasons,
    list_stored_files,
    open_dispute_form,
    sign_in_with_letter_code,
)
from tests.support.files import an_image
from tests.support.landing import OWN_FORM, LandingHarness, read_hidden

# Seven reasons, for 35 files.
_SEVEN = (
    "AMOUNT_WRONG", "GOODS_NOT_RECEIVED", "GOODS_RETURNED", "DEFECTIVE", "CONTRACT_CANCELLED",
    "INSOLVENCY", "STATUTE_BARRED",
)  # fmt: skip
_LIVE = "SELECT session_id FROM debtor_sessions WHERE merchant_id = $1 AND ended_at IS NULL"


async def test_a_link_alone_cannot_change_a_dispute_of_another_session(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = (
        await landing.browser.send(await open_dispute_form(landing), do="send", message="x")
    ).url.path
    landing.browser = landing.visitor()
    await landing.open()
    page = await landing.browser.get(f"{path}?lang=en")
    token = read_hidden(page.text, "/claim/end?lang=en")["token"]

    answers = [
        await landing.browser.get(f"{path}/withdraw"),
        await landing.browser.post(f"{path}/withdraw", token=token),
        await landing.browser.post(f"{path}/files", token=token),
    ]

    assert {each.headers["Location"] for each in answers} == {"/claim/verify?for=claim"}
    assert [each["state"] for each in await disputes(landing)] == ["OPEN"]
    assert "we need to check that it is you" in page.text
    assert 'type="file"' not in page.text


async def test_a_link_alone_can_withdraw_its_own_dispute(landing: LandingHarness) -> None:
    await landing.open()

    await _open_and_withdraw_dispute(landing)

    assert [each["state"] for each in await disputes(landing)] == ["WITHDRAWN"]


async def test_a_second_dispute_for_a_reason_redirects_to_the_open_one(
    landing: LandingHarness,
) -> None:
    await landing.open()
    form = await open_dispute_form(landing, "NOT_MY_DEBT")
    shown = landing.browser.page
    assert shown is not None
    first = await landing.browser.send(form, do="send")
    landing.browser.page = shown
    fields = read_hidden(shown.text, form) | {"form": "", "do": "send"}

    again = await landing.browser.get(form)
    sent = await landing.browser.http.post(
        form, files=[(name, (None, text)) for name, text in fields.items()], headers=OWN_FORM
    )

    assert again.headers["Location"] == sent.headers["Location"] == f"{first.url.path}?lang=en"
    assert len(await disputes(landing)) == len(await list_event_reasons(landing)) == 1


async def test_after_five_disputes_in_thirty_days_the_page_shows_a_phone_number(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.open()
    for _ in range(5):
        await _open_and_withdraw_dispute(landing)

    refused = await landing.browser.get("/claim/dispute/NOT_MY_DEBT?lang=en")
    page = await landing.browser.get("/claim/dispute?lang=en")

    assert refused.headers["Location"] == "/claim/dispute?lang=en"
    assert "You have submitted five disputes in the last 30 days." in page.text
    assert "/claim/dispute/NOT_MY_DEBT" not in page.text
    clock.advance(timedelta(days=31))
    await landing.open()
    assert "/claim/dispute/NOT_MY_DEBT" in (await landing.browser.get("/claim/dispute")).text


async def test_a_link_alone_does_not_show_an_amount_entered_in_another_session(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    await landing.browser.send(
        await open_dispute_form(landing), do="send", message="Ten too much", amount="92.40"
    )
    full = await landing.browser.get("/claim?lang=en")
    await landing.open()

    page = await landing.browser.get("/claim?lang=en")

    assert "You disputed this claim on" in full.text
    assert "You disputed this claim on" in page.text
    assert "92.40" not in page.text


async def test_a_claim_keeps_at_most_forty_unsent_files(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    shots = [(f"{number}.png", an_image("PNG", number + 1)) for number in range(MAX_FILES_AT_ONCE)]
    another = ("another.png", an_image("PNG", 40))
    for reason in _SEVEN:
        page = await landing.browser.send(
            await open_dispute_form(landing, reason), shots, do="keep"
        )
        assert page.status_code == 200
    stranger = landing.visitor()
    await stranger.open(await landing.give_link())

    refused = {}
    for name, files in (("fits", shots[:3]), ("two of five", shots), ("none", [another])):
        reason = "OTHER" if name == "fits" else "NOT_MY_DEBT"
        await stranger.get(f"/claim/dispute/{reason}?lang=en")
        page = await stranger.send(f"/claim/dispute/{reason}?lang=en", files, do="keep")
        refused[name] = page.status_code == 422 and "There are too many files." in page.text

    assert refused == {"fits": False, "two of five": True, "none": True}
    assert MAX_UNSENT_FILES == 40
    assert (
        await landing.payments.count("uploads")
        == len(list_stored_files(landing))
        == MAX_UNSENT_FILES
    )


async def test_a_double_click_extends_the_session_once_and_keeps_the_draft(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    page = await landing.browser.send(path, do="keep", message="My long text")
    token, old = read_hidden(page.text, path)["token"], landing.browser.cookie
    headers = {**OWN_FORM, "Cookie": f"dunwell={old}"}
    posts = [
        landing.visitor().http.post("/claim/extend", data={"token": token}, headers=headers)
        for _ in range(4)
    ]

    answers: list[httpx.Response] = await asyncio.gather(*posts)

    assert len({row["session_id"] for row in await landing.payments.harness.rows(_LIVE)}) == 1
    for answer in answers:
        reader = landing.visitor()
        reader.http.cookies.set("dunwell", answer.cookies["dunwell"])
        assert "My long text" in (await reader.get(path)).text


async def test_a_form_is_not_sent_if_its_session_ends_during_the_upload(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    page = await landing.browser.get(path)
    fields = read_hidden(page.text, path) | {"do": "send", "message": "Late"}

    async def stream() -> AsyncIterator[bytes]:
        for name, text in fields.items():
            head = f'--a\r\nContent-Disposition: form-data; name="{name}"'
            yield f"{head}\r\n\r\n{text}\r\n".encode()
        await landing.payments.harness.rows(_END)
        yield b"--a--\r\n"

    headers = {**OWN_FORM, "Content-Type": "multipart/form-data; boundary=a"}
    answer = await landing.browser.http.post(path, content=stream(), headers=headers)

    assert answer.status_code == 403
    assert await disputes(landing) == []


async def _open_and_withdraw_dispute(landing: LandingHarness) -> None:
    page = await landing.browser.send(await open_dispute_form(landing, "NOT_MY_DEBT"), do="send")
    path = f"{page.url.path}/withdraw?lang=en"
    await landing.browser.get(path)
    await landing.browser.submit(path)


_END = "UPDATE debtor_sessions SET ended_at = now() WHERE merchant_id = $1 RETURNING session_id"
