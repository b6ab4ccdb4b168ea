"""Changing a claim's debtor and contact data: checked like a new claim, in each status."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.contact.escalation.end_claim import withdraw_claim
from dunwell.core.claims.fields import DebtorFields
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import ValidationError
from dunwell.platform.resources import Resources
from tests.support.harness import Harness, a_harness

_AUDIT = """
SELECT details FROM audit_log WHERE merchant_id = $1 AND action = 'claim.change' ORDER BY audit_id
"""
WHOLE: dict[str, Any] = {
    "salutation": "MS",
    "debtorName": "Max",
    "debtorLastName": "Muster",
    "companyName": "Muster GmbH",
    "email": "max@example.org",
    "mobileNumber": "+4915187654321",
    "customerNumber": "C-9",
    "contractNumber": "V-9",
    "language": "en",
    "dateOfBirth": "1980-02-03",
    "address": {
        "street": "Elbchaussee 2", "addressLine2": "c/o Erika", "postalCode": "22763",
        "city": "Hamburg", "country": "DE",
    },
    "customFields": {"shop": "web"},
}  # fmt: skip


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def change(harness: Harness, claim_id: int, patch: Any) -> DebtorFields:
    async with harness.work() as work:
        await change_contact_data(work, claim_id, patch)
    return (await harness.read(claim_id)).debtor


async def test_a_complete_patch_is_stored_like_a_new_claim(harness: Harness) -> None:
    changed, created = (
        await harness.create("A-1", email="a@example.org"),
        await harness.create("A-2", **WHOLE),
    )
    patched = await change(harness, changed[0], WHOLE)
    assert patched == (await harness.read(created[0])).debtor


async def test_only_an_actual_change_updates_the_claim(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    clock.advance(timedelta(hours=1))
    await change(harness, claim_id, {"email": "new@example.org", "debtorName": "Erika"})
    assert (await harness.read(claim_id)).updated_at == clock.now()
    clock.advance(timedelta(hours=1))
    await change(harness, claim_id, {"email": "new@example.org"})
    assert (await harness.read(claim_id)).updated_at < clock.now()
    assert [row["details"] for row in await harness.rows(_AUDIT)] == [{"fields": ["email"]}]


async def test_everything_but_the_name_can_be_cleared(harness: Harness) -> None:
    [claim_id] = await harness.create(**WHOLE)
    debtor = await change(
        harness, claim_id, {name: None for name in WHOLE if name != "debtorLastName"}
    )
    assert [name for name in debtor.__struct_fields__ if getattr(debtor, name) is not None] == [
        "last_name"
    ]


async def test_a_faulty_patch_changes_nothing(harness: Harness, clock: MovableClock) -> None:
    [claim_id] = await harness.create()
    before = await harness.read(claim_id)
    clock.advance(timedelta(hours=1))
    with pytest.raises(ValidationError):
        await change(harness, claim_id, {"email": "new@example.org", "mobileNumber": "0151"})
    assert await harness.read(claim_id) == before


async def test_contact_data_can_be_changed_in_every_state(harness: Harness) -> None:
    collected, withdrawn = await harness.create("A-1", "A-2")
    await harness.pay(collected, 10240)
    async with harness.work() as work:
        await withdraw_claim(work, withdrawn)
    for claim_id in (collected, withdrawn):
        before = (await harness.read(claim_id)).status
        debtor = await change(harness, claim_id, {"email": "late@example.org"})
        assert debtor.email == "late@example.org"
        assert (await harness.read(claim_id)).status is before
