"""A debtor who cannot pay at all: debt advice, a pause once in 30 days, and the contact."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import MerchantContact, ModalitySettings
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.guarded_landing import list_occasions
from tests.support.landing import OWN_FORM, LandingHarness, a_landing, read_hidden
from tests.support.landing_plans import ask, enter, read_text
from tests.support.payments import PAYING

_HELP = "/claim/help"
_PAUSES = """
SELECT until, actor_kind FROM holds
WHERE merchant_id = $1 AND kind = 'PAUSE' AND lifted_at IS NULL
"""


@pytest.fixture
async def verified_landing(landing: LandingHarness) -> LandingHarness:
    await enter(landing)
    return landing


async def _pauses(landing: LandingHarness) -> list[Any]:
    return list(await landing.payments.harness.rows(_PAUSES))


async def test_a_pause_ends_by_itself_and_is_recorded_as_the_debtors(
    verified_landing: LandingHarness,
) -> None:
    page = await ask(verified_landing, _HELP)

    [pause] = await _pauses(verified_landing)
    assert pause["until"].isoformat() == "2026-03-15T23:00:00+00:00"
    assert pause["actor_kind"] == "DEBTOR"
    assert [each["facts"]["until"] for each in await list_occasions(verified_landing)] == [
        "2026-03-16"
    ]
    shown = await verified_landing.browser.get(f"{_HELP}?lang=en")
    assert str(page.url).endswith(_HELP)
    assert "This claim is paused until 16 March 2026." in read_text(shown.text)


async def test_a_double_submit_pauses_once(verified_landing: LandingHarness) -> None:
    page = await verified_landing.browser.get(_HELP)
    fields = read_hidden(page.text, _HELP)

    answers = await asyncio.gather(
        *(
            verified_landing.browser.http.post(_HELP, data=fields, headers=OWN_FORM)
            for _ in range(8)
        )
    )

    assert {answer.headers.get("Location") for answer in answers} == {_HELP}
    assert len(await _pauses(verified_landing)) == 1
    assert len(await list_occasions(verified_landing)) == 1


async def test_a_second_pause_within_thirty_days_is_refused_with_a_phone_number(
    verified_landing: LandingHarness, clock: MovableClock
) -> None:
    await ask(verified_landing, _HELP)
    clock.advance(timedelta(days=20))
    await verified_landing.payments.harness.run()
    await enter(verified_landing)

    page = await ask(verified_landing, _HELP)

    assert page.status_code == 409
    assert "Sie haben sie in den letzten 30 Tagen schon pausiert." in page.text
    assert page.text.count("+49 40 1234560") == 3
    assert 'action="/claim/help"' not in page.text
    assert await _pauses(verified_landing) == []


async def test_a_merchant_sets_the_length_of_a_pause(
    resources: Resources, clock: MovableClock
) -> None:
    configuration = msgspec.structs.replace(PAYING, modalities=ModalitySettings(pause_days=7))
    async with a_landing(resources, clock, configuration=configuration) as landing:
        await enter(landing)
        page = await landing.browser.get(f"{_HELP}?lang=en")

    assert "Pause until 9 March 2026" in read_text(page.text)


async def test_without_pauses_the_page_shows_only_debt_advice(
    resources: Resources, clock: MovableClock
) -> None:
    configuration = msgspec.structs.replace(PAYING, modalities=ModalitySettings(pause_days=0))
    async with a_landing(resources, clock, configuration=configuration) as landing:
        await enter(landing)
        page = await landing.browser.get(f"{_HELP}?lang=en")
        token = read_hidden(page.text, "/claim/end?lang=en")["token"]
        posted = await landing.browser.post(_HELP, token=token)
        pauses = await _pauses(landing)

    assert "<form" not in page.text.partition("<main")[2].partition("</main>")[0]
    assert "Ask your town or district for its debt advice centre." in page.text
    assert posted.headers["Location"] == _HELP
    assert pauses == []


async def test_a_link_alone_shows_advice_but_cannot_pause(landing: LandingHarness) -> None:
    opened = await landing.open()
    token = read_hidden(opened.text, "/claim/end")["token"]

    page = await landing.browser.get(_HELP)
    posted = await landing.browser.post(_HELP, token=token)

    assert 'href="/claim/verify?for=help"' in page.text
    assert "Schuldnerberatung" in page.text
    assert posted.headers["Location"] == "/claim/verify?for=help"
    assert await _pauses(landing) == []


async def test_without_a_phone_number_the_page_offers_e_mail(
    resources: Resources, clock: MovableClock
) -> None:
    configuration = msgspec.structs.replace(
        PAYING, contact=MerchantContact("hilfe@nordwind.example")
    )
    async with a_landing(resources, clock, configuration=configuration) as landing:
        await enter(landing)
        page = await landing.browser.get(f"{_HELP}?lang=en")

    text = read_text(page.text)
    assert "Write to Nordwind, ask to be called back, and say when." in text
    assert "hilfe@nordwind.example" in text


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_a_closed_claim_cannot_be_paused(
    verified_landing: LandingHarness, status: str
) -> None:
    page = await verified_landing.browser.get(_HELP)
    fields = read_hidden(page.text, _HELP)
    await verified_landing.payments.end_claim(status)

    shown = await verified_landing.browser.get(_HELP)
    posted = await verified_landing.browser.post(_HELP, **fields)

    assert shown.headers["Location"] == "/claim"
    assert posted.headers["Location"] == _HELP
    assert await _pauses(verified_landing) == []
