"""A person settles a contact in doubt; until then the claim waits, and afterwards it continues
once."""

import asyncio
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.assignment.assign_claims import assign_to_workflow
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.contacts.outcomes.record_outcomes import resolve_unknown_contact
from dunwell.core.workflows.drafts.edit_draft import save_draft
from dunwell.core.workflows.drafts.publish_draft import publish_draft
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.definitions import DOCUMENT, a_definition
from tests.support.harness import Harness, ScriptedChannel, a_harness
from tests.support.ledgers import outcomes, seal_and_verify

DAY = timedelta(days=1)
_CONTACTS = """
SELECT state, attempts, handed_over_at IS NOT NULL AS was_handed_over FROM communications
WHERE merchant_id = $1 ORDER BY run, step_id, place
"""
_POSITION = "SELECT status, next_step_id, due_at FROM claims WHERE merchant_id = $1"
_GUARDED = "SELECT sum(cardinality(contacted_on)) FROM contact_guards WHERE merchant_id = $1"


async def a_harness_in_doubt(resources: Resources, clock: MovableClock, **given: Any) -> Harness:
    """Return a harness with one claim whose first contact may have left."""
    channel = ScriptedChannel([TimeoutError()], is_repeatable=False)
    harness = await a_harness(resources, clock, a_definition(), channels=[channel], **given)
    await harness.create()
    await harness.run()
    return harness


async def settle(harness: Harness, *, was_sent: bool) -> str:
    async with harness.work() as work:
        return await resolve_unknown_contact(work, reference(harness), was_sent=was_sent)


def reference(harness: Harness) -> UUID:
    return harness.channels[0].sent[0].communication_id


async def contacts(harness: Harness) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in await harness.rows(_CONTACTS)]


async def workflow_position(harness: Harness) -> tuple[str, int | None, datetime | None]:
    [row] = await harness.rows(_POSITION)
    return row["status"], row["next_step_id"], row["due_at"]


async def event_types(harness: Harness) -> list[str]:
    [claim] = await harness.rows("SELECT claim_id FROM claims WHERE merchant_id = $1")
    return [event["type"] for event in await harness.events(claim["claim_id"])]


async def test_a_claim_with_a_contact_in_doubt_waits_until_it_is_settled(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    await harness.run_until(clock.now() + 2 * DAY)
    assert await contacts(harness) == [("UNKNOWN", 1, True)]
    assert await workflow_position(harness) == ("IN_PROCESS", 1, None)
    assert await event_types(harness) == []
    assert len(harness.channels[0].sent) == 1


async def test_a_contact_settled_as_sent_continues_the_claim_from_now(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    clock.advance(2 * DAY)
    assert await settle(harness, was_sent=True) == "ACCEPTED"
    assert await event_types(harness) == ["ESCALATED"]
    await harness.run()
    assert (await workflow_position(harness))[1:] == (3, clock.now() + 7 * DAY)
    assert await outcomes(harness) == ["UNKNOWN", "SETTLED_SENT"]
    assert len(harness.channels[0].sent) == 1
    assert (await seal_and_verify(harness)).findings == ()


async def test_a_contact_settled_as_not_sent_is_sent_again_under_its_reference(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    assert await settle(harness, was_sent=False) == "PLANNED"
    assert await contacts(harness) == [("PLANNED", 0, False)]
    await harness.run()
    assert [each.communication_id for each in harness.channels[0].sent] == [reference(harness)] * 2
    assert await outcomes(harness) == ["UNKNOWN", "SETTLED_NOT_SENT", "ACCEPTED"]
    assert await event_types(harness) == ["ESCALATED"]
    assert (await seal_and_verify(harness)).findings == ()


async def test_a_contact_settled_as_not_sent_does_not_count_for_the_day(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    assert [row[0] for row in await harness.rows(_GUARDED)] == [1]
    await settle(harness, was_sent=False)
    assert [row[0] for row in await harness.rows(_GUARDED)] == [0]


@pytest.mark.parametrize(("was_sent", "state"), [(True, "ACCEPTED"), (False, "CANCELLED")])
async def test_settling_a_contact_does_not_reopen_a_paid_claim(
    resources: Resources, clock: MovableClock, was_sent: bool, state: str
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    [claim] = await harness.rows("SELECT claim_id FROM claims WHERE merchant_id = $1")
    await harness.pay(claim["claim_id"], 10240)
    assert await settle(harness, was_sent=was_sent) == state
    await harness.run_until(clock.now() + DAY)
    assert (await workflow_position(harness))[0] == "COLLECTED"
    assert (await workflow_position(harness))[2] is None
    assert len(harness.channels[0].sent) == 1
    assert await event_types(harness) == (["ESCALATED"] if was_sent else [])
    assert (await seal_and_verify(harness)).findings == ()


async def test_a_paid_and_reversed_claim_waits_for_the_settlement(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    [claim] = await harness.rows("SELECT claim_id FROM claims WHERE merchant_id = $1")
    paid = await harness.pay(claim["claim_id"], 10240)
    async with harness.work() as work:
        await reverse_payment(work, claim["claim_id"], paid.payment.payment_id)
    await harness.run_until(clock.now() + DAY)
    assert await contacts(harness) == [("UNKNOWN", 1, True)]
    await settle(harness, was_sent=False)
    await harness.run()
    assert await contacts(harness) == [("ACCEPTED", 1, True)]


@pytest.mark.parametrize(("was_sent", "state"), [(True, "ACCEPTED"), (False, "CANCELLED")])
async def test_settling_a_contact_does_not_move_a_claim_assigned_to_another_workflow(
    resources: Resources, clock: MovableClock, was_sent: bool, state: str
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    claim_id = await assign_to_another_reminder(harness)
    # The new run waits for its own contact, which the daily limit holds back.
    before = await workflow_position(harness)
    assert before == ("IN_PROCESS", 1, None)
    assert await settle(harness, was_sent=was_sent) == state
    assert await workflow_position(harness) == before
    step_names = [event["actionStep"]["name"] for event in await harness.events(claim_id)]
    assert step_names == ["First reminder"] * was_sent


async def assign_to_another_reminder(harness: Harness) -> int:
    [claim] = await harness.rows("SELECT claim_id FROM claims WHERE merchant_id = $1")
    step = {**DOCUMENT["steps"][0], "name": "Another reminder"}
    async with harness.work() as work:
        draft = await save_draft(work, "Other", a_definition(steps=[step]))
        other = await publish_draft(work, draft.workflow_id)
        await assign_to_workflow(work, other.workflow_id, [claim["claim_id"]])
    await harness.run()
    claim_id: int = claim["claim_id"]
    return claim_id


async def test_the_second_of_two_concurrent_settlements_is_refused_with_the_state(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness_in_doubt(resources, clock)
    answers = await asyncio.gather(
        settle(harness, was_sent=True), settle(harness, was_sent=False), return_exceptions=True
    )
    [refusal] = [each for each in answers if isinstance(each, InvalidState)]
    [state] = [each for each in answers if isinstance(each, str)]
    assert refusal.details == {"state": state}
    assert len(await outcomes(harness)) == 2
    assert (await seal_and_verify(harness)).findings == ()


async def test_only_an_unknown_contact_can_be_settled(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, a_definition())
    await harness.create()
    await harness.run()
    with pytest.raises(InvalidState) as raised:
        await settle(harness, was_sent=False)
    assert raised.value.details == {"state": "ACCEPTED"}
    assert await contacts(harness) == [("ACCEPTED", 1, True)]
    assert await outcomes(harness) == ["ACCEPTED"]
