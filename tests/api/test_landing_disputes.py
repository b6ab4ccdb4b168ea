"""Disputing a claim: reasons, questions, sending, the case, and withdrawing it."""

import asyncio
import re
from typing import Any

import httpx
import msgspec
import pytest

from dunwell.accounts.merchants.configuration import (
    BankAccount,
    DisputeReason,
    DisputeSettings,
    PartialPaymentSettings,
    PaymentSettings,
)
from dunwell.cases.disputes.dispute import render_case_number
from dunwell.cases.disputes.reasons import RESERVED_NAMES
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debtor_disputes import (
    disputes,
    files,
    list_event_reasons,
    open_dispute_form,
    sign_in_with_letter_code,
)
from tests.support.disputes import ACCEPTED, REJECTED, read_disputes, resolve
from tests.support.documents import read_text
from tests.support.files import a_pdf
from tests.support.landing import OWN_FORM, LandingHarness, a_landing, read_hidden
from tests.support.payments import PAYING

SHOES = msgspec.structs.replace(
    PAYING,
    disputes=DisputeSettings(
        (
            DisputeReason("INSOLVENCY", is_hidden=True),
            DisputeReason("WRONG_SIZE", {"de": "Falsche Größe", "en": "Wrong size"}),
        ),
        answer_within_days=3,
    ),
)


async def test_a_code_shows_every_reason_and_a_link_those_that_need_no_data(
    landing: LandingHarness,
) -> None:
    await landing.open()
    few = _list_reasons(await landing.browser.get("/claim/dispute"))
    await sign_in_with_letter_code(landing)
    all_of_them = _list_reasons(await landing.browser.get("/claim/dispute"))

    assert few == [
        "WRONG_PERSON", "NOT_MY_DEBT", "PERSON_DIED", "IDENTITY_THEFT", "DEBTOR_ALREADY_PAID",
        "OTHER",
    ]  # fmt: skip
    assert set(all_of_them) == set(RESERVED_NAMES)


async def test_a_reason_that_needs_data_asks_for_the_known_fact_first(
    landing: LandingHarness,
) -> None:
    await landing.open()

    answer = await landing.browser.get("/claim/dispute/AMOUNT_WRONG")

    assert (answer.status_code, answer.headers["Location"]) == (303, "/claim/verify?for=dispute")


async def test_a_merchants_own_reasons_are_shown_and_hidden_ones_are_not(
    resources: Resources, clock: MovableClock
) -> None:
    async with a_landing(resources, clock, configuration=SHOES) as landing:
        await sign_in_with_letter_code(landing)
        page = await landing.browser.get("/claim/dispute?lang=en")
        hidden = await landing.browser.get("/claim/dispute/INSOLVENCY")
        path = await open_dispute_form(landing, "WRONG_SIZE")
        sent = await landing.browser.send(path, do="send", message="Two sizes too small")
        [event] = await list_event_reasons(landing)

    assert _list_reasons(page)[-2:] == ["WRONG_SIZE", "OTHER"]
    assert "Wrong size" in page.text
    assert hidden.status_code == 404
    assert event["message"] == "Falsche Größe"
    # Three business days after Monday.
    assert "5 March 2026" in read_text(sent.text)


async def test_a_submitted_form_opens_a_dispute_and_puts_the_claim_on_hold(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "DEBTOR_ALREADY_PAID")

    page = await landing.browser.send(
        path, do="send", day_day="14", day_month="2", day_year="2026", amount="€1,102.40",
        way="TRANSFER", number="INV 1001", message="From my other account\r\nas always",
    )  # fmt: skip

    [dispute] = await disputes(landing)
    assert dispute["answers"] == {
        "day": "2026-02-14", "amount": "110240", "way": "TRANSFER", "number": "INV 1001",
    }  # fmt: skip
    assert dispute["message"] == "From my other account\nas always"
    assert page.url.path == f"/claim/disputes/{dispute['dispute_id']}"
    assert render_case_number(dispute["dispute_id"]) in page.text
    assert "we will not send you any reminders or add any fees" in page.text
    [reason] = await list_event_reasons(landing)
    assert reason == {"type": "DEBTOR_ALREADY_PAID", "disputeId": str(dispute["dispute_id"])}
    claim = await landing.payments.harness.read(landing.claim_id)
    assert [hold.kind for hold in claim.holds] == ["DISPUTE"]


async def test_a_message_is_optional_if_the_reason_is_sufficient(landing: LandingHarness) -> None:
    await landing.open()
    path = await open_dispute_form(landing, "NOT_MY_DEBT")

    await landing.browser.send(path, do="send")

    [dispute] = await disputes(landing)
    assert (dispute["type"], dispute["message"], dispute["answers"]) == ("NOT_MY_DEBT", None, {})


