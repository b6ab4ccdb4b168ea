"""Disputes: their effect on a claim, and how each of them ends."""

from datetime import timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.cases.disputes.answer_dispute import ResolutionOutcome
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState
from dunwell.cases.payments.reversals import reverse_payment
from dunwell.contact.escalation.engine import Engine
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind, Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.disputes import (
    ACCEPTED,
    DEBTOR,
    REJECTED,
    answer,
    dispute,
    read_disputes,
    resolve,
    withdraw,
)
from tests.support.harness import ERP, Harness, a_harness
from tests.support.merchants import CONFIGURATION

DAY = timedelta(days=1)
SECRET = "my neighbour Kunigunde took it"
OWN = msgspec.structs.replace(
    CONFIGURATION,
    disputes=DisputeSettings(
        (DisputeReason("WRONG_SIZE", {"en": "Wrong size", "de": "Falsche Größe"}),)
    ),
)


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock, a_definition(), configuration=OWN)


async def holds(harness: Harness, claim_id: int) -> list[HoldKind]:
    return [each.kind for each in (await harness.read(claim_id)).holds]


async def status(harness: Harness, claim_id: int) -> Status:
    return (await harness.read(claim_id)).status


async def sent(harness: Harness) -> int:
    await harness.run()
    return len(harness.channels[0].sent)


async def test_a_dispute_stops_the_workflow_and_raises_an_event(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id, "AMOUNT_WRONG", "ten too much")
    assert await sent(harness) == 0
    [event] = await harness.events(claim_id)
    assert event["type"] == "DISPUTED"
    assert event["source"] is None
    assert event["claim"]["disputeReason"] == {
        "type": "AMOUNT_WRONG", "disputeId": str(opened.dispute_id),
    }  # fmt: skip
    assert await read_disputes(harness, claim_id) == [opened]
    assert opened.message == "ten too much"
    assert (opened.state, await holds(harness, claim_id)) == ("OPEN", [HoldKind.DISPUTE])


@pytest.mark.parametrize(
    ("chosen", "message"), [("OTHER", "ten too much"), ("WRONG_SIZE", "Falsche Größe")]
)
async def test_the_event_of_a_custom_reason_has_a_message(
    harness: Harness, chosen: str, message: str
) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id, chosen, "ten too much")
    [event] = await harness.events(claim_id)
    assert event["claim"]["disputeReason"] == {
        "type": "OTHER", "message": message, "disputeId": str(opened.dispute_id),
    }  # fmt: skip
    assert opened.message == "ten too much"


