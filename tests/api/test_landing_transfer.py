"""Paying by bank transfer: the account, the QR code for banking apps, and announcing a transfer."""

import asyncio
import io
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest
import zxingcpp
from PIL import Image

from dunwell.accounts.merchants.configuration import PartialPaymentSettings
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import OWN_FORM, LandingHarness, a_landing, read_hidden
from tests.support.merchants import CONFIGURATION
from tests.support.transfers import nordwind_with_account

# The clock is at Monday, 2 March 2026, 10:00 in Berlin.
TODAY = {"sent": "2026-03-02"}


@pytest.fixture
async def landing_with_account(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[LandingHarness]:
    given: dict[str, Any] = {"configuration": nordwind_with_account(PartialPaymentSettings("500"))}
    async with a_landing(resources, clock, **given) as landing:
        await landing.open()
        yield landing


async def test_the_page_shows_all_data_of_the_transfer(
    landing_with_account: LandingHarness,
) -> None:
    page = await landing_with_account.browser.get("/claim/pay/transfer?want=whole")

    assert (
        "Kontoinhaber Nordwind Schuhe GmbH IBAN DE02 1203 0000 0000 2020 51 BIC BYLADEM1001"
        " Betrag 102,40 € Verwendungszweck INV-1001" in read_text(page.text)
    )
    copied = re.findall(r'data-copy="([^"]*)"', page.text)
    assert copied == [
        "Nordwind Schuhe GmbH", "DE02120300000000202051", "BYLADEM1001", "102,40", "INV-1001",
    ]  # fmt: skip


async def test_the_qr_code_has_the_same_data(landing_with_account: LandingHarness) -> None:
    page = await landing_with_account.browser.get("/claim/pay/transfer?cents=5000")
    picture = await landing_with_account.browser.get("/claim/pay/code.png?cents=5000")

    assert page.text.count('="/claim/pay/code.png?cents=5000"') == 2
    [read] = zxingcpp.read_barcodes(Image.open(io.BytesIO(picture.content)))
    assert read.bytes.decode().splitlines() == [
        "BCD", "002", "1", "SCT", "BYLADEM1001", "Nordwind Schuhe GmbH", "DE02120300000000202051",
        "EUR50.00", "", "", "INV-1001",
    ]  # fmt: skip
    headers = picture.headers
    assert headers["Content-Type"] == "image/png"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Content-Security-Policy"] == "default-src 'none'; sandbox"


async def test_the_pages_link_to_the_transfer_and_its_qr_code(
    landing_with_account: LandingHarness,
) -> None:
    page = await landing_with_account.browser.get("/claim/pay/method?want=whole&lang=en")
    for mark in ('href="/claim/pay/transfer', 'src="/claim/pay/code.png', 'href="/claim/pay/sent'):
        start = page.text.index(mark) + mark.index('"') + 1
        address = page.text[start : page.text.index('"', start)].replace("&amp;", "&")
        answer = await landing_with_account.browser.get(address)
        assert answer.status_code == 200, address
        if "code.png" not in address:
            page = answer
    assert "When did you send it?" in page.text
    assert "€102.40" in page.text


async def test_the_qr_code_needs_the_session(landing_with_account: LandingHarness) -> None:
    assert (
        await landing_with_account.visitor().get("/claim/pay/code.png?want=whole")
    ).status_code == 403
    assert (
        await landing_with_account.browser.get("/claim/pay/code.png?cents=1")
    ).status_code == 404


async def test_a_claim_in_another_currency_has_no_qr_code(
    resources: Resources, clock: MovableClock
) -> None:
    given: dict[str, Any] = {
        "configuration": nordwind_with_account(), "debtor": {"currency": "USD"}, "definition": None,
    }  # fmt: skip
    async with a_landing(resources, clock, **given) as landing:
        await landing.open()
        page = await landing.browser.get("/claim/pay/transfer")
        picture = await landing.browser.get("/claim/pay/code.png")

    assert (page.status_code, "code.png" in page.text) == (200, False)
    assert picture.status_code == 404


async def test_a_transfer_is_the_only_method_without_a_provider(
    landing_with_account: LandingHarness, resources: Resources, clock: MovableClock
) -> None:
    page = await landing_with_account.browser.get("/claim/pay/method?cents=5000")
    assert 'href="/claim/pay/transfer?cents=5000"' in page.text
    given: dict[str, Any] = {"key": "hansen", "configuration": CONFIGURATION}
    async with a_landing(resources, clock, **given) as other:
        await other.open()
        answer = await other.browser.get("/claim/pay")
    assert (answer.status_code, answer.headers["Location"]) == (
        303,
        "/claim/pay/transfer?want=whole",
    )


async def test_without_a_bank_account_the_page_does_not_exist(landing: LandingHarness) -> None:
    await landing.open()
    for path in ("/claim/pay/transfer", "/claim/pay/sent"):
        answer = await landing.browser.get(path)
        assert (answer.status_code, answer.headers["Location"]) == (303, "/claim")
    assert (await landing.browser.get("/claim/pay/code.png")).status_code == 404


async def test_an_announced_transfer_is_recorded(landing_with_account: LandingHarness) -> None:
    await landing_with_account.browser.get("/claim/pay/sent?cents=5000")

    page = await landing_with_account.browser.submit("/claim/pay/sent", **TODAY)

    text = read_text(page.text)
    assert "Wir warten auf Ihre Überweisung 50,00 €" in text
    assert "Sie haben am 2. März 2026 überwiesen." in text
    assert "Bis zum Ende des 5. März 2026 schicken wir keine Mahnungen" in text
    [event] = (await landing_with_account.payments.harness.events(landing_with_account.claim_id))[
        1:
    ]
    assert event["claim"]["payment"]["providerName"] == "BANK_TRANSFER"
    payment = event["claim"]["payment"]
    back = await landing_with_account.browser.get(f"/claim/return/{payment['paymentRequestId']}")
    assert (back.status_code, back.headers["Location"]) == (303, "/claim/pay/sent")
    claim = await landing_with_account.browser.get("/claim")
    assert "Ihre Zahlung wird bearbeitet." in claim.text
    assert "/claim/return/" not in claim.text


async def test_another_day_is_parsed_from_three_fields(
    landing_with_account: LandingHarness,
) -> None:
    await landing_with_account.browser.get("/claim/pay/sent?want=whole")

    page = await landing_with_account.browser.submit(
        "/claim/pay/sent", sent="other", on_day="27", on_month="2", on_year="2026"
    )

    assert "Sie haben am 27. Februar 2026 überwiesen." in read_text(page.text)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"sent": "other"}, "Bitte geben Sie Tag, Monat und Jahr in Zahlen ein."),
        ({"sent": "2026-02-30"}, "Bitte geben Sie Tag, Monat und Jahr in Zahlen ein."),
        ({"sent": "other", "on_day": "x", "on_month": "2", "on_year": "2026"},
         "Bitte geben Sie Tag, Monat und Jahr in Zahlen ein."),
        ({"sent": "2026-03-03"}, "Dieser Tag liegt in der Zukunft."),
        ({"sent": "other", "on_day": "2", "on_month": "2", "on_year": "2026"},
         "Eine Überweisung von diesem Tag müsste schon da sein."),
    ],
)  # fmt: skip
async def test_an_invalid_day_is_an_error_at_its_field(
    landing_with_account: LandingHarness, fields: dict[str, str], expected: str
) -> None:
    await landing_with_account.browser.get("/claim/pay/sent?want=whole")

    page = await landing_with_account.browser.submit("/claim/pay/sent", **fields)

    assert page.status_code == 422
    assert expected in page.text
    assert 'href="#on_day"' in page.text
    assert await landing_with_account.payments.events() == ["DETAILS_ACCESSED"]


