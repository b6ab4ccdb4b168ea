"""Paying on the page: check, hand-off, return and receipt."""

import asyncio
import re
from typing import Any

import httpx
import pytest

from dunwell.cases.payments.provider import (
    CheckoutState,
    CheckoutStatus,
    PaymentProviderRefused,
)
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import ORIGIN, Application
from tests.support.landing import LandingHarness, a_landing, read_hidden
from tests.support.one_claim import hide_handle
from tests.support.payments import ScriptedPaymentProvider, a_paid_checkout

_ELSEWHERE = "https://pay.example/"


async def test_the_check_page_shows_the_creditor_the_amount_and_the_provider(
    landing: LandingHarness,
) -> None:
    page = await _open_payment_page(landing)

    text = _read_text(page.text)
    assert "Sie zahlen 102,40 € An Nordwind Schuhe GmbH Für INV-1001" in text
    assert (
        "Wir leiten Sie zu Sandbox weiter. Dort zahlen Sie 102,40 € an Nordwind für INV-1001 ."
        " Danach kommen Sie hierher zurück." in text
    )
    assert landing.payments.provider.started == []


async def test_the_hand_off_redirects_to_the_provider_and_publishes_an_event(
    landing: LandingHarness,
) -> None:
    await _open_payment_page(landing)

    answer = await landing.browser.submit("/claim/pay/method")

    [asked] = landing.payments.provider.started
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"{_ELSEWHERE}{asked.request_id}"
    assert (asked.amount_cents, asked.currency, asked.language) == (10240, "EUR", "de")
    assert hide_handle(asked.return_url) == f"http://127.0.0.1:8000/claim/return/{asked.request_id}"
    assert await landing.payments.events() == ["DETAILS_ACCESSED", "PAYMENT_IN_PROGRESS"]


async def test_the_return_page_keeps_the_readers_language(landing: LandingHarness) -> None:
    await landing.open()
    await landing.browser.get("/claim/pay?lang=en")

    await landing.browser.submit("/claim/pay/method?lang=en")

    [asked] = landing.payments.provider.started
    assert asked.return_url.endswith(f"{asked.request_id}?lang=en")
    assert asked.language == "en"


@pytest.mark.parametrize("shown", ["1", "10241", "-10240", "10240.0", "", "102,40"])
async def test_an_amount_changed_in_the_form_pays_nothing(
    landing: LandingHarness, shown: str
) -> None:
    await _open_payment_page(landing)

    page = await landing.browser.submit("/claim/pay/method", shown=shown)

    assert page.status_code == 200
    assert "Der Betrag hat sich geändert" in page.text
    assert "102,40" in page.text
    assert landing.payments.provider.started == []
    assert await landing.payments.states() == []


async def test_an_added_amount_field_is_ignored(landing: LandingHarness) -> None:
    await _open_payment_page(landing)

    await landing.browser.submit("/claim/pay/method", amount="1", amount_cents="1", currency="JPY")

    [asked] = landing.payments.provider.started
    assert (asked.amount_cents, asked.currency) == (10240, "EUR")


async def test_a_payment_recorded_meanwhile_is_shown_before_the_hand_off(
    landing: LandingHarness,
) -> None:
    await _open_payment_page(landing)
    await landing.payments.harness.pay(landing.claim_id, 240)

    page = await landing.browser.submit("/claim/pay/method")

    assert "Der Betrag hat sich geändert" in page.text
    assert "100,00" in page.text
    again = await landing.browser.submit("/claim/pay/method")
    assert again.status_code == 303
    assert landing.payments.provider.started[0].amount_cents == 10000


async def test_a_claim_paid_meanwhile_is_not_paid_again(landing: LandingHarness) -> None:
    page = await _open_payment_page(landing)
    fields = read_hidden(page.text, "/claim/pay/method")
    await landing.payments.harness.pay(landing.claim_id, 10240)

    answer = await landing.browser.post("/claim/pay/method", **(fields | {"shown": "0"}))

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim")
    assert landing.payments.provider.started == []


@pytest.mark.parametrize("provider", ["", "other", "../sandbox", "sandbox\r\nX: 1"])
async def test_a_provider_that_is_not_offered_is_refused(
    landing: LandingHarness, provider: str
) -> None:
    await _open_payment_page(landing)

    page = await landing.browser.submit("/claim/pay/method", provider=provider)

    assert page.status_code == 400
    assert await landing.payments.states() == []


async def test_an_unavailable_provider_gets_an_error_page(landing: LandingHarness) -> None:
    landing.payments.provider.is_away = True
    await _open_payment_page(landing)

    page = await landing.browser.submit("/claim/pay/method")

    assert page.status_code == 503
    assert "Es wurde kein Geld abgebucht." in page.text
    assert "PAYMENT_IN_PROGRESS" not in await landing.payments.events()
    landing.payments.provider.is_away = False
    assert (await landing.browser.submit("/claim/pay/method")).status_code == 303