async def test_an_accepted_dispute_withdraws_the_claim(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    resolved = await resolve(harness, opened, ACCEPTED, message="Right you are.")
    assert (resolved.ended_claim, resolved.resolution) == (True, "Right you are.")
    assert await read_disputes(harness, claim_id) == [resolved]
    claim = await harness.read(claim_id)
    assert (claim.status, claim.next_step_at, claim.holds) == (Status.WITHDRAWN, None, [])
    await harness.run_until(harness.clock.now() + 30 * DAY)
    assert [each["type"] for each in await harness.events(claim_id)] == ["DISPUTED"]


async def test_an_accepted_dispute_cancels_planned_contacts(harness: Harness) -> None:
    [claim_id] = await harness.create()
    await Engine(harness.resources).run_once()
    await resolve(harness, await dispute(harness, claim_id), ACCEPTED)
    [contact] = await harness.rows("SELECT state FROM communications WHERE merchant_id = $1")
    assert contact["state"] == "CANCELLED"


@pytest.mark.parametrize(("outcome", "end_claim"), [(ACCEPTED, False), (REJECTED, None)])
async def test_after_a_rejection_the_workflow_continues_after_the_quiet_days(
    harness: Harness, outcome: ResolutionOutcome, end_claim: bool | None
) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    await answer(harness, opened, outcome, end_claim=end_claim)
    confirmed, answered = harness.channels[0].sent
    assert await holds(harness, claim_id) == [HoldKind.DISPUTE]
    await harness.run_until(harness.clock.now() + 7 * DAY - timedelta(hours=1))
    assert harness.channels[0].sent == [confirmed, answered]
    await harness.run_until(harness.clock.now() + timedelta(hours=1))
    assert await holds(harness, claim_id) == []
    assert len(harness.channels[0].sent) == 3
    assert await status(harness, claim_id) is Status.IN_PROCESS


async def test_the_debtor_withdraws_a_dispute(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    withdrawn = await withdraw(harness, opened)
    assert withdrawn == (await read_disputes(harness, claim_id))[0]
    assert withdrawn == await withdraw(harness, opened)
    assert (withdrawn.state, await sent(harness)) == (DisputeState.WITHDRAWN, 1)


async def test_each_dispute_opens_its_own_hold(harness: Harness) -> None:
    [claim_id] = await harness.create()
    first = await dispute(harness, claim_id)
    second = await dispute(harness, claim_id, "DEFECTIVE", actor=ERP)
    async with harness.work() as work:
        await open_hold(work, claim_id, HoldKind.PAUSE)
    await withdraw(harness, first)
    assert await holds(harness, claim_id) == [HoldKind.DISPUTE, HoldKind.PAUSE]
    await answer(harness, second, REJECTED)
    await harness.run_until(harness.clock.now() + 7 * DAY)
    assert await holds(harness, claim_id) == [HoldKind.PAUSE]
    # Both confirmations and one response were sent, and no contact of the workflow.
    assert len(harness.channels[0].sent) == 3


async def test_the_same_outcome_again_changes_nothing(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    first = await resolve(harness, opened, ACCEPTED, end_claim=False, message="A")
    harness.clock.advance(DAY)
    again = await resolve(harness, opened, ACCEPTED, end_claim=True, message="B")
    assert again == first == (await read_disputes(harness, claim_id))[0]
    assert await status(harness, claim_id) is Status.CREATED
    audited = await harness.rows(
        "SELECT FROM audit_log WHERE merchant_id = $1 AND action = 'dispute.resolve'"
    )
    assert len(audited) == 1


async def test_another_outcome_is_refused_and_changes_nothing(harness: Harness) -> None:
    [claim_id] = await harness.create()
    rejected = await resolve(harness, await dispute(harness, claim_id), REJECTED)
    withdrawn = await withdraw(harness, await dispute(harness, claim_id))
    for ended in (rejected, withdrawn):
        with pytest.raises(InvalidState) as refusal:
            await resolve(harness, ended, ACCEPTED)
        assert refusal.value.details == {"state": ended.state.value}
    with pytest.raises(InvalidState):
        await withdraw(harness, rejected)
    assert set(map(_key, await read_disputes(harness, claim_id))) == {
        _key(rejected),
        _key(withdrawn),
    }
    assert await status(harness, claim_id) is Status.CREATED


def _key(each: ClaimDispute) -> tuple[object, ...]:
    return each.dispute_id, each.state, each.resolved_at


async def test_a_rejection_ends_no_claim(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    with pytest.raises(ValidationError) as refusal:
        await resolve(harness, opened, REJECTED, end_claim=True)
    assert [fault.path for fault in refusal.value.faults] == ["/endClaim"]
    assert await read_disputes(harness, claim_id) == [opened]


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED])
async def test_a_claim_paid_while_disputed_stays_collected(
    harness: Harness, outcome: ResolutionOutcome
) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    await harness.pay(claim_id, 10240)
    assert await status(harness, claim_id) is Status.COLLECTED
    resolved = await resolve(harness, opened, outcome)
    assert not resolved.ended_claim
    assert (await status(harness, claim_id), await holds(harness, claim_id)) == (
        Status.COLLECTED,
        [],
    )


async def test_a_reversed_payment_leaves_the_claim_disputed(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id)
    paid = await harness.pay(claim_id, 10240)
    async with harness.work() as work:
        await reverse_payment(work, claim_id, paid.payment.payment_id)
    assert await sent(harness) == 0
    await answer(harness, opened, REJECTED)
    await harness.run_until(harness.clock.now() + 7 * DAY)
    # The four messages before the reminder are sent at once, in any order.
    *subjects, last = [each.subject or "" for each in harness.channels[0].sent]
    assert last == "Erinnerung INV-1001"
    assert sorted(subjects) == [
        "Die Antwort von Nordwind auf Ihren Einwand", "Ihr Einwand ist bei Nordwind eingegangen",
        "Ihre Zahlung an Nordwind wurde zurückgebucht", "Quittung über Ihre Zahlung an Nordwind",
    ]  # fmt: skip


@pytest.mark.parametrize("ended", ["COLLECTED", "ARCHIVED", "WITHDRAWN"])
async def test_an_ended_claim_cannot_be_disputed(harness: Harness, ended: str) -> None:
    [claim_id] = await harness.create()
    await harness.rows(
        "UPDATE claims SET status = $2, due_at = NULL, status_before_collected ="
        " CASE WHEN $2 = 'COLLECTED' THEN 'CREATED' END WHERE merchant_id = $1",
        ended,
    )
    with pytest.raises(InvalidState) as refusal:
        await dispute(harness, claim_id)
    assert refusal.value.details == {"state": ended}
    assert await read_disputes(harness, claim_id) == []
    assert (await harness.events(claim_id), await holds(harness, claim_id)) == ([], [])


async def test_a_refused_dispute_stores_nothing(harness: Harness) -> None:
    [claim_id] = await harness.create()
    with pytest.raises(ValidationError):
        await dispute(harness, claim_id, "OTHER")
    assert (await harness.events(claim_id), await holds(harness, claim_id)) == ([], [])
    assert await read_disputes(harness, claim_id) == []


async def test_a_dispute_of_another_claim_is_not_found(harness: Harness) -> None:
    first, second = await harness.create("A", "B")
    opened = await dispute(harness, first)
    with pytest.raises(NotFound):
        await resolve(harness, msgspec.structs.replace(opened, claim_id=second), ACCEPTED)
    assert await read_disputes(harness, first) == [opened]


async def test_no_audit_entry_contains_the_debtors_message(harness: Harness) -> None:
    [claim_id] = await harness.create()
    opened = await dispute(harness, claim_id, "OTHER", SECRET)
    await answer(harness, opened, REJECTED, message=SECRET)
    rows = await harness.rows("SELECT action, details::text, subject, actor_kind FROM audit_log"
                            " WHERE merchant_id = $1 ORDER BY audit_id")  # fmt: skip
    actions = {row["action"] for row in rows}
    assert {"dispute.open", "dispute.resolve", "hold.open", "dispute.tell"} <= actions
    assert not [row for row in rows if "Kunigunde" in str(row)]
    [opening] = [row for row in rows if row["action"] == "dispute.open"]
    assert opening["actor_kind"] == DEBTOR.kind