async def test_repeated_clicks_announce_one_transfer(landing_with_account: LandingHarness) -> None:
    page = await landing_with_account.browser.get("/claim/pay/sent?want=whole")
    fields = read_hidden(page.text, "/claim/pay/sent") | TODAY

    answers = await asyncio.gather(
        *(landing_with_account.browser.http.post("/claim/pay/sent", data=fields, headers=OWN_FORM)
          for _ in range(8))
    )  # fmt: skip

    places = {(answer.status_code, answer.headers["Location"]) for answer in answers}
    assert places == {(303, "/claim/pay/sent")}
    assert await landing_with_account.payments.states() == ["PENDING"]
    assert (await landing_with_account.payments.events()).count("PAYMENT_IN_PROGRESS") == 1
    assert await landing_with_account.payments.count("holds") == 1


async def test_a_second_announcement_is_refused_with_a_phone_number(
    landing_with_account: LandingHarness,
) -> None:
    payments = landing_with_account.payments
    await payments.harness.rows(
        "INSERT INTO holds (merchant_id, claim_id, hold_id, kind, since, until, actor_kind,"
        " lifted_at) VALUES ($1, $2, $3, 'PAYMENT_PENDING', $4::timestamptz - interval '20 days',"
        " $4::timestamptz - interval '15 days', 'DEBTOR', $4::timestamptz - interval '15 days')",
        landing_with_account.claim_id, payments.resources.ids.new(payments.now), payments.now,
    )  # fmt: skip
    await landing_with_account.browser.get("/claim/pay/sent?want=whole")

    page = await landing_with_account.browser.submit("/claim/pay/sent", **TODAY)

    assert page.status_code == 409
    assert "Wir haben in den letzten 30 Tagen schon auf eine Zahlung" in page.text
    assert 'href="tel:+49401234560"' in page.text
    assert await landing_with_account.payments.events() == ["DETAILS_ACCESSED"]
    assert await landing_with_account.payments.states() == []


