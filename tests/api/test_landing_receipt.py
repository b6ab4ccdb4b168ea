"""The receipt as a page, as a PDF with the same content, and by e-mail."""

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from dunwell.cases.payments.provider import MoneyMovement, MovementKind
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.notices.notice import REPEATED_WITHIN
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import LandingHarness, a_landing
from tests.support.payments import a_paid_checkout
from tests.support.tools import run_tool

_NOTICES = "SELECT kind, channel, recipient, body_text FROM debtor_notices WHERE merchant_id = $1"


async def test_the_receipt_shows_the_method_masked(landing: LandingHarness) -> None:
    page = await landing.browser.get(await _pay(landing))
    text = _read_text(page.text)
    assert "Bezahlt mit Sandbox, •••• 4242 Zahlungsnummer psp-1" in text
    assert "Kopie an e***@example.org senden" in text


async def test_the_pdf_has_the_content_of_the_page(landing: LandingHarness, tmp_path: Path) -> None:
    path = await _pay(landing)

    answer = await landing.browser.get(f"{path}/pdf")

    assert answer.headers["Content-Type"] == "application/pdf"
    assert answer.headers["Content-Disposition"].startswith('attachment; filename="receipt.pdf"')
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
    text = await _read_pdf(answer.content, tmp_path)
    page = await landing.browser.get(path)
    terms = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", page.text)
    assert len(terms) == 6
    for label, value in terms:
        assert f"{label} {_read_text(value)}" in text
    assert "Quittung" in text
    assert "Bezahlt 102,40 €" in text
    assert "Deichstraße 1 Telefon: +49 40 1234560" in text


async def test_the_pdf_is_in_the_readers_language_and_reproducible(
    landing: LandingHarness, tmp_path: Path
) -> None:
    path = await _pay(landing)

    first = await landing.browser.get(f"{path}/pdf?lang=en")
    second = await landing.browser.get(f"{path}/pdf?lang=en")

    assert first.content == second.content
    assert "Paid with Sandbox, •••• 4242" in await _read_pdf(first.content, tmp_path)


async def test_a_copy_goes_to_the_address_on_file(landing: LandingHarness) -> None:
    path = await _pay(landing)
    await landing.browser.get(path)

    page = await landing.browser.submit(f"{path}/email")

    assert "Eine Kopie an e***@example.org ist unterwegs." in page.text
    assert "erika@" not in page.text
    [notice] = await landing.payments.harness.rows(_NOTICES)
    assert (notice["kind"], notice["recipient"]) == ("RECEIPT", "erika@example.org")
    for expected in ("102,40", "INV-1001", "psp-1", "•••• 4242"):
        assert expected in notice["body_text"]


async def test_copies_have_a_limit_that_the_page_shows(
    landing: LandingHarness, clock: MovableClock
) -> None:
    path = await _pay(landing)
    for _ in range(6):
        clock.advance(REPEATED_WITHIN)
        await landing.browser.get(path)
        page = await landing.browser.submit(f"{path}/email")

    assert "Wir haben keine Kopie gesendet" in page.text
    assert len(await landing.payments.harness.rows(_NOTICES)) == 5


async def test_without_an_address_no_copy_is_sent(
    resources: Resources, clock: MovableClock
) -> None:
    given: dict[str, Any] = {"debtor": {"email": None}, "definition": None}
    async with a_landing(resources, clock, **given) as landing:
        path = await _pay(landing)
        page = await landing.browser.get(path)
        token = re.findall(r'name="token" value="([^"]*)"', page.text)[0]
        answer = await landing.browser.post(f"{path}/email", token=token)

    assert "senden" not in _read_text(page.text.partition("<footer")[0])
    assert answer.status_code == 404


@pytest.mark.parametrize(
    "method", ["<b>Visa</b>", "Visa\r\nX: 1", "\u202e4242", '#panic("x")', "x" * 300]
)
async def test_a_providers_name_of_the_method_is_escaped_on_one_line(
    landing: LandingHarness, method: str, tmp_path: Path
) -> None:
    path = await _pay(landing, method)

    page = await landing.browser.get(path)
    pdf = await landing.browser.get(f"{path}/pdf")

    assert "<b>" not in page.text
    assert "\u202e" not in page.text
    assert "x" * 61 not in page.text
    assert (await _read_pdf(pdf.content, tmp_path)).count("Bezahlt mit Sandbox, ") == 1


