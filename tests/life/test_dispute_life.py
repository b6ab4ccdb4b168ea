"""The lifecycle of a disputed claim as a list of dates."""

from dunwell.cases.disputes.dispute import ClaimDispute
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.life.test_life import STEPS, Life
from tests.support.definitions import a_definition
from tests.support.disputes import ACCEPTED, REJECTED, answer, dispute, resolve, withdraw
from tests.support.house import ERP, a_house

REMINDED = ["FEE_ADDED", "CHECKPOINT_REACHED", "ESCALATED"]


async def a_life(resources: Resources, clock: MovableClock) -> Life:
    house = await a_house(resources, clock, a_definition(steps=STEPS))
    [claim_id] = await house.create()
    return Life(house, claim_id)


async def test_steps_due_during_two_disputes_run_after_both_are_resolved(
    resources: Resources, clock: MovableClock
) -> None:
    life = await a_life(resources, clock)
    house, claim_id = life.house, life.claim_id
    assert await life.at_day(3) == ["ESCALATED"]
    amount = await dispute(house, claim_id, "AMOUNT_WRONG")
    assert await life.at_day(5) == ["ESCALATED", "DISPUTED"]
    phoned = await dispute(house, claim_id, "OTHER", "It is broken, she says.", actor=ERP)
    told = ["ESCALATED", "DISPUTED", "DISPUTED"]
    assert await life.at_day(10) == told
    await answer(house, amount, REJECTED)
    assert await life.at_day(17) == told
    assert await life.outstanding() == 10240
    await answer(house, phoned, ACCEPTED, end_claim=False)
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
    opened = await dispute(life.house, life.claim_id, "IDENTITY_THEFT")
    await life.at_day(9)
    await resolve(life.house, opened, ACCEPTED)
    assert await life.status() is Status.WITHDRAWN
    assert await life.at_day(60) == ["ESCALATED", *REMINDED, "DISPUTED"]
    assert (await life.outstanding(), await life.sent()) == (10490, 2)


async def test_the_process_continues_after_a_withdrawn_dispute_until_payment(
    resources: Resources, clock: MovableClock
) -> None:
    life = await a_life(resources, clock)
    await life.at_day(1)
    opened: ClaimDispute = await dispute(life.house, life.claim_id, "GOODS_NOT_RECEIVED")
    await life.at_day(2)
    await life.house.pay(life.claim_id, 10000, "undisputed")
    assert await life.at_day(8) == ["ESCALATED", "DISPUTED"]
    await withdraw(life.house, opened)
    assert await life.at_day(8) == ["ESCALATED", "DISPUTED", *REMINDED]
    await life.house.pay(life.claim_id, 490, "rest")
    assert await life.status() is Status.COLLECTED
    assert await life.at_day(40) == ["ESCALATED", "DISPUTED", *REMINDED]
