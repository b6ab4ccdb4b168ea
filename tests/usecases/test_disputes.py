"""Disputes: their effect on a claim, and how each of them ends."""

from datetime import timedelta

import msgspec
import pytest

from dunwell.accounts.merchants.configuration import DisputeReason, DisputeSettings
from dunwell.cases.disputes.answer_dispute import ResolutionOutcome
from dunwell.cases.disputes.dispute import ClaimDispute, DisputeState
from dunwell.cases.payments.reverse_payment import reverse_payment
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
from tests.support.house import ERP, House, a_house
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
async def house(resources: Resources, clock: MovableClock) -> House:
    return await a_house(resources, clock, a_definition(), configuration=OWN)


async def holds(house: House, claim_id: int) -> list[HoldKind]:
    return [each.kind for each in (await house.read(claim_id)).holds]


async def status(house: House, claim_id: int) -> Status:
    return (await house.read(claim_id)).status


async def sent(house: House) -> int:
    await house.run()
    return len(house.channels[0].sent)


async def test_a_dispute_stops_the_workflow_and_raises_an_event(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id, "AMOUNT_WRONG", "ten too much")
    assert await sent(house) == 0
    [event] = await house.events(claim_id)
    assert event["type"] == "DISPUTED"
    assert event["source"] is None
    assert event["claim"]["disputeReason"] == {
        "type": "AMOUNT_WRONG", "disputeId": str(opened.dispute_id),
    }  # fmt: skip
    assert await read_disputes(house, claim_id) == [opened]
    assert opened.message == "ten too much"
    assert (opened.state, await holds(house, claim_id)) == ("OPEN", [HoldKind.DISPUTE])


@pytest.mark.parametrize(
    ("chosen", "message"), [("OTHER", "ten too much"), ("WRONG_SIZE", "Falsche Größe")]
)
async def test_the_event_of_a_custom_reason_has_a_message(
    house: House, chosen: str, message: str
) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id, chosen, "ten too much")
    [event] = await house.events(claim_id)
    assert event["claim"]["disputeReason"] == {
        "type": "OTHER", "message": message, "disputeId": str(opened.dispute_id),
    }  # fmt: skip
    assert opened.message == "ten too much"


