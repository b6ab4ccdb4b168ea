"""Choosing an amount: bounds, parts and single items, and what is sent to the provider."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.cases.payments.change_items import NewItem, add_fee
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import OWN_FORM, Browser, LandingHarness, a_landing, read_hidden
from tests.support.transfers import THREE_ITEMS, nordwind_with_account

BOTH = PartialPaymentSettings("500", items=True)
_SHARES = """
SELECT i.reference, sum(a.amount_cents)::bigint AS cents
FROM allocations a JOIN items i USING (merchant_id, claim_id, item_id)
WHERE a.merchant_id = $1
GROUP BY i.reference
ORDER BY i.reference
"""
_OPEN = """
SELECT amount_cents, checkout_url FROM payment_requests WHERE merchant_id = $1 AND state = 'OPEN'
"""


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """Three items that can be paid in parts or singly, opened with a letter's code."""
    given: dict[str, Any] = {"configuration": nordwind_with_account(BOTH), "debtor": THREE_ITEMS}
    async with a_landing(resources, clock, **given) as landing:
        await landing.browser.type_code(await landing.give_code())
        yield landing


async def test_the_bounds_are_stated_first_and_the_whole_amount_takes_one_step(
    landing: LandingHarness,
) -> None:
    page = await landing.browser.get("/claim/pay")

    text = read_text(page.text)
    assert "Noch zu zahlen 102,40 € Alles zahlen" in text
    assert "Von 5,00 € bis 102,40 €, zum Beispiel 20,00." in text
    assert page.text.count(" checked") == 3
    check = await landing.browser.get("/claim/pay/method?want=whole")
    assert "Sie zahlen 102,40 €" in read_text(check.text)


@pytest.mark.parametrize("typed", ["50", "50,00", "50.00", "€50", " 50,00 € "])
async def test_an_entered_part_is_shown_and_requested_from_the_provider(
    landing: LandingHarness, typed: str
) -> None:
    page = await landing.browser.get("/claim/pay/method", params={"want": "part", "amount": typed})

    text = read_text(page.text)
    assert "Sie zahlen 50,00 €" in text
    assert "Danach noch zu zahlen 52,40 €" in text
    await landing.browser.submit("/claim/pay/method")
    [asked] = landing.payments.provider.started
    assert asked.amount_cents == 5000


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("4,99", "Ein Teilbetrag muss mindestens 5,00 € betragen."),
        ("102,41", "Das ist zu viel. Offen sind nur 102,40 €."),
        ("fünfzig", "Diesen Betrag können wir nicht lesen. Bitte geben Sie ihn so ein: 20,00."),
        ("", "Diesen Betrag können wir nicht lesen."),
        ("-50", "Diesen Betrag können wir nicht lesen."),
    ],
)
async def test_an_invalid_amount_is_an_error_at_its_field(
    landing: LandingHarness, typed: str, expected: str
) -> None:
    page = await landing.browser.get("/claim/pay/method", params={"want": "part", "amount": typed})

    assert page.status_code == 422
    assert expected in read_text(page.text)
    assert "<title>Fehler:" in page.text
    assert 'href="#amount"' in page.text
    assert 'aria-invalid="true"' in page.text
    assert f'value="{typed}"' in page.text or not typed


async def test_single_items_are_paid_with_their_fees_and_before_the_others(
    landing: LandingHarness,
) -> None:
    ids = await list_items(landing)
    async with landing.payments.harness.work() as work:
        await add_fee(work, landing.claim_id, NewItem("DUNNING_FEE", 250, "M-2", fee_of=ids["R-2"]))

    page = await landing.browser.get(f"/claim/pay/method?want=items&item={ids['R-2']}")

    text = read_text(page.text)
    assert "Sie zahlen 42,50 €" in text
    assert "Ursprünglicher Betrag R-2: 40,00 €" in text
    assert "Mahngebühr M-2: 2,50 €" in text
    await landing.browser.submit("/claim/pay/method")
    [asked] = landing.payments.provider.started
    landing.payments.pays(4250)
    await landing.browser.get(f"/claim/return/{asked.request_id}")
    shares = {
        row["reference"]: row["cents"] for row in await landing.payments.harness.rows(_SHARES)
    }
    assert shares == {"R-2": 4000, "M-2": 250}


async def test_selecting_no_item_is_an_error(landing: LandingHarness) -> None:
    page = await landing.browser.get("/claim/pay/method?want=items")
    assert page.status_code == 422
    assert "Bitte wählen Sie mindestens eine Position." in page.text
    assert " checked" not in page.text


async def test_a_link_alone_can_neither_see_nor_pay_items(
    resources: Resources, clock: MovableClock
) -> None:
    given: dict[str, Any] = {"configuration": nordwind_with_account(BOTH), "debtor": THREE_ITEMS}
    async with a_landing(resources, clock, **given) as landing:
        await landing.open()
        ids = await list_items(landing)
        amount = await landing.browser.get("/claim/pay")
        check = await landing.browser.get(f"/claim/pay/method?items={ids['R-2']}")
        answer = await forge(landing.browser, shown="4000", items=str(ids["R-2"]))

    assert "R-2" not in amount.text
    assert "Einen Teil zahlen" in amount.text
    assert (check.status_code, check.headers["Location"]) == (303, "/claim/pay")
    assert "R-2" not in answer.text
    assert landing.payments.provider.started == []