@pytest.mark.parametrize(
    "fields",
    [{"shown": "10239"}, {"shown": "499", "cents": "499"}, {"shown": "5000", "cents": "4000"}],
)
async def test_an_amount_changed_in_the_form_announces_nothing(
    landing_with_account: LandingHarness, fields: dict[str, str]
) -> None:
    page = await landing_with_account.browser.get("/claim/pay/sent?want=whole")
    hidden = read_hidden(page.text, "/claim/pay/sent")

    answer = await landing_with_account.browser.post("/claim/pay/sent", **(hidden | TODAY | fields))

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/pay")
    assert await landing_with_account.payments.events() == ["DETAILS_ACCESSED"]


async def test_a_claim_paid_meanwhile_waits_for_no_transfer(
    landing_with_account: LandingHarness,
) -> None:
    page = await landing_with_account.browser.get("/claim/pay/sent?want=whole")
    fields = read_hidden(page.text, "/claim/pay/sent") | TODAY | {"shown": "0"}
    await landing_with_account.payments.harness.pay(landing_with_account.claim_id, 10240)

    answer = await landing_with_account.browser.post("/claim/pay/sent", **fields)

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim")
    assert await landing_with_account.payments.count("holds") == 0


async def test_after_a_recorded_part_the_rest_can_be_paid(
    landing_with_account: LandingHarness,
) -> None:
    await landing_with_account.browser.get("/claim/pay/sent?cents=5000")
    await landing_with_account.browser.submit("/claim/pay/sent", **TODAY)
    assert (await landing_with_account.browser.get("/claim/pay")).status_code == 303

    await landing_with_account.payments.harness.pay(landing_with_account.claim_id, 5000, "bank-1")

    assert (await landing_with_account.browser.get("/claim/pay")).status_code == 200
    page = await landing_with_account.browser.get("/claim/pay/sent?want=whole")
    assert "52,40" in read_text(page.text)


async def test_after_the_waiting_time_the_claim_can_be_paid(
    landing_with_account: LandingHarness, clock: MovableClock
) -> None:
    await landing_with_account.browser.get("/claim/pay/sent?want=whole")
    await landing_with_account.browser.submit("/claim/pay/sent", **TODAY)
    await landing_with_account.payments.harness.rows(
        "UPDATE holds SET since = $2::timestamptz - interval '1 day', until = $2"
        " WHERE merchant_id = $1",
        clock.now(),
    )

    claim = await landing_with_account.browser.get("/claim")
    await landing_with_account.browser.get("/claim/pay/method?want=whole")
    answer = await landing_with_account.browser.submit("/claim/pay/method")

    assert 'href="/claim/pay"' in claim.text
    assert answer.status_code == 303
    assert await landing_with_account.payments.states() == ["EXPIRED", "OPEN"]


def read_text(page: str) -> str:
    return " ".join(re.sub(r"<[^>]*>", " ", page).replace("\u00a0", " ").split())