async def test_a_partial_refund_is_shown_on_the_page_and_in_the_pdf(
    landing: LandingHarness, tmp_path: Path
) -> None:
    path = await _pay(landing)
    now = landing.payments.now
    landing.payments.moves(MoneyMovement("re-1", MovementKind.REFUNDED, 240, "EUR", now))
    [asked] = landing.payments.provider.started
    await landing.payments.settle(asked.request_id)

    back = await landing.browser.get(path.replace("receipt", "return"))
    page = await landing.browser.get(f"{path}?lang=en")
    pdf = await landing.browser.get(f"{path}/pdf?lang=en")

    assert (back.status_code, back.headers["Location"]) == (303, path)
    assert "€2.40 of this payment was returned." in _read_text(page.text)
    assert "€2.40 of this payment was returned." in await _read_pdf(pdf.content, tmp_path)


@pytest.mark.parametrize("status", ["WITHDRAWN", "ARCHIVED"])
async def test_the_receipt_of_a_closed_claim_shows_no_outstanding_amount(
    landing: LandingHarness, status: str, tmp_path: Path
) -> None:
    path = await _pay(landing)
    [row] = await landing.payments.harness.rows(
        "SELECT payment_id FROM payments WHERE merchant_id = $1"
    )
    async with landing.payments.harness.work() as work:
        await reverse_payment(work, landing.claim_id, row["payment_id"])
    await landing.payments.end_claim(status)

    page = _read_text((await landing.browser.get(f"{path}?lang=en")).text)
    pdf = await landing.browser.get(f"{path}/pdf?lang=en")
    await landing.browser.get(f"{path}?lang=en")
    await landing.browser.submit(f"{path}/email?lang=en")

    [notice] = await landing.payments.harness.rows(_NOTICES)
    paper = await _read_pdf(pdf.content, tmp_path)
    for text in (page, paper, notice["body_text"]):
        assert "€102.40" in text
        for left in ("Still to pay", "the rest", "Nothing is left", "open again"):
            assert left not in text
    assert "This payment was returned completely." in page
    assert "This payment was returned completely." in paper


async def test_a_link_alone_sees_no_method_and_sends_no_copy(
    landing: LandingHarness, tmp_path: Path
) -> None:
    path = await _pay(landing)
    visitor = landing.visitor()
    await visitor.open(await landing.give_link())

    page = await visitor.get(path)
    pdf = await visitor.get(f"{path}/pdf")
    token = re.findall(r'name="token" value="([^"]*)"', page.text)[0]
    answer = await visitor.post(f"{path}/email", token=token)

    for text in (_read_text(page.text), await _read_pdf(pdf.content, tmp_path)):
        assert "Bezahlt mit Sandbox Zahlungsnummer psp-1" in text
        assert "4242" not in text
        assert "e***@" not in text
    assert 'href="/claim/verify?for=claim"' in page.text
    assert answer.status_code == 404
    assert await landing.payments.harness.rows(_NOTICES) == []


async def _pay(landing: LandingHarness, method: str = "•••• 4242") -> str:
    """Pay, and return the receipt's address in a browser that has entered a letter's code."""
    await landing.browser.type_code(await landing.give_code())
    await landing.browser.get("/claim/pay")
    await landing.browser.submit("/claim/pay/method")
    [asked] = landing.payments.provider.started
    landing.payments.provider.answer = a_paid_checkout(
        "psp-1", 10240, "EUR", landing.payments.now, method
    )
    await landing.browser.get(f"/claim/return/{asked.request_id}")
    return f"/claim/receipt/{asked.request_id}"


async def _read_pdf(pdf: bytes, folder: Path) -> str:
    path = folder / "receipt.pdf"
    await asyncio.to_thread(path.write_bytes, pdf)
    text = await asyncio.to_thread(run_tool, "pdftotext", "-layout", str(path), "-")
    return " ".join(text.replace("\u00a0", " ").split())


def _read_text(page: str) -> str:
    text = re.sub(r"<[^>]*>", " ", re.sub(r"</?bdi[^>]*>", "", page))
    return " ".join(text.replace("\u00a0", " ").split())
