"""Payments made elsewhere: recorded once and exact to the cent, in each status."""

import pytest

from dunwell.cases.payments.record_payment import NewPayment, record_payment
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness

_COUNT = "SELECT count(*) FROM payments WHERE merchant_id = $1"


async def count_payments(harness: Harness) -> int:
    [row] = await harness.rows(_COUNT)
    count: int = row["count"]
    return count


async def test_a_claim_is_collected_by_its_last_cent(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    [claim_id] = await harness.create()
    part = await harness.pay(claim_id, 10239, "tx-1")
    assert (part.status, part.balance.outstanding_cents) == (Status.CREATED, 1)
    rest = await harness.pay(claim_id, 1, "tx-2")
    assert (rest.status, rest.balance.outstanding_cents) == (Status.COLLECTED, 0)
    claim = await harness.read(claim_id)
    assert (claim.status, claim.next_step_at) == (Status.COLLECTED, None)


async def test_the_same_transaction_is_one_payment(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    first = await harness.pay(claim_id, 500)
    again = await harness.pay(claim_id, 500)
    assert (first.is_new, again.is_new) == (True, False)
    assert again.payment == first.payment
    assert again.balance.outstanding_cents == 9740
    assert await count_payments(harness) == 1


async def test_the_same_transaction_with_another_amount_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await harness.pay(claim_id, 500)
    with pytest.raises(InvalidState):
        await harness.pay(claim_id, 600)
    assert await count_payments(harness) == 1


async def test_an_amount_beyond_the_outstanding_one_is_overpaid(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    recorded = await harness.pay(claim_id, 10300)
    assert recorded.balance.outstanding_cents == 0
    assert recorded.balance.overpaid_cents == 60
    more = await harness.pay(claim_id, 40, "tx-2")
    assert (more.status, more.balance.overpaid_cents) == (Status.COLLECTED, 100)


async def test_an_archived_claim_stays_archived(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    await harness.rows("UPDATE claims SET status = 'ARCHIVED' WHERE merchant_id = $1")
    recorded = await harness.pay(claim_id, 10240)
    assert (recorded.status, recorded.balance.outstanding_cents) == (Status.ARCHIVED, 0)


async def test_a_payment_in_another_currency_is_refused(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    [claim_id] = await harness.create()
    async with harness.work() as work:
        new = NewPayment(100, "CHF", "tx-9")
        with pytest.raises(ValidationError) as refusal:
            await record_payment(work, claim_id, new)
    assert [fault.path for fault in refusal.value.faults] == ["/currency"]
    assert await count_payments(harness) == 0
