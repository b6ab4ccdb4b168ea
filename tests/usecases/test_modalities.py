"""Requesting plans and deferrals, and the responses: holds, events, refusals."""

from datetime import UTC, date, datetime, timedelta

import pytest

from dunwell.cases.modalities.limits import PlanTerms
from dunwell.cases.modalities.modality import ModalityEndReason, ModalityState, ModalityType
from dunwell.core.claims.claim_holds import open_hold
from dunwell.core.claims.states import HoldKind
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.modalities import (
    AT_ONCE,
    DEFERMENT,
    PLAN,
    Arrangement,
    an_arrangement,
)

DAY = timedelta(days=1)
_AUDITED = "SELECT action FROM audit_log WHERE merchant_id = $1 AND action LIKE 'modality.%'"


@pytest.fixture
async def arrangement(resources: Resources, clock: MovableClock) -> Arrangement:
    return await an_arrangement(resources, clock)


async def test_a_request_opens_a_hold_and_raises_an_event(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()

    assert await arrangement.look(asked.modality_id) == asked
    assert (asked.state, asked.answered_at) == (ModalityState.REQUESTED, None)
    assert [each.amount_cents for each in asked.schedule] == [3414, 3413, 3413]
    assert await arrangement.holds() == ["MODALITY_REQUESTED"]
    [event] = await arrangement.harness.events(arrangement.claim_id)
    assert event["source"] is None
    assert event["claim"]["paymentModality"] == {
        "type": "PAYMENT_PLAN", "state": "REQUESTED", "modalityId": str(asked.modality_id),
    }  # fmt: skip
    await arrangement.harness.run()
    assert arrangement.harness.channels[0].sent == []


async def test_an_approved_plan_keeps_the_claim_on_hold_while_it_is_active(
    arrangement: Arrangement,
) -> None:
    approved = await arrangement.agree()

    assert await arrangement.look(approved.modality_id) == approved
    assert approved.state is ModalityState.APPROVED
    [hold] = (await arrangement.harness.read(arrangement.claim_id)).holds
    assert hold.kind is HoldKind.MODALITY_ACTIVE
    assert hold.until is None
    assert await arrangement.states() == ["REQUESTED", "APPROVED"]


async def test_an_approved_deferment_holds_until_the_end_of_its_day(
    arrangement: Arrangement,
) -> None:
    approved = await arrangement.agree(DEFERMENT)

    [event, _] = await arrangement.harness.events(arrangement.claim_id)
    assert event["claim"]["paymentModality"]["type"] == "PAYMENT_DEFEREMENT"
    assert approved.type is ModalityType.PAYMENT_DEFEREMENT
    assert [each.due_on for each in approved.schedule] == [date(2026, 3, 31)]
    [hold] = (await arrangement.harness.read(arrangement.claim_id)).holds
    assert hold.until == datetime(2026, 3, 31, 22, 0, tzinfo=UTC)


async def test_the_workflow_continues_after_a_rejected_request(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()
    rejected = await arrangement.reject(asked.modality_id, "Three rates at most.")

    assert await arrangement.look(asked.modality_id) == rejected
    assert (rejected.state, rejected.ended_reason, rejected.reason) == (
        ModalityState.REJECTED, ModalityEndReason.REJECTED, "Three rates at most.",
    )  # fmt: skip
    assert await arrangement.holds() == []
    assert await arrangement.states() == ["REQUESTED", "REJECTED"]
    await arrangement.harness.run()
    assert len(arrangement.harness.channels[0].sent) == 1


@pytest.mark.parametrize("terms", [PLAN, DEFERMENT])
async def test_the_first_request_can_be_approved_automatically(
    resources: Resources, clock: MovableClock, terms: PlanTerms
) -> None:
    arrangement = await an_arrangement(resources, clock, configuration=AT_ONCE)
    first = await arrangement.ask(terms)
    assert await arrangement.look(first.modality_id) == first
    assert (first.state, first.answered_at) == (ModalityState.APPROVED, clock.now())
    assert await arrangement.holds() == ["MODALITY_ACTIVE"]
    assert await arrangement.states() == ["REQUESTED", "APPROVED"]
    await arrangement.withdraw(first.modality_id)
    second = await arrangement.ask(terms)
    assert second.state is ModalityState.REQUESTED
    assert await arrangement.holds() == ["MODALITY_REQUESTED"]


async def test_the_same_answer_again_changes_nothing(arrangement: Arrangement) -> None:
    approved = await arrangement.agree()
    assert await arrangement.approve(approved.modality_id) == approved
    assert await arrangement.states() == ["REQUESTED", "APPROVED"]
    assert await arrangement.holds() == ["MODALITY_ACTIVE"]
    with pytest.raises(InvalidState):
        await arrangement.reject(approved.modality_id)
    assert (await arrangement.look(approved.modality_id)).state is ModalityState.APPROVED


async def test_a_rejection_is_final_and_keeps_its_reason(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()
    rejected = await arrangement.reject(asked.modality_id, "No.")
    assert await arrangement.reject(asked.modality_id, "Never.") == rejected
    with pytest.raises(InvalidState):
        await arrangement.approve(asked.modality_id)
    assert await arrangement.states() == ["REQUESTED", "REJECTED"]
    assert await arrangement.holds() == []


@pytest.mark.parametrize("approved", [False, True])
async def test_withdrawing_a_modality_raises_no_event(
    arrangement: Arrangement, approved: bool
) -> None:
    modality = await (arrangement.agree() if approved else arrangement.ask())
    states = await arrangement.states()

    withdrawn = await arrangement.withdraw(modality.modality_id)

    assert await arrangement.look(modality.modality_id) == withdrawn
    assert (withdrawn.state, withdrawn.ended_reason) == (
        modality.state,
        ModalityEndReason.WITHDRAWN,
    )
    assert await arrangement.holds() == []
    assert await arrangement.states() == states
    assert await arrangement.withdraw(modality.modality_id) == withdrawn
    for answer in (arrangement.approve, arrangement.reject):
        with pytest.raises(InvalidState) as refusal:
            await answer(modality.modality_id)
        assert refusal.value.details == {"state": "WITHDRAWN"}
    await arrangement.harness.run()
    assert len(arrangement.harness.channels[0].sent) == 1


async def test_a_claim_has_one_modality_at_a_time(arrangement: Arrangement) -> None:
    await arrangement.ask()
    with pytest.raises(InvalidState):
        await arrangement.ask(DEFERMENT)
    assert await arrangement.states() == ["REQUESTED"]
    assert await arrangement.holds() == ["MODALITY_REQUESTED"]


async def test_a_debtor_may_make_three_requests_in_thirty_days(
    arrangement: Arrangement, clock: MovableClock
) -> None:
    for _ in range(3):
        await arrangement.withdraw((await arrangement.ask()).modality_id)
    with pytest.raises(InvalidState):
        await arrangement.ask()
    assert await arrangement.states() == ["REQUESTED"] * 3
    clock.advance(30 * DAY)
    await arrangement.ask(PlanTerms(2, clock.now().date()))
    assert await arrangement.states() == ["REQUESTED"] * 4


async def test_a_request_outside_the_limits_stores_nothing(arrangement: Arrangement) -> None:
    with pytest.raises(ValidationError) as refusal:
        await arrangement.ask(PlanTerms(5, date(2026, 5, 1)))
    assert [each.path for each in refusal.value.faults] == ["/firstDate", "/count"]
    assert (
        await arrangement.harness.rows("SELECT FROM payment_modalities WHERE merchant_id=$1") == []
    )
    assert await arrangement.harness.rows(_AUDITED) == []
    assert await arrangement.holds() == []


async def test_the_deferral_limit_of_the_claim_applies_to_plans_and_deferrals(
    resources: Resources, clock: MovableClock
) -> None:
    arrangement = await an_arrangement(resources, clock, debtor={"maxDeferralDate": "2026-03-20"})
    for terms in (PLAN, DEFERMENT):
        with pytest.raises(ValidationError):
            await arrangement.ask(terms)
    assert await arrangement.states() == []


async def test_only_a_claim_in_process_has_a_modality(arrangement: Arrangement) -> None:
    await arrangement.harness.pay(arrangement.claim_id, 10240)
    with pytest.raises(InvalidState):
        await arrangement.ask()
    assert await arrangement.states() == []


async def test_a_modality_of_another_claim_is_not_found(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()
    [other_id] = await arrangement.harness.create("INV-2")
    other = Arrangement(arrangement.harness, other_id)
    for do in (other.approve, other.reject, other.withdraw):
        with pytest.raises(NotFound):
            await do(asked.modality_id)
    assert (await arrangement.look(asked.modality_id)) == asked


async def test_a_request_of_a_paid_claim_cannot_be_answered(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()
    await arrangement.harness.pay(arrangement.claim_id, 10240)
    # The end of the modality is not recorded yet.
    for answer in (arrangement.approve, arrangement.reject):
        with pytest.raises(InvalidState) as refusal:
            await answer(asked.modality_id)
        assert refusal.value.details == {"state": "FULFILLED"}
    assert await arrangement.states() == ["REQUESTED"]


async def test_a_request_whose_first_date_is_past_cannot_be_answered(
    arrangement: Arrangement, clock: MovableClock
) -> None:
    asked = await arrangement.ask()
    clock.move_to(datetime(2026, 3, 23, 23, 0, tzinfo=UTC))
    with pytest.raises(InvalidState) as refusal:
        await arrangement.approve(asked.modality_id)
    assert refusal.value.details == {"state": "PASSED"}
    assert await arrangement.holds() == ["MODALITY_REQUESTED"]


async def test_other_holds_stay_when_a_modality_ends(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()
    async with arrangement.harness.work() as work:
        await open_hold(work, arrangement.claim_id, HoldKind.DISPUTE)
    await arrangement.reject(asked.modality_id)
    assert await arrangement.holds() == ["DISPUTE"]
    await arrangement.harness.run()
    assert arrangement.harness.channels[0].sent == []


async def test_each_use_case_is_audited(arrangement: Arrangement) -> None:
    approved = await arrangement.agree()
    await arrangement.withdraw(approved.modality_id)
    await arrangement.reject((await arrangement.ask()).modality_id)
    audited = [row["action"] for row in await arrangement.harness.rows(_AUDITED)]
    assert sorted(audited) == [
        "modality.approve", "modality.reject", "modality.request", "modality.request",
        "modality.withdraw",
    ]  # fmt: skip