async def test_an_accepted_dispute_withdraws_the_claim(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    resolved = await resolve(house, opened, ACCEPTED, message="Right you are.")
    assert (resolved.ended_claim, resolved.resolution) == (True, "Right you are.")
    assert await read_disputes(house, claim_id) == [resolved]
    claim = await house.read(claim_id)
    assert (claim.status, claim.next_step_at, claim.holds) == (Status.WITHDRAWN, None, [])
    await house.run_until(house.clock.now() + 30 * DAY)
    assert [each["type"] for each in await house.events(claim_id)] == ["DISPUTED"]


async def test_an_accepted_dispute_cancels_planned_contacts(house: House) -> None:
    [claim_id] = await house.create()
    await Engine(house.resources).run_once()
    await resolve(house, await dispute(house, claim_id), ACCEPTED)
    [contact] = await house.rows("SELECT state FROM communications WHERE merchant_id = $1")
    assert contact["state"] == "CANCELLED"


@pytest.mark.parametrize(("outcome", "end_claim"), [(ACCEPTED, False), (REJECTED, None)])
async def test_after_a_rejection_the_workflow_continues_after_the_quiet_days(
    house: House, outcome: ResolutionOutcome, end_claim: bool | None
) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    await answer(house, opened, outcome, end_claim=end_claim)
    confirmed, told = house.channels[0].sent
    assert await holds(house, claim_id) == [HoldKind.DISPUTE]
    await house.run_until(house.clock.now() + 7 * DAY - timedelta(hours=1))
    assert house.channels[0].sent == [confirmed, told]
    await house.run_until(house.clock.now() + timedelta(hours=1))
    assert await holds(house, claim_id) == []
    assert len(house.channels[0].sent) == 3
    assert await status(house, claim_id) is Status.IN_PROCESS


async def test_the_debtor_withdraws_a_dispute(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    withdrawn = await withdraw(house, opened)
    assert withdrawn == (await read_disputes(house, claim_id))[0]
    assert withdrawn == await withdraw(house, opened)
    assert (withdrawn.state, await sent(house)) == (DisputeState.WITHDRAWN, 1)


async def test_each_dispute_opens_its_own_hold(house: House) -> None:
    [claim_id] = await house.create()
    first = await dispute(house, claim_id)
    second = await dispute(house, claim_id, "DEFECTIVE", actor=ERP)
    async with house.work() as work:
        await open_hold(work, claim_id, HoldKind.PAUSE)
    await withdraw(house, first)
    assert await holds(house, claim_id) == [HoldKind.DISPUTE, HoldKind.PAUSE]
    await answer(house, second, REJECTED)
    await house.run_until(house.clock.now() + 7 * DAY)
    assert await holds(house, claim_id) == [HoldKind.PAUSE]
    # Both confirmations and one response were sent, and no contact of the workflow.
    assert len(house.channels[0].sent) == 3


async def test_the_same_outcome_again_changes_nothing(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    first = await resolve(house, opened, ACCEPTED, end_claim=False, message="A")
    house.clock.advance(DAY)
    again = await resolve(house, opened, ACCEPTED, end_claim=True, message="B")
    assert again == first == (await read_disputes(house, claim_id))[0]
    assert await status(house, claim_id) is Status.CREATED
    audited = await house.rows(
        "SELECT FROM audit_log WHERE merchant_id = $1 AND action = 'dispute.resolve'"
    )
    assert len(audited) == 1


async def test_another_outcome_is_refused_and_changes_nothing(house: House) -> None:
    [claim_id] = await house.create()
    rejected = await resolve(house, await dispute(house, claim_id), REJECTED)
    withdrawn = await withdraw(house, await dispute(house, claim_id))
    for ended in (rejected, withdrawn):
        with pytest.raises(InvalidState) as refusal:
            await resolve(house, ended, ACCEPTED)
        assert refusal.value.details == {"state": ended.state.value}
    with pytest.raises(InvalidState):
        await withdraw(house, rejected)
    assert set(map(_key, await read_disputes(house, claim_id))) == {_key(rejected), _key(withdrawn)}
    assert await status(house, claim_id) is Status.CREATED


def _key(each: ClaimDispute) -> tuple[object, ...]:
    return each.dispute_id, each.state, each.resolved_at


async def test_a_rejection_ends_no_claim(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    with pytest.raises(ValidationError) as refusal:
        await resolve(house, opened, REJECTED, end_claim=True)
    assert [fault.path for fault in refusal.value.faults] == ["/endClaim"]
    assert await read_disputes(house, claim_id) == [opened]


@pytest.mark.parametrize("outcome", [ACCEPTED, REJECTED])
async def test_a_claim_paid_while_disputed_stays_collected(
    house: House, outcome: ResolutionOutcome
) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    await house.pay(claim_id, 10240)
    assert await status(house, claim_id) is Status.COLLECTED
    resolved = await resolve(house, opened, outcome)
    assert not resolved.ended_claim
    assert (await status(house, claim_id), await holds(house, claim_id)) == (Status.COLLECTED, [])


async def test_a_reversed_payment_leaves_the_claim_disputed(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id)
    paid = await house.pay(claim_id, 10240)
    async with house.work() as work:
        await reverse_payment(work, claim_id, paid.payment.payment_id)
    assert await sent(house) == 0
    await answer(house, opened, REJECTED)
    await house.run_until(house.clock.now() + 7 * DAY)
    # The three messages before the reminder are sent at once, in any order.
    *told, last = [each.subject or "" for each in house.channels[0].sent]
    assert last == "Erinnerung INV-1001"
    assert sorted(told) == [
        "Die Antwort von Nordwind auf Ihren Einwand", "Ihr Einwand ist bei Nordwind eingegangen",
        "Quittung über Ihre Zahlung an Nordwind",
    ]  # fmt: skip


@pytest.mark.parametrize("ended", ["COLLECTED", "ARCHIVED", "WITHDRAWN"])
async def test_an_ended_claim_cannot_be_disputed(house: House, ended: str) -> None:
    [claim_id] = await house.create()
    await house.rows(
        "UPDATE claims SET status = $2, due_at = NULL, status_before_collected ="
        " CASE WHEN $2 = 'COLLECTED' THEN 'CREATED' END WHERE merchant_id = $1",
        ended,
    )
    with pytest.raises(InvalidState) as refusal:
        await dispute(house, claim_id)
    assert refusal.value.details == {"state": ended}
    assert await read_disputes(house, claim_id) == []
    assert (await house.events(claim_id), await holds(house, claim_id)) == ([], [])


async def test_a_refused_dispute_stores_nothing(house: House) -> None:
    [claim_id] = await house.create()
    with pytest.raises(ValidationError):
        await dispute(house, claim_id, "OTHER")
    assert (await house.events(claim_id), await holds(house, claim_id)) == ([], [])
    assert await read_disputes(house, claim_id) == []


async def test_a_dispute_of_another_claim_is_not_found(house: House) -> None:
    first, second = await house.create("A", "B")
    opened = await dispute(house, first)
    with pytest.raises(NotFound):
        await resolve(house, msgspec.structs.replace(opened, claim_id=second), ACCEPTED)
    assert await read_disputes(house, first) == [opened]


async def test_no_audit_entry_contains_the_debtors_message(house: House) -> None:
    [claim_id] = await house.create()
    opened = await dispute(house, claim_id, "OTHER", SECRET)
    await answer(house, opened, REJECTED, message=SECRET)
    rows = await house.rows("SELECT action, details::text, subject, actor_kind FROM audit_log"
                            " WHERE merchant_id = $1 ORDER BY audit_id")  # fmt: skip
    told = {row["action"] for row in rows}
    assert {"dispute.open", "dispute.resolve", "hold.open", "dispute.tell"} <= told
    assert not [row for row in rows if "Kunigunde" in str(row)]
    [opening] = [row for row in rows if row["action"] == "dispute.open"]
    assert opening["actor_kind"] == DEBTOR.kind
