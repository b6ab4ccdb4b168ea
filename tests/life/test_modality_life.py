"""Payment plans and deferments as lists of dates: what the process does before, during and after
them."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import pytest

from dunwell.cases.modalities.limits import DeferralTerms, PlanTerms
from dunwell.cases.modalities.modality import ModalityEndReason
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.modalities import Arrangement, an_arrangement
from tests.support.notice_sending import send_due_notices

# A Monday, 10:00 in Berlin.
START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)


@dataclass
class ModalityLife:
    """One claim, the days since its creation, and its events so far."""

    arrangement: Arrangement

    async def run_until_day(self, day: int) -> list[str]:
        """Run until the end of that day's contact hours, a few times a day, and return the types of
        all events so far."""
        harness = self.arrangement.harness
        until = START + timedelta(days=day, hours=7)
        await harness.run()
        while harness.clock.now() < until:
            harness.clock.move_to(min(until, harness.clock.now() + timedelta(hours=3)))
            await harness.run()
            await send_due_notices(harness)
        return [event["type"] for event in await harness.events(self.arrangement.claim_id)]

    async def pay(self, cents: int, transaction_id: str) -> None:
        await self.arrangement.harness.pay(self.arrangement.claim_id, cents, transaction_id)

    async def ended(self) -> list[ModalityEndReason | None]:
        rows = await self.arrangement.harness.rows(
            "SELECT ended_reason FROM payment_modalities WHERE merchant_id = $1"
            " ORDER BY requested_at"
        )
        return [row["ended_reason"] and ModalityEndReason(row["ended_reason"]) for row in rows]


@pytest.fixture
async def life(resources: Resources, clock: MovableClock) -> ModalityLife:
    return ModalityLife(await an_arrangement(resources, clock))


CHANGE = "PAYMENT_MODALITY_STATE_CHANGE"


async def test_a_plan_ends_when_its_third_instalment_is_missed(life: ModalityLife) -> None:
    assert await life.run_until_day(3) == ["ESCALATED"]
    # 5 March: three instalments on 10 March, 10 April and 10 May.
    asked = await life.arrangement.ask(PlanTerms(3, date(2026, 3, 10)))
    assert await life.run_until_day(4) == ["ESCALATED", CHANGE]
    await life.arrangement.approve(asked.modality_id)
    agreed = ["ESCALATED", CHANGE, CHANGE]
    # On 9 March the week of waiting is over, but no fee is charged.
    assert await life.run_until_day(7) == agreed
    await life.pay(3414, "tx-1")
    # 17 April is the last day of grace for the second instalment.
    assert await life.run_until_day(46) == agreed
    await life.pay(3413, "tx-2")
    # 17 May is the last day of grace for the third instalment.
    assert await life.run_until_day(76) == agreed
    assert await life.ended() == [None]
    # The debtor is informed the day after at nine. A day later the process continues with its next
    # step: the fee, the checkpoint, the last wait.
    assert await life.run_until_day(77) == agreed
    assert await life.ended() == [ModalityEndReason.BROKEN]
    reminded = [*agreed, "FEE_ADDED", "CHECKPOINT_REACHED"]
    assert await life.run_until_day(78) == reminded
    assert await life.run_until_day(91) == reminded
    assert await life.run_until_day(92) == [*reminded, "ARCHIVED"]


async def test_the_process_continues_after_a_deferment(life: ModalityLife) -> None:
    await life.run_until_day(3)
    await life.arrangement.agree(DeferralTerms(date(2026, 3, 25)))
    assert await life.run_until_day(23) == ["ESCALATED", CHANGE, CHANGE]
    assert (await life.run_until_day(24))[3:] == ["FEE_ADDED", "CHECKPOINT_REACHED"]
    assert await life.ended() == [ModalityEndReason.PASSED]


async def test_a_short_deferment_does_not_delay_later_steps(life: ModalityLife) -> None:
    await life.run_until_day(1)
    # 4 March: the week of waiting still ends on the 9th.
    await life.arrangement.agree(DeferralTerms(date(2026, 3, 4)))
    assert await life.run_until_day(6) == ["ESCALATED", CHANGE, CHANGE]
    assert (await life.run_until_day(7))[3:] == ["FEE_ADDED", "CHECKPOINT_REACHED"]
