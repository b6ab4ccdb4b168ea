"""Mandates and debits of a fake GoCardless in a test that kills processes: what debtors, banks and
the merchant do, and what has to be true afterwards."""

import random
from collections import Counter
from datetime import UTC, datetime, timedelta

from dunwell.cases.direct_debit.mandates import revoke_mandate
from dunwell.cases.modalities.answer_modality import approve_modality, request_modality
from dunwell.cases.modalities.limits import PlanTerms
from tests.support.fake_providers import FakeProviderProcess
from tests.support.harness import Harness
from tests.support.modalities import DEBTOR

_INSTALMENTS = 3
# All instalments are due within the two weeks in which they are ordered.
_BRING_FORWARD = """
UPDATE instalments SET due_on = current_date + 2 * number WHERE merchant_id = $1
"""
_PAGES = """
SELECT checkout_id FROM provider_mandates
WHERE merchant_id = $1 AND checkout_id IS NOT NULL AND state = 'OPEN'
"""
_MANDATES = """
SELECT m.claim_id, m.mandate_id, p.provider_mandate_id
FROM mandates m
JOIN provider_mandates p ON p.merchant_id = $1 AND p.mandate_id = m.mandate_id
WHERE m.merchant_id = $1 AND m.state = 'ACTIVE'
"""
_DEBITS = """
SELECT d.collection_id::text, d.modality_id, d.instalment, d.state, r.amount_cents,
       r.provider_reference
FROM debit_collections d
JOIN payment_requests r ON r.merchant_id = $1 AND r.request_id = d.collection_id
WHERE d.merchant_id = $1
"""
_PROVIDER_MANDATES = """
SELECT provider_mandate_id, state FROM provider_mandates
WHERE merchant_id = $1 AND provider_mandate_id IS NOT NULL
"""
# What can happen to a payment next, by its status at the provider.
_EVENTS = {
    "pending_submission": ("submit",),
    "submitted": ("settle", "settle", "bounce"),
    "confirmed": ("paid_out", "bounce", "dispute"),
    "paid_out": ("dispute",),
    "charged_back": ("win",),
}
# The state of a debit, by the status of its payment.
_STATES = {
    "pending_submission": "DELIVERED", "submitted": "DELIVERED", "confirmed": "COLLECTED",
    "paid_out": "COLLECTED", "failed": "RETURNED", "charged_back": "RETURNED",
    "cancelled": "CANCELLED",
}  # fmt: skip
_COLLECTABLE = ("pending_submission", "submitted", "active")


async def agree_plans(harness: Harness, claim_ids: list[int]) -> None:
    """Agree on a plan for each of the claims. Its debtor has not given a mandate yet."""
    first_on = datetime.now(UTC).date() + timedelta(days=14)
    for claim_id in claim_ids:
        async with harness.work(DEBTOR) as work:
            modality = await request_modality(work, claim_id, PlanTerms(_INSTALMENTS, first_on))
        async with harness.work() as work:
            await approve_modality(work, claim_id, modality.modality_id)
    await harness.rows(_BRING_FORWARD)


async def move_debit(harness: Harness, fake: FakeProviderProcess, chance: random.Random) -> None:
    """Let one debtor give or end a mandate, or one bank do something with a debit."""
    pages, mandates = await harness.rows(_PAGES), await harness.rows(_MANDATES)
    pending = {
        each["id"] for each in fake.list_rows("billing_requests") if each["status"] == "pending"
    }
    waiting = [each["checkout_id"] for each in pages if each["checkout_id"] in pending]
    kind = chance.random()
    if waiting and kind < 0.3:
        fake.act(chance.choice(waiting), chance.choice(["give", "give", "give", "cancel"]))
    elif mandates and kind < 0.4:
        await _end_mandate(harness, fake, chance)
    else:
        _move_payment(fake, chance)


async def _end_mandate(harness: Harness, fake: FakeProviderProcess, chance: random.Random) -> None:
    """Let a debtor revoke a mandate here, or let it end at the provider."""
    row = chance.choice(await harness.rows(_MANDATES))
    if chance.random() < 0.5:
        async with harness.work(DEBTOR) as work:
            await revoke_mandate(work, row["claim_id"], row["mandate_id"])
    else:
        fake.act(row["provider_mandate_id"], chance.choice(["cancel", "fail", "expire"]))


def _move_payment(fake: FakeProviderProcess, chance: random.Random) -> None:
    payments = [each for each in fake.list_rows("payments") if each["status"] in _EVENTS]
    if payments:
        payment = chance.choice(payments)
        status = payment["status"]
        # A worker may cancel the payment at this moment.
        fake.act(payment["id"], chance.choice(_EVENTS[status]), expected=status)


async def check_debits(harness: Harness, fake: FakeProviderProcess) -> str:
    """Compare debits and mandates with the provider's, and return the figures."""
    payments = {each["id"]: each for each in fake.list_rows("payments")}
    ordered = {
        key: (each["metadata"]["dunwell_request"], each["amount"]) for key, each in payments.items()
    }
    debits = [each for each in await harness.rows(_DEBITS) if each["provider_reference"]]
    recorded = {
        each["provider_reference"]: (each["collection_id"], each["amount_cents"]) for each in debits
    }
    assert recorded == ordered
    assert len({request for request, _ in ordered.values()}) == len(ordered)
    live = Counter(
        (each["modality_id"], each["instalment"]) for each in debits
        if payments[each["provider_reference"]]["status"] != "cancelled"
    )  # fmt: skip
    assert max(live.values(), default=0) <= 1
    assert {each["provider_reference"]: each["state"] for each in debits} == {
        key: _STATES[each["status"]] for key, each in payments.items()
    }
    mandates = await harness.rows(_PROVIDER_MANDATES)
    assert {each["provider_mandate_id"]: each["state"] == "ACTIVE" for each in mandates} == {
        each["id"]: each["status"] in _COLLECTABLE for each in fake.list_rows("mandates")
    }
    assert debits, "nothing was ordered"
    collected = sum(each["state"] == "COLLECTED" for each in debits)
    return f"{len(mandates)} mandates, {len(debits)} debits ordered, {collected} collected"
