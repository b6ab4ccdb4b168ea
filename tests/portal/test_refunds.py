"""The pages of refunds: movements with the provider's ids, the form with its preview, and the
surplus with one click."""

import re
from datetime import UTC, datetime
from uuid import UUID

import pytest

from dunwell.cases.payments.provider import (
    MoneyMovement,
    MovementKind,
    PaymentProviderRefused,
)
from dunwell.cases.payments.refunds.store import RefundEffect
from dunwell.cases.payments.requests.closed_accounts import save_closed_failure
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import Application, an_application
from tests.support.payments import PaymentHarness, a_payment_harness, send_refunds
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.refunds import order

_PAYMENTS = "SELECT payment_id FROM payments WHERE merchant_id = $1 ORDER BY recorded_at"
_REFUNDS = "SELECT * FROM payment_refunds WHERE merchant_id = $1 ORDER BY created_at, refund_id"


@pytest.fixture
async def payments(resources: Resources, clock: MovableClock) -> PaymentHarness:
    return await a_payment_harness(resources, clock)


@pytest.fixture
async def clerk(resources: Resources, payments: PaymentHarness) -> Clerk:
    return await sign_in(resources, an_application(resources).app, payments.harness)


async def _pay(payments: PaymentHarness, cents: int) -> UUID:
    started = await payments.start()
    payments.pays(cents)
    await payments.settle(started.request_id)
    [row] = await payments.harness.rows(_PAYMENTS)
    payment_id: UUID = row["payment_id"]
    return payment_id


async def _list_refunds(payments: PaymentHarness) -> list[tuple[int, str, str | None]]:
    return [
        (row["amount_cents"], row["effect"], row["reason"])
        for row in await payments.harness.rows(_REFUNDS)
    ]


def _figures(page: str) -> list[tuple[str, str]]:
    """Return the figures of the page: label and amount."""
    part = page.partition('<dl class="figures">')[2].partition("</dl>")[0]
    return re.findall(r"<dt>([^<]+)</dt><dd>.*?([\d.]+)(?=\D*</dd>)", part)


async def test_a_refund_is_previewed_and_confirmed(clerk: Clerk, payments: PaymentHarness) -> None:
    payment_id = await _pay(payments, 10240)
    path = f"/payments/{payment_id}/refund"
    form = await clerk.get(path)
    assert read_fields(form.text)["amount"] == "102.40"
    assert "SURPLUS" not in form.text

    shown = await clerk.send(path, do="preview", amount="2.40", effect="REOPEN", reason="Shipping")
    assert _figures(shown.text) == [
        ("Outstanding now", "0.00"), ("Outstanding afterwards", "2.40"), ("Overpaid now", "0.00"),
        ("Overpaid afterwards", "0.00"),
    ]  # fmt: skip
    assert "This refund reopens it" in shown.text
    assert await _list_refunds(payments) == []

    again = await clerk.send(path, do="edit")
    assert read_fields(again.text)["reason"] == "Shipping"
    await clerk.send(path, do="preview", effect="REDUCE_CLAIM")
    done = await clerk.follow(await clerk.send(path, do="confirm"))
    assert "Refund ordered." in done.text
    assert "being sent to the provider" in done.text
    assert await _list_refunds(payments) == [(240, RefundEffect.REDUCE_CLAIM, "Shipping")]


async def test_a_preview_of_an_amount_that_is_given_up_shows_the_total(
    clerk: Clerk, payments: PaymentHarness
) -> None:
    path = f"/payments/{await _pay(payments, 10240)}/refund"
    await clerk.get(path)
    shown = await clerk.send(path, do="preview", amount="2.40", effect="REDUCE_CLAIM")
    assert _figures(shown.text)[4:] == [("Total now", "102.40"), ("Total afterwards", "100.00")]
    assert _figures(shown.text)[1] == ("Outstanding afterwards", "0.00")


