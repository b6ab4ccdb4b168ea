"""The audit log: before and after of a change, its origin, and who may read it."""

from datetime import timedelta
from typing import Any

import pytest

from dunwell.accounts.installation.audit_log import AuditEntry, AuditFilter
from dunwell.accounts.merchants.actor import COMMAND_LINE
from dunwell.accounts.merchants.audit_log import list_audit
from dunwell.accounts.merchants.set_up_merchant import change_configuration
from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.payments.change_items import NewItem, add_fee
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.end_claim import archive_claim
from dunwell.contact.messages.suppression import suppress
from dunwell.core.claims.claim_holds import pause_claim, resume_claim
from dunwell.core.workflows.change_workflow import rename_workflow
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.disputes import REJECTED, dispute, resolve
from tests.support.harness import Harness, a_harness
from tests.support.merchants import CONFIGURATION


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition())


async def read(harness: Harness, **wanted: Any) -> list[AuditEntry]:
    """Return the rows, newest first."""
    async with harness.work() as work:
        page = await list_audit(work, limit=200, wanted=AuditFilter(**wanted))
    assert page.next_cursor is None
    return [*page.items]


async def newest(harness: Harness, action: str) -> tuple[Any, Any]:
    """Return before and after of the newest row."""
    entry = (await read(harness, action=action))[0]
    return entry.before, entry.after


async def test_contact_data_is_masked_field_by_field(harness: Harness) -> None:
    [claim_id] = await harness.create(email="old@example.org", mobileNumber="+4915112345678")
    async with harness.work() as work:
        patch = {"email": "new@example.org", "mobileNumber": None, "debtorName": "Erika"}
        await change_contact_data(work, claim_id, patch)
    before, after = await newest(harness, "claim.change")
    assert before["email"] == after["email"] == "***"
    assert (before["mobileNumber"], after["mobileNumber"]) == ("***", None)
    rows = await harness.rows("SELECT a::text FROM audit_log a WHERE merchant_id = $1")
    for secret in ("example.org", "4915112345678", "Erika"):
        assert not any(secret in row["a"] for row in rows)


async def test_a_pause_and_its_end_have_before_and_after(
    harness: Harness, clock: MovableClock
) -> None:
    [claim_id] = await harness.create()
    until = clock.now() + timedelta(days=3)
    async with harness.work() as work:
        await pause_claim(work, claim_id, until=until, reason="Frau Muster ist krank")
    async with harness.work() as work:
        await resume_claim(work, claim_id)
    opened = (None, {"kind": "PAUSE", "until": until.isoformat()})
    assert await newest(harness, "hold.open") == opened
    assert await newest(harness, "hold.lift") == ({"kind": "PAUSE"}, None)


