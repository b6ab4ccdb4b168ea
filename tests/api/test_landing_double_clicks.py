"""Concurrent clicks on one button have one effect, and every response leads on."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.contact.notices.notice import REPEATED_WITHIN
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.disputes import dispute
from tests.support.guarded_landing import (
    NUMBER,
    a_guarded_landing,
    levels,
    list_notices,
    read_sent_code,
)
from tests.support.landing import OWN_FORM, LandingHarness, a_landing, read_hidden
from tests.support.landing_plans import AGREEING, OFFERING, PLAN_CHECK, ask, enter
from tests.support.transfers import THREE_ITEMS, nordwind_with_account

_CODE = "/claim/verify/preferences"
_EMAIL = "/claim/preferences/email"
_BOTH = PartialPaymentSettings("500", items=True)


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """A claim that is open at the level of a link."""
    async with a_guarded_landing(resources, clock, mobileNumber=NUMBER) as landing:
        await landing.open()
        yield landing


async def _click(landing: LandingHarness, path: str, **fields: str) -> list[httpx.Response]:
    """Send the form for `path` several times. The page stays open."""
    browser = landing.browser
    assert browser.page is not None
    whole = read_hidden(browser.page.text, path) | fields
    clicks = (browser.http.post(path, data=whole, headers=OWN_FORM) for _ in range(6))
    return list(await asyncio.gather(*clicks))


def _list_redirects(answers: list[httpx.Response]) -> set[tuple[int, Any]]:
    return {(answer.status_code, answer.headers.get("Location")) for answer in answers}


@pytest.mark.parametrize(
    ("query", "cents"),
    [("want=part&amount=50", 5000), ("want=items&item={0}&item={1}", None)],
    ids=["a part", "items"],
)
async def test_a_double_click_on_a_part_creates_one_request(
    resources: Resources, clock: MovableClock, query: str, cents: int | None
) -> None:
    given: dict[str, Any] = {"configuration": nordwind_with_account(_BOTH), "debtor": THREE_ITEMS}
    async with a_landing(resources, clock, **given) as landing:
        await enter(landing)
        rows = await landing.payments.harness.rows(
            "SELECT item_id FROM items WHERE merchant_id = $1 ORDER BY position"
        )
        address = f"/claim/pay/method?{query.format(*(row['item_id'] for row in rows))}"
        await landing.browser.get(address)

        answers = await _click(landing, "/claim/pay/method")

        [place] = _list_redirects(answers)
        assert place[0] == 303
        asked = {each.request_id for each in landing.payments.provider.started}
        assert len(asked) == 1
        assert {each.amount_cents for each in landing.payments.provider.started} != {10240}
        assert cents is None or landing.payments.provider.started[0].amount_cents == cents
        assert await landing.payments.states() == ["OPEN"]
        assert (await landing.payments.events()).count("PAYMENT_IN_PROGRESS") == 1


async def test_a_plan_is_withdrawn_once(resources: Resources, clock: MovableClock) -> None:
    async with a_landing(resources, clock, configuration=OFFERING) as landing:
        await enter(landing)
        address = (await ask(landing, PLAN_CHECK)).url.path
        await landing.browser.get(f"{address}/withdraw")

        answers = await _click(landing, f"{address}/withdraw")

        assert len(_list_redirects(answers)) == 1
        assert answers[0].status_code == 303
        assert await landing.payments.audited("modality.withdraw") == 1


async def test_a_dispute_is_withdrawn_once(landing: LandingHarness) -> None:
    opened = await dispute(landing.payments.harness, landing.claim_id)
    await enter(landing)
    path = f"/claim/disputes/{opened.dispute_id}"
    await landing.browser.get(f"{path}/withdraw")

    answers = await _click(landing, f"{path}/withdraw")

    assert _list_redirects(answers) == {(303, path)}
    assert await landing.payments.audited("dispute.withdraw") == 1


async def test_a_plans_confirmation_is_sent_once(resources: Resources, clock: MovableClock) -> None:
    async with a_landing(resources, clock, configuration=AGREEING) as landing:
        await enter(landing)
        address = (await ask(landing, PLAN_CHECK)).url.path
        before = len(await list_notices(landing))
        clock.advance(timedelta(minutes=1))

        answers = await _click(landing, f"{address}/email")

        assert len(_list_redirects(answers)) == 1
        assert len(await list_notices(landing)) == before + 1


async def test_a_double_click_sends_one_code_which_works(landing: LandingHarness) -> None:
    await landing.browser.get(_CODE)

    answers = await _click(landing, f"{_CODE}/send")

    assert _list_redirects(answers) == {(303, f"{_CODE}/code")}
    assert len(await list_notices(landing)) == 1
    await landing.browser.get(f"{_CODE}/code")
    await landing.browser.submit(f"{_CODE}/code", code=await read_sent_code(landing))
    assert await levels(landing) == ["CODE"]


async def test_after_ten_seconds_another_code_is_sent(
    landing: LandingHarness, clock: MovableClock
) -> None:
    await landing.browser.get(_CODE)
    await _click(landing, f"{_CODE}/send")
    clock.advance(REPEATED_WITHIN)
    await _click(landing, f"{_CODE}/send")
    assert len(await list_notices(landing)) == 2


async def test_a_double_click_gives_no_more_attempts_for_the_same_code(
    landing: LandingHarness,
) -> None:
    await landing.browser.get(_CODE)
    await landing.browser.submit(f"{_CODE}/send")
    code = await read_sent_code(landing)
    for _ in range(2):
        await landing.browser.submit(f"{_CODE}/code", code="000000")

    await landing.browser.submit(f"{_CODE}/send")

    assert await read_sent_code(landing) != code
    [row] = await landing.payments.harness.rows(
        "SELECT failures FROM verification_codes WHERE merchant_id = $1"
    )
    assert row["failures"] == 0
    old = await landing.browser.submit(f"{_CODE}/code", code=code)
    assert old.status_code == 422


async def test_a_new_address_gets_one_code_and_another_address_its_own(
    landing: LandingHarness,
) -> None:
    await landing.browser.get(_CODE)
    await landing.browser.submit(f"{_CODE}/send")
    await landing.browser.submit(f"{_CODE}/code", code=await read_sent_code(landing))
    await landing.browser.get(_EMAIL)
    for address in ("erika@nue.example", "erika@neu.example"):
        answers = await _click(landing, _EMAIL, address=address)
        assert _list_redirects(answers) == {(303, f"{_EMAIL}/code")}

    asked = [each["recipient"] for each in await list_notices(landing)]
    await landing.browser.get(f"{_EMAIL}/code")
    done = await landing.browser.submit(f"{_EMAIL}/code", code=await read_sent_code(landing))

    assert asked[1:] == ["erika@nue.example", "erika@neu.example"]
    assert done.status_code == 200
