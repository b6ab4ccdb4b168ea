"""A requested plan or deferral: its page, its confirmation, and withdrawing it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import date, timedelta
from pathlib import Path

import httpx
import pytest

from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.landing import LandingHarness, a_landing, read_hidden
from tests.support.landing_plans import (
    AGREEING,
    LATER_CHECK,
    OFFERING,
    PLAN_CHECK,
    approve,
    ask,
    enter,
    modalities,
    read_text,
    reject,
)
from tests.support.letters import PrintedLetter


@pytest.fixture
async def landing(resources: Resources, clock: MovableClock) -> AsyncIterator[LandingHarness]:
    """A merchant that answers requests itself, and a debtor who has entered a letter's code."""
    async with a_landing(resources, clock, configuration=OFFERING) as landing:
        await enter(landing)
        yield landing


@pytest.fixture
async def landing_with_approval(
    resources: Resources, clock: MovableClock
) -> AsyncIterator[LandingHarness]:
    """The same with a merchant that approves requests within its bounds automatically."""
    async with a_landing(resources, clock, configuration=AGREEING) as landing:
        await enter(landing)
        yield landing


async def test_an_agreement_is_shown_with_its_payments(
    landing_with_approval: LandingHarness,
) -> None:
    page = await ask(landing_with_approval)
    await landing_with_approval.payments.harness.pay(landing_with_approval.claim_id, 4000)

    text = read_text((await landing_with_approval.browser.get(f"{page.url.path}?lang=en")).text)

    assert "Your next payment €28.27 , 16 April 2026" in text
    assert "16 March 2026 paid €34.14 16 April 2026 €5.86 paid €34.13" in text
    assert "Still to pay €62.40" in text


@pytest.mark.parametrize(
    ("path", "message"), [(PLAN_CHECK, "zurückgezogen"), (LATER_CHECK, "zurückgezogen")]
)
async def test_a_request_is_withdrawn_after_a_confirmation(
    landing: LandingHarness, path: str, message: str
) -> None:
    page = await ask(landing, path)
    address = page.url.path

    question = await landing.browser.get(f"{address}/withdraw")
    assert "102,40" in question.text
    assert (await modalities(landing))[0]["ended_reason"] is None
    page = await landing.browser.submit(f"{address}/withdraw")

    assert message in page.text
    assert (await modalities(landing))[0]["ended_reason"] == "WITHDRAWN"
    again = await landing.browser.get(f"{address}/withdraw")
    assert again.headers["Location"] == address


async def test_another_claims_request_is_not_found(landing: LandingHarness) -> None:
    address = (await ask(landing)).url.path
    [other_id] = await landing.payments.harness.create("INV-2002", email="other@example.org")
    other = landing.visitor()
    page = await other.type_code(await landing.give_code(other_id))
    token = read_hidden(page.text, "/claim/end")["token"]
    absent = "/claim/modality/019cadc6-9a80-7f36-9b0d-000000000000"

    for end in ("", "/pdf", "/withdraw"):
        assert await _get(other.http, address + end) == await _get(other.http, absent + end)
    for end in ("/withdraw", "/email"):
        pair = [await other.post(each + end, token=token) for each in (address, absent)]
        assert [each.status_code for each in pair] == [404, 404]
    assert (await modalities(landing))[0]["ended_reason"] is None


async def _get(http: httpx.AsyncClient, path: str) -> tuple[int, str]:
    answer = await http.get(path)
    assert answer.status_code == 404
    return answer.status_code, answer.text


async def test_the_merchants_reason_is_escaped(landing: LandingHarness) -> None:
    page = await ask(landing)
    await reject(landing, "<script>alert(1)</script> zu lang")

    shown = await landing.browser.get(page.url.path)

    assert "Ihre Anfrage wurde nicht angenommen" in shown.text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; zu lang" in shown.text


async def test_a_broken_plan_says_so_and_links_to_the_options(
    landing_with_approval: LandingHarness, clock: MovableClock
) -> None:
    page = await ask(landing_with_approval)
    clock.advance(timedelta(days=22))
    await landing_with_approval.payments.harness.run()
    await enter(landing_with_approval)

    text = read_text((await landing_with_approval.browser.get(page.url.path)).text)

    assert clock.now().date() == date(2026, 3, 24)
    assert "Ihre Ratenzahlung ist beendet" in text
    assert "Ich kann jetzt nicht alles zahlen" in text


async def test_a_refused_request_shows_the_reason_and_links_to_the_options(
    landing: LandingHarness,
) -> None:
    page = await ask(landing)
    await reject(landing, "Höchstens zwei Raten.")

    text = read_text((await landing.browser.get(f"{page.url.path}?lang=en")).text)

    assert (
        "Your request was not accepted Nordwind cannot agree to this. Höchstens zwei Raten." in text
    )
    assert "Pay now I cannot pay all of it now" in text