async def test_a_preview_includes_refunds_that_are_pending(
    clerk: Clerk, payments: PaymentHarness
) -> None:
    path = f"/payments/{await _pay(payments, 10240)}/refund"
    await clerk.get(path)
    await clerk.send(path, do="preview", amount="2", effect="REOPEN")
    await clerk.send(path, do="confirm")
    await clerk.get(path)
    shown = await clerk.send(path, do="preview", amount="3", effect="REOPEN")
    assert _figures(shown.text)[:2] == [
        ("Outstanding now", "0.00"),
        ("Outstanding afterwards", "5.00"),
    ]


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        ({"amount": "x"}, "Enter an amount"),
        ({"amount": "0"}, "Enter an amount"),
        ({"amount": "120.01"}, "At most €120.00 of this payment can be refunded."),
        ({"amount": "17.61"}, "Only €17.60 was paid too much."),
        ({"effect": ""}, "Choose what happens"),
        ({"reason": "x" * 256}, "Enter at most 255 characters"),
    ],
)
async def test_a_fault_is_shown_at_its_field_and_keeps_the_input(
    clerk: Clerk, payments: PaymentHarness, sent: dict[str, str], message: str
) -> None:
    path = f"/payments/{await _pay(payments, 12000)}/refund"
    first = read_fields((await clerk.get(path)).text)
    assert (first["amount"], first["effect"]) == ("17.60", "SURPLUS")
    [name] = sent
    place = "effect" if "too much" in message else name
    for do in ("preview", "confirm"):
        page = await clerk.send(path, do=do, **sent)
        assert page.status_code == 422
        error = page.text.partition(f'id="{place}-error">')[2].partition("<")[0]
        assert message in error
        assert read_fields(page.text).get(name, "") == sent[name]
    assert await _list_refunds(payments) == []


async def test_a_double_click_orders_one_refund(clerk: Clerk, payments: PaymentHarness) -> None:
    path = f"/payments/{await _pay(payments, 10240)}/refund"
    await clerk.get(path)
    shown = await clerk.send(path, do="preview", amount="2.40", effect="REOPEN")
    form = {**read_fields(shown.text), "do": "confirm"}
    first, second = await clerk.post(path, form), await clerk.post(path, form)
    assert (first.status_code, second.status_code) == (303, 409)
    assert "have changed since you opened this form" in second.text
    assert len(await _list_refunds(payments)) == 1


async def test_the_surplus_is_refunded_once_with_one_click_from_the_list(
    clerk: Clerk, payments: PaymentHarness
) -> None:
    payment_id = await _pay(payments, 12000)
    await payments.harness.pay(payments.claim_id, 500, "bank-1")
    listed = await clerk.get("/payments?show=unmatched")
    assert listed.text.count("Refund €17.60") == 1
    assert listed.text.count('value="surplus"') == 1
    path = f"/payments/{payment_id}/refund"
    form = {
        **read_fields(listed.text.replace("sign-out", "")), "do": "surplus", "from": "list",
        "surplus_cents": "1760",
    }  # fmt: skip
    first = await clerk.follow(await clerk.post(path, form))
    assert "Refund ordered." in first.text
    assert "refund ordered" in first.text
    assert 'value="surplus"' not in first.text
    second = await clerk.follow(await clerk.post(path, {**form, "surplus_cents": "1760"}))
    assert "Nothing was refunded" in second.text
    assert await _list_refunds(payments) == [(1760, RefundEffect.SURPLUS, None)]


async def test_a_payment_shows_its_movements_with_the_providers_ids(
    clerk: Clerk, payments: PaymentHarness
) -> None:
    payment_id = await _pay(payments, 12000)
    await clerk.submit(f"/payments/{payment_id}/refund", do="confirm")
    await send_refunds(payments.resources, payments.providers)
    accepted = await clerk.get(f"/payments/{payment_id}")
    assert "accepted by the provider" in accepted.text
    [refund] = await payments.harness.rows(_REFUNDS)
    number = refund["provider_refund_id"]
    payments.moves(MoneyMovement(number, MovementKind.REFUNDED, 1760, "EUR", payments.now))
    await payments.settle(refund["request_id"])
    page = await clerk.get(f"/payments/{payment_id}")
    movements = page.text.partition('id="movements"')[2].partition("</table>")[0]
    rows = [re.sub(r"<[^>]+>|\s+", " ", row) for row in movements.split("<tr>")[2:]]
    assert [("sandbox" in row, number in row, "psp-1" in row) for row in rows] == [
        (True, False, True), (True, True, False),
    ]  # fmt: skip
    assert "€17.60; €102.40 is left of this" in page.text
    assert ">refunded</span>" in page.text


