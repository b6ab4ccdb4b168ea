"""Drafts: text survives the end of a session and is not shown to sessions that may not see it."""

from datetime import timedelta
from typing import Any

import httpx
import pytest

from dunwell.interfaces.landing.session.drafts import MAX_VERSIONS
from dunwell.interfaces.landing.session.session import Level
from dunwell.platform.clock import MovableClock
from tests.support.debtor_disputes import disputes, open_dispute_form, sign_in_with_letter_code
from tests.support.files import a_pdf
from tests.support.guarded_landing import levels
from tests.support.landing import OWN_FORM, Browser, LandingHarness, read_hidden

_KEPT = "What you wrote is saved."
_ELSEWHERE = "Something else was entered in another window"


async def fill(
    browser: Browser, path: str, /, files: list[tuple[str, bytes]] | None = None, **typed: str
) -> dict[str, Any]:
    """Return the form as a tab holds it, for `press`."""
    page = await browser.get(path)
    texts = read_hidden(page.text, path) | {"do": "send"} | typed
    parts: list[Any] = [(name, (None, text.encode())) for name, text in texts.items()]
    return {"files": [*parts, *(("files", file) for file in files or [("", b"")])]}


async def press(browser: Browser, path: str, given: dict[str, Any]) -> httpx.Response:
    return await browser.http.post(path, **given, headers=OWN_FORM)