async def test_an_answer_records_the_state_and_masks_the_message(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    await resolve(harness, opened, REJECTED, message="Liebe Frau Muster")
    answered = ({"state": "OPEN"}, {"state": "REJECTED", "message": "***"})
    assert await newest(harness, "dispute.resolve") == answered
    assert await newest(harness, "dispute.open") == (
        None,
        {"state": "OPEN", "type": "AMOUNT_WRONG"},
    )


async def test_payments_and_fees_record_the_outstanding_amount(harness: Harness) -> None:
    [claim_id] = await harness.create()
    paid = await harness.pay(claim_id, 240)
    async with harness.work() as work:
        await reverse_payment(work, claim_id, paid.payment.payment_id)
    async with harness.work() as work:
        await add_fee(work, claim_id, NewItem("DUNNING_FEE", 250))
    assert await newest(harness, "payment.record") == (
        {"status": "CREATED", "outstanding": 10240},
        {"status": "CREATED", "outstanding": 10000, "amount": 240, "currency": "EUR"},
    )
    assert await newest(harness, "payment.reverse") == (
        {"status": "CREATED", "amount": 240}, {"status": "CREATED", "outstanding": 10240},
    )  # fmt: skip
    _, after = await newest(harness, "item.add")
    assert after == {
        "type": "DUNNING_FEE", "value": 250, "status": "CREATED", "outstanding": 10490,
    }  # fmt: skip


async def test_archiving_records_the_previous_state(harness: Harness) -> None:
    [claim_id] = await harness.create()
    for _ in range(2):
        async with harness.work() as work:
            await archive_claim(work, claim_id)
    [entry] = await read(harness, action="claim.archive")
    assert (entry.before, entry.after) == ({"status": "CREATED"}, {"status": "ARCHIVED"})


async def test_a_changed_configuration_records_only_the_differences(harness: Harness) -> None:
    async with harness.work() as work:
        await change_configuration(work, "Nordwind GmbH", CONFIGURATION)
    before, after = await newest(harness, "merchant.change_configuration")
    assert before == {"name": harness.merchant.name}
    assert after == {"name": "Nordwind GmbH"}


async def test_workflows_and_rules_record_the_previous_and_new_state(harness: Harness) -> None:
    version = await harness.publish(a_definition(), name="Second")
    async with harness.work() as work:
        await rename_workflow(work, version.workflow_id, "Third")
    assert await newest(harness, "workflow.publish") == (None, {"version": "v1.0"})
    assert await newest(harness, "workflow.rename") == ({"name": "Second"}, {"name": "Third"})
    before, after = await newest(harness, "assignment_rules.publish")
    assert before["default"] != after["default"] == str(version.workflow_id)


async def test_a_suppressed_address_is_masked(harness: Harness) -> None:
    async with harness.work() as work:
        await suppress(work, harness.resources.keys, "EMAIL", "erika@example.org", "OPERATOR")
    _, after = await newest(harness, "address.suppress")
    assert after == {"address": "e***@example.org", "reason": "OPERATOR"}


async def test_a_row_records_the_origin_of_the_action(harness: Harness) -> None:
    [claim_id] = await harness.create()
    async with harness.work(COMMAND_LINE) as work:
        await pause_claim(work, claim_id)
    await dispute(harness, claim_id)
    origins = {each.action: each.origin for each in await read(harness)}
    assert origins["claims.create"] == {"face": "API"}
    assert origins["dispute.open"] == {"face": "LANDING_PAGE"}
    [pause] = await read(harness, actor_id="command line")
    assert pause.origin == {"face": "COMMAND_LINE"}


async def test_pages_contain_every_row_once_newest_first(
    harness: Harness, clock: MovableClock
) -> None:
    for number in range(7):
        clock.advance(timedelta(seconds=1))
        await harness.create(f"A-{number}")
    found: list[AuditEntry] = []
    cursor = None
    async with harness.work() as work:
        while True:
            page = await list_audit(work, limit=3, cursor=cursor)
            found += page.items
            cursor = page.next_cursor
            if cursor is None:
                break
    assert len({each.audit_id for each in found}) == len(found)
    assert [each.at for each in found] == sorted((each.at for each in found), reverse=True)
    [count] = await harness.rows("SELECT count(*) FROM audit_log WHERE merchant_id = $1")
    assert len(found) == count[0]


async def test_filters_narrow_by_time_subject_action_and_actor(
    harness: Harness, clock: MovableClock
) -> None:
    first, second = await harness.create("A-1", "A-2")
    begin = clock.now()
    clock.advance(timedelta(microseconds=1500))
    for claim_id in (first, second):
        async with harness.work(COMMAND_LINE) as work:
            await pause_claim(work, claim_id)
    later = clock.now()
    assert [e.subject for e in await read(harness, subject=f"claim:{first}")] == [f"claim:{first}"]
    assert len(await read(harness, action="hold.open")) == 2
    assert {e.actor_id for e in await read(harness, actor_id="command line")} == {"command line"}
    assert {e.action for e in await read(harness, since=later)} == {"hold.open"}
    assert "hold.open" not in {e.action for e in await read(harness, until=later)}
    assert "claims.create" in {e.action for e in await read(harness, since=begin, until=later)}
    assert await read(harness, since=later + timedelta(microseconds=1)) == []