@pytest.mark.parametrize(
    ("fields", "message", "place"),
    [
        ({}, "Please tell us what is not right.", "message"),
        ({"message": "x" * 2001}, "The text is too long.", "message"),
        ({"message": "a", "amount": "1.2.3"}, "Please enter an amount in figures", "amount"),
        ({"message": "a", "amount": "-5"}, "Please enter an amount in figures", "amount"),
    ],
)
async def test_a_fault_is_shown_at_its_field_and_the_input_is_kept(
    landing: LandingHarness, fields: dict[str, str], message: str, place: str
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing)

    page = await landing.browser.send(path, do="send", **fields)

    assert page.status_code == 422
    assert "<title>Error:" in page.text
    assert f'<a href="#{place}">{message}' in page.text
    assert f'id="{place}-error"' in page.text
    again = (await landing.browser.get(path)).text
    assert all(text in again for text in fields.values())
    assert await disputes(landing) == []


@pytest.mark.parametrize(
    ("day", "message"),
    [
        (("31", "2", "2026"), "This date does not exist."),
        (("3", "3", "2026"), "This date is in the future."),
        (("1", "1", "1900"), "This date is too long ago."),
        (("", "2", "2026"), "This date does not exist."),
        (("W1", "2", "2026"), "This date does not exist."),
    ],
)
async def test_a_day_in_the_future_is_refused(
    landing: LandingHarness, day: tuple[str, str, str], message: str
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "GOODS_RETURNED")

    page = await landing.browser.send(
        path, do="send", day_day=day[0], day_month=day[1], day_year=day[2]
    )

    assert page.status_code == 422
    assert f'<a href="#day_day">{message}' in page.text
    assert await disputes(landing) == []


async def test_a_draft_survives_an_extended_session_and_is_sent_complete(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing)
    await landing.browser.send(path, [("offer.pdf", a_pdf())], do="keep", message="Ten too much")
    await landing.browser.get("/claim")
    await landing.browser.submit("/claim/extend")

    page = await landing.browser.get(path)

    assert "Ten too much" in page.text
    assert "offer.pdf" in page.text
    await landing.browser.send(path, do="send", message="Ten too much")
    assert await files(landing) == [("offer.pdf", "application/pdf")]
    assert "Ten too much" not in (await landing.browser.get(path)).text


async def test_the_pages_buttons_that_extend_the_session_send_its_form(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    page = await landing.browser.get("/claim/dispute/AMOUNT_WRONG")
    claim = await landing.browser.get("/claim")

    assert page.text.count('form="answers" name="do" value="stay"') == 2
    assert 'action="/claim/extend' not in page.text
    assert 'action="/claim/extend' in claim.text


async def test_a_double_click_opens_one_dispute_with_one_copy_of_each_file(
    landing: LandingHarness,
) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing)
    assert landing.browser.page is not None
    hidden = read_hidden(landing.browser.page.text, path)
    fields = {**hidden, "message": "Ten too much", "do": "send"}
    parts: list[Any] = [(name, (None, text)) for name, text in fields.items()]
    parts.append(("files", ("offer.pdf", a_pdf())))

    answers = await asyncio.gather(*(
        landing.browser.http.post(path, files=parts, headers=OWN_FORM) for _ in range(4)
    ))  # fmt: skip

    [dispute] = await disputes(landing)
    expected = f"/claim/disputes/{dispute['dispute_id']}?lang=en"
    assert [answer.headers["Location"] for answer in answers] == [expected] * 4
    assert await files(landing) == [("offer.pdf", "application/pdf")]
    assert await landing.payments.count("uploads") == 1
    assert len(await list_event_reasons(landing)) == 1


async def test_a_reason_can_be_used_again_after_the_answer(landing: LandingHarness) -> None:
    await sign_in_with_letter_code(landing)
    for _ in range(2):
        path = await open_dispute_form(landing, "OTHER")
        await landing.browser.send(path, do="send", message="Again")
        [opened, *_] = await read_disputes(landing.payments.harness, landing.claim_id)
        await resolve(landing.payments.harness, opened, REJECTED)

    assert len(await disputes(landing)) == 2


async def test_a_dispute_is_withdrawn_after_a_confirmation(landing: LandingHarness) -> None:
    path = await _dispute(landing)
    asked = await landing.browser.get(f"{path}/withdraw?lang=en")
    assert "Withdraw your dispute?" in asked.text
    assert [each["state"] for each in await disputes(landing)] == ["OPEN"]

    page = await landing.browser.submit(f"{path}/withdraw?lang=en")

    assert "You have withdrawn your dispute" in page.text
    assert [each["state"] for each in await disputes(landing)] == ["WITHDRAWN"]
    assert (await landing.payments.harness.read(landing.claim_id)).holds == []
    again = await landing.browser.get(f"{path}/withdraw?lang=en")
    assert again.status_code == 303