async def test_only_an_agreement_has_a_confirmation(landing: LandingHarness) -> None:
    page = await ask(landing)
    address, token = page.url.path, read_hidden(page.text, "/claim/end")["token"]

    assert "/pdf" not in page.text
    assert (await landing.browser.get(f"{address}/pdf")).status_code == 404
    assert (await landing.browser.post(f"{address}/email", token=token)).status_code == 404
    await approve(landing)
    assert f'href="{address}/pdf"' in (await landing.browser.get(address)).text


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PLAN_CHECK, ["Confirmation of your payment plan", "16 March 2026", "€34.14", "€102.40"]),
        (LATER_CHECK, ["Confirmation of your extra time to pay", "31 March 2026", "€102.40"]),
    ],
)
async def test_the_confirmation_is_always_the_same_file(
    landing_with_approval: LandingHarness,
    clock: MovableClock,
    tmp_path: Path,
    path: str,
    expected: list[str],
) -> None:
    address = (await ask(landing_with_approval, path)).url.path

    file = await landing_with_approval.browser.get(f"{address}/pdf?lang=en")
    await landing_with_approval.payments.harness.pay(landing_with_approval.claim_id, 3414)
    clock.advance(timedelta(minutes=5))
    again = await landing_with_approval.browser.get(f"{address}/pdf?lang=en")

    assert file.headers["Content-Type"] == "application/pdf"
    assert file.headers["Content-Disposition"].startswith("attachment; filename=")
    assert again.content == file.content
    printed = PrintedLetter(tmp_path / "confirmation.pdf")
    printed.path.write_bytes(file.content)
    text = await asyncio.to_thread(printed.text)
    assert [
        each for each in [*expected, "Nordwind Schuhe GmbH", "INV-1001"] if each not in text
    ] == []


async def test_a_copy_goes_to_the_address_on_file(landing_with_approval: LandingHarness) -> None:
    page = await ask(landing_with_approval)

    page = await landing_with_approval.browser.submit(f"{page.url.path}/email")

    [notice] = await landing_with_approval.payments.harness.rows(
        "SELECT kind, recipient, body_text FROM debtor_notices WHERE merchant_id = $1"
    )
    assert (notice["kind"], notice["recipient"]) == ("CONFIRMATION", "erika@example.org")
    assert "16. März 2026: 34,14" in notice["body_text"].replace("*", "")
    assert "Eine Kopie an e" in page.text
    assert "erika@example.org" not in page.text


async def test_the_next_instalment_can_be_paid_if_no_other_part_can(
    landing_with_approval: LandingHarness,
) -> None:
    page = await ask(landing_with_approval)
    assert 'href="/claim/pay/method?cents=3414"' in page.text

    check = await landing_with_approval.browser.get("/claim/pay/method?cents=3414")
    less = await landing_with_approval.browser.get("/claim/pay/method?want=part&amount=34,13")
    answer = await landing_with_approval.browser.post(
        "/claim/pay/method", **read_hidden(check.text, "/claim/pay/method")
    )

    assert "34,14" in read_text(check.text)
    assert less.status_code == 422
    assert answer.status_code == 303
    [asked] = landing_with_approval.payments.provider.started
    assert asked.amount_cents == 3414


async def test_without_an_agreed_plan_no_instalment_can_be_paid(
    landing: LandingHarness,
) -> None:
    await ask(landing)

    shown = await landing.browser.get("/claim/pay/method?cents=3414")

    assert shown.status_code == 303
    assert shown.headers["Location"] == "/claim/pay"


async def test_a_link_alone_can_neither_see_nor_pay_instalments(
    landing_with_approval: LandingHarness,
) -> None:
    await ask(landing_with_approval)
    visitor = landing_with_approval.visitor()
    page = await visitor.open(await landing_with_approval.give_link())

    check = await visitor.get("/claim/pay")
    rate = await visitor.get("/claim/pay/method?cents=3414")
    form = read_hidden(check.text, "/claim/pay/method") | {"cents": "3414", "shown": "3414"}
    answer = await visitor.post("/claim/pay/method", **form)

    assert "Sie zahlen 102,40" in read_text(check.text)
    assert (rate.status_code, rate.headers["Location"]) == (303, "/claim/pay")
    assert "Der Betrag hat sich geändert" in read_text(answer.text)
    assert not any("34,1" in each.text for each in (page, check, rate, answer))
    assert landing_with_approval.payments.provider.started == []


@pytest.mark.parametrize("status", ["WITHDRAWN", "ARCHIVED"])
async def test_a_closed_claim_shows_no_agreement(
    landing_with_approval: LandingHarness, status: str
) -> None:
    page = await ask(landing_with_approval)
    address = page.url.path
    page = await landing_with_approval.browser.get(address)
    token = read_hidden(page.text, f"{address}/email")["token"]
    await landing_with_approval.payments.end_claim(status)

    answers = [
        await landing_with_approval.browser.get(address + more)
        for more in ("", "/pdf", "/withdraw")
    ]
    answers += [
        await landing_with_approval.browser.post(address + more, token=token)
        for more in ("/email", "/withdraw")
    ]

    assert [(each.status_code, each.headers.get("Location")) for each in answers] == (
        [(303, "/claim")] * 5
    )
