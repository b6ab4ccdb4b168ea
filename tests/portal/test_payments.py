"""The pages of payments: recording one, reversing it once with a reason, and payments that debtors
have started."""

from datetime import date
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import build_debtor_actor
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.application import an_application
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.portal import Clerk, read_fields, sign_in
from tests.support.transfers import nordwind_with_account

_AUDIT = "SELECT action, before, after FROM audit_log WHERE merchant_id = $1 AND action = $2"


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition(), configuration=nordwind_with_account())


async def pay(harness: Harness, claim_id: int, cents: int, number: str = "tx-1") -> UUID:
    return (await harness.pay(claim_id, cents, number)).payment.payment_id


async def announce(harness: Harness, claim_id: int) -> UUID:
    async with harness.work(build_debtor_actor("session-1")) as work:
        choice = PaymentChoice(PaymentChoiceKind.WHOLE, 10240)
        return await announce_transfer(work, claim_id, AnnouncedTransfer(choice, date(2026, 3, 2)))


async def list_audited(harness: Harness, action: str) -> list[Any]:
    return list(await harness.rows(_AUDIT, action))


async def test_a_payment_is_reversed_with_a_reason_and_stays_listed(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    payment_id = await pay(harness, claim_id, 10240)
    page = await clerk.get(f"/payments/{payment_id}")
    assert "The claim is currently paid." in page.text
    assert page.text.count("102.40") >= 2

    done = await clerk.submit(f"/payments/{payment_id}", reason="Charged <b>back</b>")

    assert "Payment reversed. Outstanding now: €102.40." in done.text
    assert "Charged &lt;b&gt;back&lt;/b&gt;" in done.text
    assert "Reverse payment" not in done.text
    view = await harness.read(claim_id)
    assert (view.status, view.balance.outstanding_cents) == (Status.IN_PROCESS, 10240)
    [row] = await harness.rows("SELECT * FROM payments WHERE merchant_id = $1")
    assert row["reversal_reason"] == "Charged <b>back</b>"
    assert row["reversed_at"] == harness.clock.now()


async def test_the_second_of_two_reversals_gets_a_conflict(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    payment_id = await pay(harness, claim_id, 10240)
    form = {**read_fields((await clerk.get(f"/payments/{payment_id}")).text), "reason": "Twice"}

    first = await clerk.post(f"/payments/{payment_id}", form)
    second = await clerk.post(f"/payments/{payment_id}", {**form, "reason": "Other"})

    assert (first.status_code, second.status_code) == (303, 409)
    assert "The payment has already been reversed." in second.text
    assert len(await list_audited(harness, "payment.reverse")) == 1
    [row] = await harness.rows("SELECT reversal_reason FROM payments WHERE merchant_id = $1")
    assert row["reversal_reason"] == "Twice"


@pytest.mark.parametrize("reason", ["", "x" * 256, "a\nb"])
async def test_a_reversal_needs_a_reason_of_limited_length(
    clerk: Clerk, harness: Harness, claim_id: int, reason: str
) -> None:
    payment_id = await pay(harness, claim_id, 240)

    page = await clerk.submit(f"/payments/{payment_id}", reason=reason)

    assert page.status_code == 422
    assert 'id="reason-error"' in page.text
    assert (await harness.read(claim_id)).balance.outstanding_cents == 10000


async def test_a_payments_page_shows_the_outstanding_amount_after_a_reversal(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    first = await pay(harness, claim_id, 10000, "tx-1")
    await pay(harness, claim_id, 5240, "tx-2")

    page = await clerk.get(f"/payments/{first}")

    figures = page.text.partition('<dl class="figures">')[2].partition("</dl>")[0]
    assert ("0.00" in figures, "50.00" in figures) == (True, True)
    await clerk.submit(f"/payments/{first}", reason="Back")
    assert (await harness.read(claim_id)).balance.outstanding_cents == 5000


async def test_a_payment_without_an_open_amount_is_listed_as_unmatched(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    await pay(harness, claim_id, 10240, "fits")
    surplus = await pay(harness, claim_id, 700, "too-much")
    [withdrawn] = await harness.create("INV-1002", email="other@example.org")
    async with harness.work() as work:
        await withdraw_claim(work, withdrawn)
    await pay(harness, withdrawn, 300, "nobodys")

    page = await clerk.get("/payments?show=unmatched")

    assert [word in page.text for word in ("fits", "too-much", "nobodys")] == [False, True, True]
    assert page.text.count("overpaid") == 1
    assert page.text.count(">unallocated<") == 1
    await clerk.submit(f"/payments/{surplus}", reason="Sent back")
    assert "too-much" not in (await clerk.get("/payments?show=unmatched")).text


async def test_a_payment_can_be_recorded_from_the_list_by_the_claims_reference(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    for typed in ("INV-1001", str(claim_id)):
        found = await clerk.get(f"/payments/record?q={typed}")
        assert found.headers["Location"] == clerk.at(f"/claims/{claim_id}/payment")
    none = await clerk.follow(await clerk.get("/payments/record?q=NOBODYS<b>"))
    assert "No claim found." in none.text
    assert "NOBODYS&lt;b&gt;" in none.text


async def test_an_announced_transfer_is_ended_once_and_its_hold_is_released(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    request_id = await announce(harness, claim_id)
    assert [hold.kind for hold in (await harness.read(claim_id)).holds] == ["PAYMENT_PENDING"]
    path = f"/payments/requests/{request_id}"
    form = {**read_fields((await clerk.get(path)).text), "do": "end"}

    first = await clerk.follow(await clerk.post(path, form))
    second = await clerk.follow(await clerk.post(path, form))

    assert "Payment cancelled." in first.text
    assert "Nothing was changed" in second.text
    assert (await harness.read(claim_id)).holds == []
    [row] = await list_audited(harness, "paymentRequest.cancel")
    assert (row["before"], row["after"]) == ({"state": "PENDING"}, {"state": "CANCELLED"})
    listed = await clerk.get("/payments?show=requests&state=CANCELLED")
    assert "Bank transfer" in listed.text
    assert "No entries." in (await clerk.get("/payments?show=requests&state=OPEN")).text


async def test_a_payment_in_progress_at_a_provider_cannot_be_ended(
    clerk: Clerk, harness: Harness, claim_id: int
) -> None:
    request_id = await announce(harness, claim_id)
    await harness.rows("UPDATE payment_requests SET provider = 'sandbox' WHERE merchant_id = $1")
    path = f"/payments/requests/{request_id}"
    page = await clerk.get(path)
    assert "cannot be cancelled" in page.text
    assert "Cancel payment" not in page.text

    answer = await clerk.follow(await clerk.send(path, do="end"))

    assert "Nothing was changed" in answer.text
    [row] = await harness.rows("SELECT state FROM payment_requests WHERE merchant_id = $1")
    assert row["state"] == "PENDING"


async def test_another_merchants_payment_is_not_found(
    resources: Resources, harness: Harness, claim_id: int
) -> None:
    other = await a_harness(resources, harness.clock, a_definition(), key="other",
                          configuration=nordwind_with_account())  # fmt: skip
    [theirs] = await other.create("INV-9", email="other@example.org")
    payment_id, request_id = await pay(other, theirs, 240), await announce_part(other, theirs)
    clerk = await sign_in(resources, an_application(resources).app, harness)
    own = await pay(harness, claim_id, 240)
    fields = {**read_fields((await clerk.get(f"/payments/{own}")).text), "reason": "No"}

    for path in (f"/payments/{payment_id}", f"/payments/requests/{request_id}"):
        assert (await clerk.get(path)).status_code == 404
        answer = await clerk.post(path, {**fields, "do": "end"})
        assert answer.status_code == 404
    [row] = await other.rows("SELECT reversed_at FROM payments WHERE merchant_id = $1")
    assert row["reversed_at"] is None


async def announce_part(harness: Harness, claim_id: int) -> UUID:
    async with harness.work(build_debtor_actor("session-1")) as work:
        choice = PaymentChoice(PaymentChoiceKind.WHOLE, 10000)
        return await announce_transfer(work, claim_id, AnnouncedTransfer(choice, date(2026, 3, 2)))
