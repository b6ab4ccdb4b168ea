"""The lifecycle of a disputed claim as a list of dates."""

from dunwell.cases.disputes.dispute import ClaimDispute
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.life.test_life import STEPS, Life
from tests.support.definitions import a_definition
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute, resolve, withdraw
from tests.support.harness import ERP, a_harness

REMINDED = ["FEE_ADDED", "CHECKPOINT_REACHED", "ESCALATED"]


async def a_life(resources: Resources, clock: MovableClock) -> Life:
    harness = await a_harness(resources, clock, a_definition(steps=STEPS))
    [claim_id] = await harness.create()
    return Life(harness, claim_id)


async def test_steps_due_during_two_disputes_run_after_both_are_resolved(
    resources: Resources, clock: MovableClock
) -> None:
    life = await a_life(resources, clock)
    harness, claim_id = life.harness, life.claim_id
    assert await life.at_day(3) == ["ESCALATED"]
    amount = await dispute(harness, claim_id, "AMOUNT_WRONG")
    assert await life.at_day(5) == ["ESCALATED", "DISPUTED"]
    phoned = await dispute(harness, claim_id, "OTHER", "It is broken, she says.", actor=ERP)
    told = ["ESCALATED", "DISPUTED", "DISPUTED"]
    assert await life.at_day(10) == told
    await answer(harness, amount, REJECTED)
    assert await life.at_day(17) == told
    assert await life.outstanding() == 10240
    await answer(harness, phoned, ACCEPTED, end_claim=False)
    # After the answer, nothing happens for a week.
    assert await life.at_day(23) == told
    assert (await life.outstanding(), await life.sent()) == (10240, 5)
    # The fee of day 7, the checkpoint and the second reminder follow in order.
    assert await life.at_day(24) == [*told, *REMINDED]
    assert (await life.outstanding(), await life.sent()) == (10490, 6)
    assert await life.at_day(37) == [*told, *REMINDED]
    assert await life.at_day(38) == [*told, *REMINDED, "ARCHIVED"]


async def test_an_accepted_dispute_withdraws_the_claim_and_stops_the_process(
    resources: Resources, clock: MovableClock
) -> None:
    life = await a_life(resources, clock)
    await life.at_day(7)
    opened = await dispute(life.harness, life.claim_id, "IDENTITY_THEFT")
    await life.at_day(9)
    await resolve(life.harness, opened, ACCEPTED)
    assert await life.status() is Status.WITHDRAWN
    assert await life.at_day(60) == ["ESCALATED", *REMINDED, "DISPUTED"]
    assert (await life.outstanding(), await life.sent()) == (10490, 2)


async def test_the_process_continues_after_a_withdrawn_dispute_until_payment(
    resources: Resources, clock: MovableClock
) -> None:
    life = await a_life(resources, clock)
    await life.at_day(1)
    opened: ClaimDispute = await dispute(life.harness, life.claim_id, "GOODS_NOT_RECEIVED")
    await life.at_day(2)
    await life.harness.pay(life.claim_id, 10000, "undisputed")
    assert await life.at_day(8) == ["ESCALATED", "DISPUTED"]
    await withdraw(life.harness, opened)
    assert await life.at_day(8) == ["ESCALATED", "DISPUTED", *REMINDED]
    await life.harness.pay(life.claim_id, 490, "rest")
    assert await life.status() is Status.COLLECTED
    assert await life.at_day(40) == ["ESCALATED", "DISPUTED", *REMINDED]