@pytest.mark.parametrize(
    "fields",
    [
        {"shown": "499", "cents": "499"},
        {"shown": "10241", "cents": "10241"},
        {"shown": "5000", "cents": "6000"},
        {"shown": "5000"},
        {"shown": "-5000", "cents": "-5000"},
        {"shown": "5e3", "cents": "5e3"},
        {"shown": "10000", "items": "1"},
        {"shown": "1", "items": ""},
    ],
)
async def test_an_amount_changed_in_the_form_pays_nothing(
    landing: LandingHarness, fields: dict[str, str]
) -> None:
    answer = await forge(landing.browser, **fields)

    assert answer.status_code == 200
    assert "Der Betrag hat sich geändert" in answer.text
    assert landing.payments.provider.started == []
    assert await landing.payments.states() == []


async def test_a_fee_added_meanwhile_does_not_turn_the_whole_amount_into_a_part(
    landing: LandingHarness,
) -> None:
    await landing.browser.get("/claim/pay/method?want=whole")
    async with landing.payments.harness.work() as work:
        await add_fee(work, landing.claim_id, NewItem("DUNNING_FEE", 250))

    page = await landing.browser.submit("/claim/pay/method")

    assert "Der Betrag hat sich geändert" in page.text
    assert "104,90" in page.text
    assert landing.payments.provider.started == []


async def test_a_chosen_part_stays_the_same_while_it_can_be_paid(
    landing: LandingHarness,
) -> None:
    await landing.browser.get("/claim/pay/method?cents=5000")
    await landing.payments.harness.pay(landing.claim_id, 240)

    answer = await landing.browser.submit("/claim/pay/method")

    assert answer.status_code == 303
    assert landing.payments.provider.started[0].amount_cents == 5000


async def test_another_amount_cancels_the_open_request(landing: LandingHarness) -> None:
    for cents in ("5000", "5000", "6000"):
        await landing.browser.get(f"/claim/pay/method?cents={cents}")
        await landing.browser.submit("/claim/pay/method")

    assert await landing.payments.states() == ["CANCELLED", "OPEN"]
    assert [asked.amount_cents for asked in landing.payments.provider.started] == [
        5000,
        6000,
    ]
    assert (await landing.payments.events()).count("PAYMENT_IN_PROGRESS") == 2


async def test_only_one_of_two_concurrent_parts_can_be_paid(
    landing: LandingHarness,
) -> None:
    answers = await hand_off_at_once(landing, "5000", "3000")

    assert {answer.status_code for answer in answers} == {303}
    states = await landing.payments.states()
    assert states.count("OPEN") == 1
    assert set(states) == {"OPEN", "CANCELLED"}
    [left] = await landing.payments.harness.rows(_OPEN)
    assert left["amount_cents"] in (5000, 3000)
    assert left["checkout_url"] in {answer.headers["Location"] for answer in answers}


async def test_the_language_is_kept_and_the_choice_is_requested_again(
    landing: LandingHarness,
) -> None:
    page = await landing.browser.get("/claim/pay?lang=en")
    assert '<input type="hidden" name="lang" value="en">' in page.text
    assert 'href="/claim/pay/method?want=whole&amp;lang=en"' in page.text
    check = await landing.browser.get("/claim/pay/method?want=part&amount=50.00&lang=en")
    assert "There you pay €50.00 to Nordwind for INV-1001." in read_text(check.text)
    switched = await landing.browser.get("/claim/pay/method?lang=de")
    assert (switched.status_code, switched.headers["Location"]) == (303, "/claim/pay?lang=de")


async def test_the_address_can_propose_an_amount(landing: LandingHarness) -> None:
    page = await landing.browser.get("/claim/pay?cents=5000")
    assert 'value="50,00"' in page.text
    assert (await landing.browser.get(f"/claim/pay?cents={'9' * 400}")).status_code == 200


async def list_items(landing: LandingHarness) -> dict[str, int]:
    rows = await landing.payments.harness.rows(
        "SELECT item_id, reference FROM items WHERE merchant_id = $1"
    )
    return {row["reference"]: row["item_id"] for row in rows}


async def hand_off_at_once(landing: LandingHarness, *parts: str) -> list[httpx.Response]:
    """Send the forms of these parts concurrently."""
    forms = []
    for cents in parts:
        page = await landing.browser.get(f"/claim/pay/method?cents={cents}")
        forms.append(read_hidden(page.text, "/claim/pay/method"))
    posting = [
        landing.browser.http.post("/claim/pay/method", data=form, headers=OWN_FORM)
        for form in forms
    ]
    return await asyncio.gather(*posting)


async def forge(browser: Browser, **fields: str) -> Any:
    """Send the hand-off form of the session with changed fields."""
    page = await browser.get("/claim/pay/method?want=whole")
    token = read_hidden(page.text, "/claim/pay/method")["token"]
    return await browser.post("/claim/pay/method", token=token, provider="sandbox", **fields)


def read_text(page: str) -> str:
    """Return the text of the page."""
    return " ".join(
        re.sub(r"<[^>]*>", " ", re.sub(r"</?bdi[^>]*>", "", page)).replace("\u00a0", " ").split()
    )