async def test_a_payment_made_elsewhere_offers_no_refund(
    clerk: Clerk, payments: PaymentHarness
) -> None:
    await payments.harness.pay(payments.claim_id, 12000, "bank-1")
    [row] = await payments.harness.rows(_PAYMENTS)
    page = await clerk.get(f"/payments/{row['payment_id']}")
    assert "Refund payment" not in page.text
    answer = await clerk.follow(await clerk.get(f"/payments/{row['payment_id']}/refund"))
    assert "was not made through a payment provider" in re.sub(r"\s+", " ", answer.text)


async def test_a_movement_that_needs_review_is_marked_as_reviewed_once(
    clerk: Clerk, payments: PaymentHarness
) -> None:
    started = await payments.start()
    payments.pays(10240, "CHF", "psp-9")
    await payments.settle(started.request_id)
    assert "need review" in (await clerk.get("")).text
    page = await clerk.get("/payments/review")
    assert "psp-9" in page.text
    assert "another currency than the claim" in page.text
    form = read_fields(page.text)
    for _ in range(2):
        done = await clerk.follow(await clerk.post("/payments/review", form))
        assert "Marked as reviewed." in done.text
    assert "psp-9" not in done.text
    audited = await payments.harness.rows(
        "SELECT action FROM audit_log WHERE merchant_id = $1 AND action = 'payment.reviewMovement'"
    )
    assert len(audited) == 1
    assert "Movements of money that need review" not in (await clerk.get("")).text


async def test_a_refused_refund_waits_on_the_page_of_reviews_with_the_providers_words(
    clerk: Clerk, payments: PaymentHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    payment_id = await _pay(payments, 12000)
    await order(payments, payment_id)

    async def refuse(*_: object) -> str:
        raise PaymentProviderRefused("The charge is disputed.")

    monkeypatch.setattr(payments.provider, "refund", refuse)
    await send_refunds(payments.resources, payments.providers)
    overview = (await clerk.get("")).text
    assert "Refunds that were not made" in overview
    page = await clerk.get("/payments/review")
    assert "€17.60" in page.text
    assert "The provider rejected the refund" in page.text
    assert "The charge is disputed." in page.text
    assert "The charge is disputed." in (await clerk.get(f"/payments/{payment_id}")).text
    form = read_fields((await clerk.get("/payments/review")).text)
    done = await clerk.follow(await clerk.post("/payments/review", form))
    assert "Marked as reviewed." in done.text
    assert "All done." in done.text
    assert "Refunds that were not made" not in (await clerk.get("")).text


@pytest.mark.parametrize(
    ("account", "message"),
    [("sandbox", None), ("cards", "The provider account cards was removed.")],
)
async def test_a_payment_says_that_the_account_of_its_provider_was_removed(
    resources: Resources, payments: PaymentHarness, account: str, message: str | None
) -> None:
    application = Application(resources)
    application.providers["sandbox"] = payments.provider
    clerk = await sign_in(resources, application.app, payments.harness)
    payment_id = await _pay(payments, 10240)
    await payments.harness.rows(
        "UPDATE payment_movements SET provider = $2 WHERE merchant_id = $1", account
    )
    page = " ".join((await clerk.get(f"/payments/{payment_id}")).text.split())
    if message is None:
        assert "The provider account" not in page
    else:
        assert message in page


@pytest.mark.parametrize(
    ("failing_since", "message"),
    [
        (None, "are read as long as its key works"),
        (datetime(2026, 3, 1, 8, tzinfo=UTC), "has not responded since"),
    ],
)
async def test_a_payment_says_that_the_account_of_its_provider_is_closed(
    resources: Resources, payments: PaymentHarness, failing_since: datetime | None, message: str
) -> None:
    payment_id = await _pay(payments, 10240)
    application = Application(resources)
    application.providers["sandbox"] = payments.provider
    payments.provider.is_closed = True
    clerk = await sign_in(resources, application.app, payments.harness)
    if failing_since is not None:
        async with resources.database.transaction() as tx:
            await save_closed_failure(tx, "sandbox", failing_since)
    page = " ".join((await clerk.get(f"/payments/{payment_id}")).text.split())
    assert "account sandbox is closed" in page
    assert message in page