async def test_a_draft_is_shown_when_the_claim_is_opened_again(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    await landing.browser.send(path, [("a.pdf", a_pdf())], do="keep", message="Broken")
    clock.advance(timedelta(days=29))
    browser = landing.visitor()
    claim = await browser.type_code(await landing.give_code())
    offered = await browser.get("/claim?lang=en")
    page = await browser.get(path)

    assert claim.status_code == 200
    assert "Continue with what you wrote" in offered.text
    assert 'href="/claim/dispute/DEFECTIVE?lang=en"' in offered.text
    assert "Broken</textarea>" in page.text
    assert "a.pdf</bdi>" in page.text
    assert "We keep it for 30 days" in page.text


async def test_a_draft_is_not_shown_below_the_level_of_its_form(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    await landing.browser.send(path, [("a.pdf", a_pdf())], do="keep", message="Broken")
    other = await open_dispute_form(landing, "OTHER")
    await landing.browser.send(other, do="keep", message="Something else")
    by_link = landing.visitor()
    claim = await by_link.open(await landing.give_link())
    answer = await by_link.get(path)

    assert claim.text.count("/claim/dispute/OTHER") == 1
    assert "/claim/dispute/DEFECTIVE" not in claim.text
    assert answer.headers["Location"] == "/claim/verify?for=dispute&lang=en"
    assert "Something else</textarea>" in (await by_link.get(other)).text


async def test_a_draft_is_not_shown_for_another_claim(landing: LandingHarness) -> None:
    [other] = await landing.payments.harness.create("INV-2", email="other@example.org")
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    await landing.browser.send(path, do="keep", message="Broken")
    browser = landing.visitor()
    await browser.type_code(await landing.give_code(other))

    assert "Broken" not in (await browser.get(path)).text
    assert "what you wrote" not in (await browser.get("/claim?lang=en")).text


@pytest.mark.parametrize("end", ["timed out", "ended"])
async def test_a_form_of_an_ended_session_is_saved_but_not_sent(
    landing: LandingHarness, clock: MovableClock, end: str
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    given = await fill(landing.browser, path, files=[("a.pdf", a_pdf())], message="Broken")
    if end == "ended":
        await landing.browser.get("/claim")
        await landing.browser.submit("/claim/end")
    else:
        clock.advance(timedelta(hours=1))

    answer = await press(landing.browser, path, given)

    assert answer.status_code == 403
    assert _KEPT in answer.text
    assert await disputes(landing) == []
    await landing.browser.type_code(await landing.give_code())
    page = await landing.browser.get(path)
    assert "Broken</textarea>" in page.text
    assert "a.pdf</bdi>" in page.text


async def test_a_form_of_a_replaced_session_is_saved_but_not_sent(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    given = await fill(landing.browser, path, files=[("a.pdf", a_pdf())], message="Broken")
    clock.advance(timedelta(hours=1))
    await landing.browser.type_code(await landing.give_code())

    stale = await press(landing.browser, path, given)

    assert stale.status_code == 409
    assert _KEPT in stale.text
    assert "Broken</textarea>" in stale.text
    assert "a.pdf</bdi>" in stale.text
    assert await disputes(landing) == []
    landing.browser.page = stale
    sent = await landing.browser.send(path, do="send", message="Broken")
    assert "/claim/disputes/" in sent.url.path


async def test_a_form_from_before_the_level_was_raised_is_accepted(landing: LandingHarness) -> None:
    await landing.open()
    path = await open_dispute_form(landing, "OTHER")
    given = await fill(landing.browser, path, message="Broken")
    await landing.browser.get("/claim/verify/claim")
    await landing.browser.submit("/claim/verify/claim/letter", code=await landing.give_code())

    answer = await press(landing.browser, path, given)

    assert answer.status_code == 303
    assert await levels(landing) == ["FACT"]


@pytest.mark.parametrize(
    "headers",
    [{"Sec-Fetch-Site": "cross-site", "Origin": "null"}, {"Origin": "null"}, {}],
    ids=["another site", "an old browser", "nothing said"],
)
async def test_a_stale_form_of_unknown_origin_is_refused(
    landing: LandingHarness, clock: MovableClock, headers: dict[str, str]
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    given = await fill(landing.browser, path, message="Broken")
    clock.advance(timedelta(hours=1))
    await landing.browser.type_code(await landing.give_code())

    answer = await landing.browser.http.post(path, **given, headers=headers)

    assert answer.status_code == 403
    assert await landing.payments.count("debtor_drafts") == 0


async def test_the_later_of_two_tabs_shows_a_conflict_with_both_versions(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    one = await fill(landing.browser, path, message="The left shoe", do="keep")
    two = await fill(landing.browser, path, message="The right shoe")
    first = await press(landing.browser, path, one)

    second = await press(landing.browser, path, two)

    assert first.status_code == 303
    assert second.status_code == 409
    assert _ELSEWHERE in second.text
    assert "The right shoe</textarea>" in second.text
    assert "The left shoe</blockquote>" in second.text
    assert await disputes(landing) == []
    elsewhere = landing.visitor()
    await elsewhere.type_code(await landing.give_code())
    shown = await elsewhere.get(path)
    assert "The left shoe</textarea>" in shown.text
    assert "The right shoe</blockquote>" in shown.text


async def test_a_form_that_shows_both_versions_resolves_the_conflict(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    one = await fill(landing.browser, path, message="The left shoe", do="keep")
    two = await fill(landing.browser, path, message="The right shoe")
    await press(landing.browser, path, one)
    landing.browser.page = await press(landing.browser, path, two)

    sent = await landing.browser.send(path, do="send", message="Both shoes")

    assert sent.status_code == 200
    [dispute] = await disputes(landing)
    assert dispute["message"] == "Both shoes"


async def test_the_same_text_from_two_tabs_is_no_conflict(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    one, two = [await fill(landing.browser, path, message="A", do="keep") for _ in range(2)]

    answers = [await press(landing.browser, path, each) for each in (one, two)]

    assert [answer.status_code for answer in answers] == [303, 303]


async def test_the_number_of_conflicting_versions_is_limited(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    tabs = [
        await fill(landing.browser, path, message=f"Words {n}.", do="keep")
        for n in range(MAX_VERSIONS + 3)
    ]
    for tab in tabs:
        await press(landing.browser, path, tab)

    page = await landing.browser.get(path)

    assert "Words 0.</textarea>" in page.text
    assert page.text.count("</blockquote>") == MAX_VERSIONS
    assert "Words 7.</blockquote>" in page.text


async def test_text_of_a_second_tab_is_saved_after_the_first_opened_the_dispute(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    one = await fill(landing.browser, path, message="The left shoe")
    two = await fill(landing.browser, path, message="The right shoe")
    first = await press(landing.browser, path, one)

    second = await press(landing.browser, path, two)
    page = await landing.browser.get(f"{second.headers['Location']}")

    assert first.headers["Location"] == second.headers["Location"]
    assert "Text from another window that was not sent" in page.text
    assert "The right shoe</blockquote>" in page.text
    assert [each["message"] for each in await disputes(landing)] == ["The left shoe"]


async def test_a_page_whose_address_holds_the_choice_says_that_it_is_kept(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await sign_in_with_letter_code(landing)
    clock.advance(timedelta(hours=1))
    page = await landing.browser.get("/claim/plan/check?offer=3&lang=en")

    assert page.status_code == 403
    assert 'href="?offer=3"' in page.text
    assert "This page keeps your choice" in page.text


async def test_eight_hours_after_the_first_opening_the_claim_must_be_opened_again(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEFECTIVE")
    await landing.browser.send(path, do="keep", message="Broken")
    for _ in range(8):
        await landing.browser.get("/claim?lang=en")
        await landing.browser.submit("/claim/extend?lang=en")
        clock.advance(timedelta(minutes=55))
    await landing.browser.get("/claim?lang=en")
    last = await landing.browser.submit("/claim/extend?lang=en")
    refused = await landing.browser.post(
        "/claim/extend", token=read_hidden(last.text, "/claim/end?lang=en")["token"]
    )
    clock.advance(timedelta(minutes=40))
    over = await landing.browser.get("/claim")

    assert "After eight hours you have to open the claim again" in last.text
    assert 'action="/claim/extend' not in last.text
    assert "set-cookie" not in refused.headers
    assert over.status_code == 403
    assert len({each["sessionId"] for each in await landing.accesses()}) == 10
    await landing.browser.type_code(await landing.give_code())
    assert "Broken</textarea>" in (await landing.browser.get(path)).text
    assert (await levels(landing))[-1] == Level.FACT