@pytest.mark.parametrize(
    ("outcome", "end_claim", "text"),
    [
        (ACCEPTED, None, "The claim has been withdrawn, and you do not have to pay."),
        (ACCEPTED, False, "The claim page shows the amount that is still outstanding."),
        (REJECTED, None, "We have checked it. The claim remains open."),
    ],
)
async def test_the_page_shows_the_answer_and_its_text(
    landing: LandingHarness, outcome: str, end_claim: bool | None, text: str
) -> None:
    path = await _dispute(landing)
    [opened] = await read_disputes(landing.payments.harness, landing.claim_id)
    given = {} if end_claim is None else {"end_claim": end_claim}
    await resolve(landing.payments.harness, opened, outcome, message="We <looked> into it", **given)  # type: ignore[arg-type]

    page = await landing.browser.get(f"{path}?lang=en")

    assert text in page.text
    assert "We &lt;looked&gt; into it" in page.text
    assert "/withdraw" not in page.text
    assert 'type="file"' not in page.text


async def test_the_rejected_dispute_of_a_closed_claim_asks_for_nothing(
    landing: LandingHarness,
) -> None:
    path = await _dispute(landing)
    await landing.payments.end_claim("ARCHIVED")
    [opened] = await read_disputes(landing.payments.harness, landing.claim_id)
    await resolve(landing.payments.harness, opened, REJECTED)

    page = await landing.browser.get(f"{path}?lang=en")
    claim = await landing.browser.get("/claim?lang=en")

    assert "the claim is closed in any case" in page.text
    assert "We do not agree with your dispute." in " ".join(claim.text.split())
    assert "remains open" not in page.text + claim.text


async def test_a_link_alone_shows_the_case_but_no_text(landing: LandingHarness) -> None:
    path = await _dispute(landing)
    landing.browser = landing.visitor()
    await landing.open()

    page = await landing.browser.get(f"{path}?lang=en")

    assert page.status_code == 200
    assert "Your case number" in page.text
    assert "Ten too much" not in page.text


@pytest.mark.parametrize(
    ("partial", "amount", "is_offered"),
    [
        (PartialPaymentSettings(min_amount="500"), "92.40", True),
        (PartialPaymentSettings(min_amount="500"), "4.99", False),
        (PartialPaymentSettings(min_amount="500"), "102.40", False),
        (None, "92.40", False),
    ],
)
async def test_the_undisputed_part_can_be_paid_if_parts_are_allowed(
    resources: Resources, clock: MovableClock, partial: PartialPaymentSettings | None, amount: str,
    is_offered: bool,
) -> None:  # fmt: skip
    payment = msgspec.structs.replace(PAYING.payment, partial=partial)
    configuration = msgspec.structs.replace(PAYING, payment=payment)
    async with a_landing(resources, clock, configuration=configuration) as landing:
        path = await _dispute(landing, amount=amount)
        page = await landing.browser.get(f"{path}?lang=en")

    assert ('href="/claim/pay?cents=9240&amp;lang=en"' in page.text) is is_offered


async def test_the_undisputed_part_can_be_paid_if_transfers_are_the_only_method(
    resources: Resources, clock: MovableClock
) -> None:
    account = BankAccount(iban="DE02120300000000202051", holder="Nordwind")
    partial = PartialPaymentSettings(min_amount="500")
    payment = PaymentSettings(bank_account=account, partial=partial)
    configuration = msgspec.structs.replace(PAYING, payment=payment)
    async with a_landing(resources, clock, configuration=configuration) as landing:
        path = await _dispute(landing, amount="92.40")
        page = await landing.browser.get(f"{path}?lang=en")

    assert 'href="/claim/pay?cents=9240&amp;lang=en"' in page.text


@pytest.mark.parametrize("status", ["ARCHIVED", "WITHDRAWN"])
async def test_a_closed_claim_cannot_be_disputed(landing: LandingHarness, status: str) -> None:
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing, "OTHER")
    page = landing.browser.page
    await landing.payments.end_claim(status)

    for each in ("/claim/dispute", path):
        answer = await landing.browser.get(each)
        assert (answer.status_code, answer.headers["Location"].partition("?")[0]) == (303, "/claim")
    landing.browser.page = page
    await landing.browser.send(path, [("a.pdf", a_pdf())], do="send", message="Too late")
    assert await disputes(landing) == []
    assert await landing.payments.count("uploads") == 0


async def _dispute(landing: LandingHarness, **fields: str) -> str:
    """Open a dispute in the browser and return the address of its page."""
    await sign_in_with_letter_code(landing)
    path = await open_dispute_form(landing)
    page = await landing.browser.send(path, do="send", message="Ten too much", **fields)
    assert page.status_code == 200, page.text
    return page.url.path


def _list_reasons(page: httpx.Response) -> list[str]:
    return re.findall(r'href="/claim/dispute/(\w+)', page.text)
