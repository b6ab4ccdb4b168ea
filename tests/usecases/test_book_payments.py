"""Booking a set of payments has the same result as booking them one by one."""

from collections.abc import Sequence
from typing import Any

import pytest

from dunwell.cases.payments.bookings.book_payments import book_payments
from dunwell.cases.payments.bookings.store import lock_claims
from dunwell.cases.payments.choice import PaymentChoice, PaymentChoiceKind
from dunwell.cases.payments.record_payment import NewPayment, record_payment
from dunwell.cases.payments.requests.announce_transfer import AnnouncedTransfer, announce_transfer
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.harness import Harness, a_harness
from tests.support.payments import DEBTOR
from tests.support.transfers import nordwind_with_account

# What must be equal, without ids. The claim is named by its reference number.
_RESULTS = {
    "claims": "c.status, c.status_before_collected, c.due_at, c.resume_at, c.held",
    "payments": "t.amount_cents, t.transaction_id, t.method, t.request_id IS NULL, t.recorded_at",
    "allocations": "t.amount_cents",
    "debtor_occasions": "t.occasion, t.facts",
    "payment_requests": "t.state",
    "holds": "t.kind, t.lifted_at",
}
_AUDITS = """
SELECT action, before, after FROM audit_log
WHERE merchant_id = $1 AND action LIKE 'payment%'
ORDER BY audit_id
"""
# Place of the claim and cents; 10240 are owed for each, and the fourth is withdrawn.
_SETS: Sequence[Sequence[tuple[int, int]]] = [
    [(0, 10240), (1, 240)],
    [(0, 10000), (0, 240), (0, 5)],
    [(2, 20000), (2, 1)],
    [(3, 10240), (1, 10240), (0, 1)],
]


async def _prepare(
    resources: Resources, clock: MovableClock, key: str
) -> tuple[Harness, list[int]]:
    harness = await a_harness(resources, clock, key=key, configuration=nordwind_with_account())
    claims = await harness.create("A-1", "A-2", "A-3", "A-4")
    async with harness.work(DEBTOR) as work:
        whole = PaymentChoice(PaymentChoiceKind.WHOLE, 10240)
        await announce_transfer(work, claims[0], AnnouncedTransfer(whole, clock.now().date()))
    async with harness.work() as work:
        await withdraw_claim(work, claims[3])
    return harness, claims


async def _read(harness: Harness) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for table, columns in _RESULTS.items():
        joined = "" if table == "claims" else f"JOIN {table} t USING (merchant_id, claim_id)"
        rows = await harness.rows(
            f"SELECT c.reference_number, {columns} FROM claims c {joined} WHERE c.merchant_id = $1"
        )
        found[table] = sorted(map(repr, map(tuple, rows)))
    found["audits"] = [tuple(row) for row in await harness.rows(_AUDITS)]
    return found


def _build_payment(cents: int, number: int) -> NewPayment:
    return NewPayment(cents, "EUR", f"tx-{number}", method=f"card {number}")


@pytest.mark.parametrize("payments", _SETS, ids=range(len(_SETS)))
async def test_a_set_is_booked_like_single_payments(
    resources: Resources, clock: MovableClock, payments: Sequence[tuple[int, int]]
) -> None:
    single, claims = await _prepare(resources, clock, "single")
    for number, (place, cents) in enumerate(payments):
        async with single.work() as work:
            await record_payment(work, claims[place], _build_payment(cents, number))
    together, claims = await _prepare(resources, clock, "together")
    async with together.work() as work:
        locked = await lock_claims(work.tx, work.merchant_id, claims)
        wanted = [
            (claims[place], _build_payment(cents, number))
            for number, (place, cents) in enumerate(payments)
        ]
        booked = await book_payments(work, locked, wanted)
    assert [each.amount_cents for each in booked] == [cents for _, cents in payments]
    assert await _read(together) == await _read(single)
