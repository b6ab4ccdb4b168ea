"""Concurrent operations on a payment plan or deferral: one wins, and all records agree."""

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime
from typing import Any

import pytest

from dunwell.cases.modalities.modality import ModalityEndReason, ModalityState
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.record_payment import NewPayment, record_payment
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState
from dunwell.platform.resources import Resources
from tests.support.modalities import Arrangement, an_arrangement

FIRST_GRACE_OVER = datetime(2026, 3, 23, 23, 0, tzinfo=UTC)
_SHARED = "SELECT FROM instalments WHERE merchant_id = $1"


@pytest.fixture
async def arrangement(resources: Resources, clock: MovableClock) -> Arrangement:
    return await an_arrangement(resources, clock)


async def race(*attempts: Awaitable[Any]) -> list[Any]:
    """Return the result of each attempt, with refusals as values; raise anything else."""
    outcomes = await asyncio.gather(*attempts, return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException) and not isinstance(outcome, InvalidState):
            raise outcome
    return outcomes


async def test_concurrent_approvals_approve_once(arrangement: Arrangement) -> None:
    asked = await arrangement.ask()
    answers = await race(*(arrangement.approve(asked.modality_id) for _ in range(5)))
    assert {answer.state for answer in answers} == {ModalityState.APPROVED}
    assert await arrangement.states() == ["REQUESTED", "APPROVED"]
    assert await arrangement.holds() == ["MODALITY_ACTIVE"]


async def test_a_concurrent_approval_and_rejection_have_one_winner(
    arrangement: Arrangement,
) -> None:
    asked = await arrangement.ask()
    outcomes = await race(
        arrangement.approve(asked.modality_id), arrangement.reject(asked.modality_id)
    )
    assert sum(isinstance(each, InvalidState) for each in outcomes) == 1
    state = (await arrangement.look(asked.modality_id)).state
    assert await arrangement.states() == ["REQUESTED", state.value]
    held = ["MODALITY_ACTIVE"] if state is ModalityState.APPROVED else []
    assert await arrangement.holds() == held


async def test_a_plan_withdrawn_while_it_is_approved_has_ended(
    arrangement: Arrangement,
) -> None:
    asked = await arrangement.ask()
    approval, _ = await race(
        arrangement.approve(asked.modality_id), arrangement.withdraw(asked.modality_id)
    )
    found = await arrangement.look(asked.modality_id)
    assert found.ended_reason is ModalityEndReason.WITHDRAWN
    came_late = isinstance(approval, InvalidState)
    assert found.state is (ModalityState.REQUESTED if came_late else ModalityState.APPROVED)
    assert await arrangement.states() == ["REQUESTED"] + ([] if came_late else ["APPROVED"])
    assert await arrangement.holds() == []


async def test_concurrent_requests_create_one_request(arrangement: Arrangement) -> None:
    outcomes = await race(*(arrangement.ask() for _ in range(5)))
    assert sum(isinstance(each, InvalidState) for each in outcomes) == 4
    assert await arrangement.states() == ["REQUESTED"]
    assert len(await arrangement.harness.rows(_SHARED)) == 3


async def test_the_sweep_waits_for_a_payment_that_is_being_booked(
    arrangement: Arrangement, clock: MovableClock
) -> None:
    plan = await arrangement.agree()
    clock.move_to(FIRST_GRACE_OVER)
    async with arrangement.harness.work() as work:
        new = NewPayment(3414, "EUR", "tx-1")
        await record_payment(work, arrangement.claim_id, new)
        assert await sweep_modalities(arrangement.harness.resources) == 0
    assert await sweep_modalities(arrangement.harness.resources) == 1
    found = await arrangement.look(plan.modality_id)
    assert (found.ended_reason, found.schedule[0].is_paid) == (None, True)
    assert await arrangement.holds() == ["MODALITY_ACTIVE"]


async def test_concurrent_sweeps_and_payments_lose_nothing(
    arrangement: Arrangement, clock: MovableClock
) -> None:
    plan = await arrangement.agree()
    clock.move_to(FIRST_GRACE_OVER)
    resources, pay = arrangement.harness.resources, arrangement.harness.pay
    await race(
        *(sweep_modalities(resources) for _ in range(3)),
        *(pay(arrangement.claim_id, 2560, f"tx-{n}") for n in range(4)),
        *(sweep_modalities(resources) for _ in range(3)),
    )
    await sweep_modalities(resources)
    ended = (await arrangement.look(plan.modality_id)).ended_reason
    # The plan was broken before the payment, or fulfilled by it.
    assert ended in (ModalityEndReason.BROKEN, ModalityEndReason.FULFILLED)
    claim = await arrangement.harness.read(arrangement.claim_id)
    assert claim.status is Status.COLLECTED
    # After a broken plan the claim is on hold until its debtor is notified.
    assert bool(claim.holds) is (ended is ModalityEndReason.BROKEN)