async def test_a_provider_that_refuses_the_payment_gets_an_error_page(
    landing: LandingHarness,
) -> None:
    async def refuse() -> None:
        raise PaymentProviderRefused("The amount is too small.")

    landing.payments.provider.during_start = refuse
    await _open_payment_page(landing)

    page = await landing.browser.submit("/claim/pay/method")

    assert page.status_code == 503
    assert "Es wurde kein Geld abgebucht." in page.text


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (CheckoutState(CheckoutStatus.OPEN), "Soweit wir wissen, wurde kein Geld abgebucht."),
        (CheckoutState(CheckoutStatus.PENDING), "Ihre Zahlung wird bearbeitet"),
        (CheckoutState(CheckoutStatus.FAILED), "Es wurde kein Geld abgebucht."),
        (CheckoutState(CheckoutStatus.CANCELLED), "Es wurde kein Geld abgebucht."),
        (CheckoutState(CheckoutStatus.EXPIRED), "Es wurde kein Geld abgebucht."),
    ],
)
async def test_the_return_page_alone_records_no_payment(
    landing: LandingHarness, answer: Any, expected: str
) -> None:
    path = await _hand_off(landing)
    landing.payments.provider.answer = answer

    page = await landing.browser.get(path)

    assert (page.status_code, expected in page.text) == (200, True)
    assert await landing.payments.count("payments") == 0
    assert "PAYMENT_COMPLETED" not in await landing.payments.events()
    assert (await landing.browser.get(path.replace("return", "receipt"))).status_code == 404


async def test_another_currency_at_the_provider_does_not_count_as_unpaid(
    landing: LandingHarness,
) -> None:
    path = await _hand_off(landing)
    landing.payments.provider.answer = a_paid_checkout("psp-1", 1, "USD", landing.payments.now)

    page = await landing.browser.get(path)

    assert "Ihre Zahlung wird bearbeitet" in page.text
    assert await landing.payments.count("payments") == 0


async def test_the_return_page_works_while_the_provider_is_unavailable(
    landing: LandingHarness,
) -> None:
    path = await _hand_off(landing)
    landing.payments.provider.is_away = True

    page = await landing.browser.get(path)

    assert page.status_code == 200
    assert "Noch einmal nachsehen" in page.text


async def test_a_payment_leads_to_its_receipt(landing: LandingHarness) -> None:
    path = await _hand_off(landing)
    landing.payments.pays()

    back = await landing.browser.get(path)
    receipt = await landing.browser.get(path.replace("return", "receipt"))
    claim = await landing.browser.get("/claim")

    assert "Wir haben Ihre Zahlung erhalten" in back.text
    assert (
        "Bezahlt 102,40 € An Nordwind Schuhe GmbH Für INV-1001 Am 2. März 2026, 10:00 MEZ"
        " Bezahlt mit Sandbox Zahlungsnummer psp-1 Noch zu zahlen 0,00 €"
        in _read_text(receipt.text)
    )
    assert "ist bezahlt" in claim.text
    assert f'href="{path.replace("return", "receipt")}"' in claim.text
    assert (await landing.payments.events())[-1] == "PAYMENT_COMPLETED"
    assert await landing.payments.count("payments") == 1


async def test_returning_repeatedly_records_one_payment(landing: LandingHarness) -> None:
    path = await _hand_off(landing)
    landing.payments.pays()

    pages = await asyncio.gather(*(landing.browser.http.get(path) for _ in range(6)))

    assert {page.status_code for page in pages} == {200}
    assert await landing.payments.count("payments") == 1
    assert (await landing.payments.events()).count("PAYMENT_COMPLETED") == 1


async def test_the_policy_of_the_page_with_the_form_names_the_provider(
    resources: Resources, clock: MovableClock
) -> None:
    own = Application(resources, hand_off_origins={"sandbox": "https://pay.example"})
    async with a_landing(resources, clock, application=own) as landing:
        check = await _open_payment_page(landing)
        claim = await landing.browser.get("/claim")

    assert "form-action 'self' https://pay.example;" in check.headers["Content-Security-Policy"]
    assert "form-action 'self';" in claim.headers["Content-Security-Policy"]


async def test_an_invalid_provider_address_is_not_used_for_a_redirect(
    resources: Resources, clock: MovableClock
) -> None:
    class Odd(ScriptedPaymentProvider):
        async def open_checkout(self, request: Any) -> Any:
            checkout = await super().open_checkout(request)
            return type(checkout)(checkout.checkout_id, "https://x/\r\nSet-Cookie: a=b")

    async with a_landing(resources, clock, provider=Odd()) as landing:
        await _open_payment_page(landing)
        answer = await landing.browser.submit("/claim/pay/method")

    assert answer.status_code == 500
    assert "Set-Cookie" not in answer.headers


async def _open_payment_page(landing: LandingHarness) -> httpx.Response:
    await landing.open()
    return await landing.browser.get("/claim/pay")


async def _hand_off(landing: LandingHarness) -> str:
    """Hand off to the provider, and return the path of the return page."""
    await _open_payment_page(landing)
    await landing.browser.submit("/claim/pay/method")
    return hide_handle(landing.payments.provider.started[0].return_url).removeprefix(ORIGIN)


def _read_text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace("\u00a0", " ").split())
