"""A debtor's other open claims of the same creditor: who sees them, and opening one."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import msgspec
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import connect
from tests.support.guarded_landing import BOTH_CHANNELS, NUMBER, ON_FILE, levels, read_sent_code
from tests.support.landing import Browser, LandingHarness, a_landing, read_hidden
from tests.support.payments import PAYING

_MINE = "erika@example.org"
_BOTH = msgspec.structs.replace(PAYING, channels=BOTH_CHANNELS)


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    debtor = {**ON_FILE, "email": _MINE, "mobileNumber": NUMBER}
    async with a_landing(resources, clock, configuration=_BOTH, debtor=debtor) as landing:
        landing.browser = Browser(connect(landing.app, "192.0.2.1"))
        yield landing


async def enter_sent_code(landing: LandingHarness, link: str | None = None) -> httpx.Response:
    """Enter a code sent to the address on file, and return the list of other claims."""
    browser = landing.browser
    path = (await browser.open(link or await landing.give_link("SMS"))).url.path
    await browser.get(f"{path}/verify/others?lang=en")
    await browser.submit(f"{path}/verify/others/send?lang=en")
    code = await read_sent_code(landing)
    page = await browser.submit(f"{path}/verify/others/code?lang=en", code=code)
    assert page.url.path == f"{path}/others", page.text
    return page


async def test_other_claims_are_listed_and_opened_with_an_event(
    landing: LandingHarness,
) -> None:
    [other] = await landing.payments.harness.create("INV-2", email=_MINE.upper())
    page = await enter_sent_code(landing)
    path = page.url.path.removesuffix("/others")

    claim = await landing.browser.get(f"{path}?lang=en")
    await landing.browser.get(f"{path}/others?lang=en")
    there = await landing.browser.submit(f"{path}/others/{other}?lang=en")

    assert "INV-2" in page.text
    assert "View 1 other amount" in claim.text
    assert there.status_code == 200
    assert there.url.path not in (path, f"{path}/others")
    assert "INV-2" in there.text
    assert "INV-1001" in (await landing.browser.get(path)).text
    assert await levels(landing) == ["CODE", "CODE"]
    first, second = await landing.accesses()
    assert first["communicationType"] == "SMS"
    assert "communicationType" not in second
    assert len(await landing.payments.harness.events(other)) == 1


async def test_opening_another_claim_twice_opens_one_session(
    landing: LandingHarness,
) -> None:
    [other] = await landing.payments.harness.create("INV-2", email=_MINE)
    page = await enter_sent_code(landing)
    form = f"{page.url.path}/{other}?lang=en"
    fields, cookies = read_hidden(page.text, form), dict(landing.browser.http.cookies)
    answers = []
    for _ in range(2):
        browser = Browser(connect(landing.app, "192.0.2.1"))
        browser.http.cookies.update(cookies)
        answers.append(await browser.post(form, **fields))
    again = await browser.post(form, **fields)

    assert [answer.status_code for answer in answers] == [303, 303]
    names = [answer.headers["Set-Cookie"].partition("=")[0] for answer in answers]
    assert names[0] == names[1]
    assert again.headers["Location"] == answers[0].headers["Location"]
    assert "Set-Cookie" not in again.headers
    assert len(await landing.accesses()) == 2


async def test_another_claim_whose_session_was_ended_is_opened_again(
    landing: LandingHarness,
) -> None:
    [other] = await landing.payments.harness.create("INV-2", email=_MINE)
    page = await enter_sent_code(landing)
    there = await landing.browser.submit(f"{page.url.path}/{other}?lang=en")
    await landing.browser.submit(f"{there.url.path}/end?lang=en")
    await landing.browser.get(f"{page.url.path}?lang=en")
    again = await landing.browser.submit(f"{page.url.path}/{other}?lang=en")
    assert (again.status_code, again.url.path) == (200, there.url.path)
    assert len(await landing.accesses()) == 3


@pytest.mark.parametrize(
    "changes",
    [
        {"email": "other@example.org"},
        {"email": f"x{_MINE}"},
        {"email": None, "mobileNumber": NUMBER},
    ],
    ids=["another address", "a longer one", "the number alone"],
)
async def test_a_claim_at_another_address_is_not_listed(
    landing: LandingHarness, changes: dict[str, Any]
) -> None:
    [other] = await landing.payments.harness.create("INV-2", **changes)
    await _check_is_not_listed(landing, other)


@pytest.mark.parametrize("status", ["COLLECTED", "ARCHIVED", "WITHDRAWN"])
async def test_a_closed_claim_is_not_listed(landing: LandingHarness, status: str) -> None:
    [other] = await landing.payments.harness.create("INV-2", email=_MINE)
    before = "IN_PROCESS" if status == "COLLECTED" else None
    await landing.payments.harness.rows(
        "UPDATE claims SET status = $3, due_at = NULL, status_before_collected = $4"
        " WHERE merchant_id = $1 AND claim_id = $2",
        other, status, before,
    )  # fmt: skip
    await _check_is_not_listed(landing, other)


async def test_another_merchants_claim_is_not_listed(
    resources: Resources, clock: MovableClock, landing: LandingHarness
) -> None:
    async with a_landing(resources, clock, key="other", debtor={"email": _MINE}) as another:
        await _check_is_not_listed(landing, another.claim_id)


async def test_a_code_by_sms_shows_the_claims_with_that_number(
    landing: LandingHarness,
) -> None:
    harness = landing.payments.harness
    await harness.create("INV-2", email=_MINE)
    await harness.create("INV-3", email="other@example.org", mobileNumber=NUMBER)
    page = await enter_sent_code(landing, await landing.give_link("EMAIL"))
    assert ("INV-2" in page.text, "INV-3" in page.text) == (False, True)


async def test_without_a_code_no_other_claims_are_listed(
    landing: LandingHarness,
) -> None:
    await landing.payments.harness.create("INV-2", email=_MINE)
    claim = await landing.browser.type_code(await landing.give_code())
    answer = await landing.browser.get(f"{claim.url.path}/others")
    assert "/others" not in claim.text
    assert answer.headers["Location"].endswith("/verify?for=others")


async def test_after_a_change_of_address_no_other_claims_are_listed(
    landing: LandingHarness,
) -> None:
    await landing.payments.harness.create("INV-2", email="new@example.org")
    page = await enter_sent_code(landing)
    await landing.payments.harness.rows(
        "UPDATE debtors SET email = 'new@example.org' WHERE merchant_id = $1 AND claim_id = $2",
        landing.claim_id,
    )
    shown = await landing.browser.get(f"{page.url.path}?lang=en")
    assert "INV-2" not in shown.text
    assert "There are no other outstanding amounts" in shown.text


async def test_other_claims_stay_open_in_extended_sessions_for_eight_hours(
    landing: LandingHarness, clock: MovableClock
) -> None:
    [other] = await landing.payments.harness.create("INV-2", email=_MINE)
    path = (await enter_sent_code(landing)).url.path.removesuffix("/others")
    for _ in range(8):
        await landing.browser.get(path)
        await landing.browser.submit(f"{path}/extend")
        clock.advance(timedelta(minutes=50))
    await landing.browser.get(f"{path}/others?lang=en")
    there = await landing.browser.submit(f"{path}/others/{other}?lang=en")
    clock.advance(timedelta(minutes=45))
    await landing.browser.submit(f"{there.url.path}/extend?lang=en")
    clock.advance(timedelta(minutes=36))
    assert there.status_code == 200
    assert (await landing.browser.get(there.url.path)).status_code == 403


async def _check_is_not_listed(landing: LandingHarness, other: int) -> None:
    page = await enter_sent_code(landing)
    token = read_hidden(page.text, page.url.path.replace("/others", "/end?lang=en"))["token"]
    answer = await landing.browser.post(f"{page.url.path}/{other}", token=token)
    assert "INV-2" not in page.text
    assert "There are no other outstanding amounts" in page.text
    assert answer.status_code == 404
    assert len(await landing.accesses()) == 1


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("en", "Other amounts are shown only to you. Please confirm with a code"),
        ("de", "Weitere Forderungen zeigen wir nur Ihnen. Bitte bestätigen Sie mit einem Code"),
    ],
)
async def test_the_page_that_asks_for_a_code_says_why(
    landing: LandingHarness, language: str, words: str
) -> None:
    path = (await landing.browser.open(await landing.give_link("SMS"))).url.path
    page = await landing.browser.get(f"{path}/verify/others?lang={language}")
    other = await landing.browser.get(f"{path}/verify/preferences?lang={language}")
    assert words in page.text
    assert words not in other.text
