"""The effect of payments, dates and the claim's end on plans and deferrals."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest

from dunwell.cases.modalities import sweep_modalities as sweep_module
from dunwell.cases.modalities.modality import Modality, ModalityEndReason, ModalityState
from dunwell.cases.modalities.progress import decide_progress
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.cases.payments.change_items import NewItem, add_item, delete_item
from dunwell.contact.escalation.end_claim import archive_claim, withdraw_claim
from dunwell.core.claims.states import Status
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.modalities import DEFERMENT, Arrangement, an_arrangement

DAY = timedelta(days=1)
# The first instants, in Berlin, after an instalment's grace period and after the deferral.
FIRST_GRACE_OVER = datetime(2026, 3, 23, 23, 0, tzinfo=UTC)
SECOND_GRACE_OVER = datetime(2026, 4, 23, 22, 0, tzinfo=UTC)
DEFERMENT_OVER = datetime(2026, 3, 31, 22, 0, tzinfo=UTC)
_INSTANT = timedelta(microseconds=1)


@pytest.fixture
async def arrangement(resources: Resources, clock: MovableClock) -> Arrangement:
    return await an_arrangement(resources, clock)


async def ended(arrangement: Arrangement, modality: Modality) -> ModalityEndReason | None:
    return (await arrangement.look(modality.modality_id)).ended_reason


def paid_of(modality: Modality) -> list[int]:
    return [each.paid_cents for each in modality.schedule]


async def test_a_missed_instalment_breaks_the_plan_after_seven_days(
    arrangement: Arrangement,
) -> None:
    plan = await arrangement.agree()
    await arrangement.sweep_at(FIRST_GRACE_OVER - _INSTANT)
    assert await ended(arrangement, plan) is None
    assert await arrangement.sweep_at(FIRST_GRACE_OVER - _INSTANT) == 0

    assert await arrangement.sweep_at(FIRST_GRACE_OVER) == 1

    broken = await arrangement.look(plan.modality_id)
    assert (broken.state, broken.ended_at, broken.ended_reason) == (
        ModalityState.APPROVED, FIRST_GRACE_OVER, ModalityEndReason.BROKEN,
    )  # fmt: skip
    # The hold lasts until the debtor has been notified (tests.engine.test_plan_notices_sent).
    assert await arrangement.holds() == ["MODALITY_ACTIVE"]
    assert await arrangement.states() == ["REQUESTED", "APPROVED"]
    assert await sweep_modalities(arrangement.harness.resources) == 0


async def test_an_instalment_paid_in_its_grace_period_keeps_the_plan(
    arrangement: Arrangement,
) -> None:
    plan = await arrangement.agree()
    arrangement.harness.clock.move_to(FIRST_GRACE_OVER - _INSTANT)
    await arrangement.harness.pay(arrangement.claim_id, 3414)
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    assert paid_of(await arrangement.look(plan.modality_id)) == [3414, 0, 0]
    assert await arrangement.holds() == ["MODALITY_ACTIVE"]
    await arrangement.sweep_at(SECOND_GRACE_OVER - _INSTANT)
    assert await ended(arrangement, plan) is None
    await arrangement.sweep_at(SECOND_GRACE_OVER)
    assert await ended(arrangement, plan) is ModalityEndReason.BROKEN


async def test_an_instalment_short_of_a_cent_is_missed(arrangement: Arrangement) -> None:
    plan = await arrangement.agree()
    await arrangement.harness.pay(arrangement.claim_id, 3413)
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    assert await ended(arrangement, plan) is ModalityEndReason.BROKEN


async def test_a_payment_in_advance_covers_later_instalments(arrangement: Arrangement) -> None:
    plan = await arrangement.agree()
    await arrangement.harness.pay(arrangement.claim_id, 7000)
    await arrangement.sweep_at(SECOND_GRACE_OVER)
    assert paid_of(await arrangement.look(plan.modality_id)) == [3414, 3413, 173]
    assert await ended(arrangement, plan) is None


async def test_a_reversal_makes_an_instalment_missed_again(arrangement: Arrangement) -> None:
    plan = await arrangement.agree()
    paid = await arrangement.harness.pay(arrangement.claim_id, 3414)
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    await arrangement.sweep_at(FIRST_GRACE_OVER + 5 * DAY)
    assert await ended(arrangement, plan) is None

    await arrangement.reverse(paid)
    await sweep_modalities(arrangement.harness.resources)

    assert await ended(arrangement, plan) is ModalityEndReason.BROKEN


async def test_a_reversed_instalment_can_be_paid_again_in_time(arrangement: Arrangement) -> None:
    plan = await arrangement.agree()
    paid = await arrangement.harness.pay(arrangement.claim_id, 3414)
    await arrangement.reverse(paid)
    await sweep_modalities(arrangement.harness.resources)
    assert paid_of(await arrangement.look(plan.modality_id)) == [0, 0, 0]
    await arrangement.harness.pay(arrangement.claim_id, 3414, "tx-2")
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    assert await ended(arrangement, plan) is None


async def test_payments_before_the_request_cover_no_instalment(
    arrangement: Arrangement, clock: MovableClock
) -> None:
    earlier = await arrangement.harness.pay(arrangement.claim_id, 240)
    clock.advance(DAY)
    plan = await arrangement.agree()
    assert plan.amount_cents == 10000
    assert paid_of(await arrangement.look(plan.modality_id)) == [0, 0, 0]
    await arrangement.harness.pay(arrangement.claim_id, 3334, "tx-2")
    clock.advance(DAY)
    # This amount is owed in addition to the plan; the instalment stays paid.
    await arrangement.reverse(earlier)
    assert paid_of(await arrangement.look(plan.modality_id)) == [3334, 0, 0]
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    assert await ended(arrangement, plan) is None


async def test_a_claim_paid_in_full_has_fulfilled_its_plan(arrangement: Arrangement) -> None:
    plan = await arrangement.agree()
    await arrangement.harness.pay(arrangement.claim_id, 10240)
    assert await sweep_modalities(arrangement.harness.resources) == 1
    fulfilled = await arrangement.look(plan.modality_id)
    assert (fulfilled.ended_reason, paid_of(fulfilled)) == (
        ModalityEndReason.FULFILLED, [3414, 3413, 3413],
    )  # fmt: skip
    assert await arrangement.holds() == []
    assert await arrangement.states() == ["REQUESTED", "APPROVED"]


async def test_a_fee_added_later_is_no_part_of_the_plan(arrangement: Arrangement) -> None:
    plan = await arrangement.agree()
    async with arrangement.harness.work() as work:
        await work.tx.execute(
            "INSERT INTO items (merchant_id, claim_id, position, type, value_cents)"
            " VALUES ($1, $2, 1, 'DUNNING_FEE', 250)",
            work.merchant_id, arrangement.claim_id,
        )  # fmt: skip
    # The payment is allocated to the fee first, but it also counts for the instalments.
    await arrangement.harness.pay(arrangement.claim_id, 10240)
    await sweep_modalities(arrangement.harness.resources)
    assert await ended(arrangement, plan) is ModalityEndReason.FULFILLED
    claim = await arrangement.harness.read(arrangement.claim_id)
    assert (claim.balance.outstanding_cents, claim.holds) == (250, [])
    await arrangement.harness.run()
    assert len(arrangement.harness.channels[0].sent) == 1


async def test_a_deferment_passes_at_the_end_of_its_day(arrangement: Arrangement) -> None:
    deferment = await arrangement.agree(DEFERMENT)
    assert await arrangement.sweep_at(DEFERMENT_OVER - _INSTANT) == 0
    await arrangement.sweep_at(DEFERMENT_OVER)
    assert await ended(arrangement, deferment) is ModalityEndReason.PASSED
    assert await arrangement.holds() == []


async def test_an_unanswered_request_ends_with_its_first_date(
    arrangement: Arrangement,
) -> None:
    asked = await arrangement.ask()
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    passed = await arrangement.look(asked.modality_id)
    assert (passed.state, passed.ended_reason) == (
        ModalityState.REQUESTED,
        ModalityEndReason.PASSED,
    )
    assert await arrangement.holds() == []
    assert await arrangement.states() == ["REQUESTED"]


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (withdraw_claim, ModalityEndReason.CLAIM_ENDED),
        (archive_claim, ModalityEndReason.CLAIM_ENDED),
    ],
)
async def test_ending_a_claim_schedules_a_check_of_its_modality(
    arrangement: Arrangement, action: Any, reason: ModalityEndReason
) -> None:
    plan = await arrangement.agree()
    await sweep_modalities(arrangement.harness.resources)
    async with arrangement.harness.work() as work:
        await action(work, arrangement.claim_id)
    assert await sweep_modalities(arrangement.harness.resources) == 1
    assert await ended(arrangement, plan) is reason
    assert await arrangement.holds() == []
    assert await sweep_modalities(arrangement.harness.resources) == 0


async def test_deleting_an_item_that_leaves_the_claim_paid_checks_its_modality(
    arrangement: Arrangement,
) -> None:
    harness, claim_id = arrangement.harness, arrangement.claim_id
    async with harness.work() as work:
        added = await add_item(work, claim_id, NewItem("PRIMARY", 500, "INV-2"))
    await harness.pay(claim_id, 10240)
    deferment = await arrangement.agree(DEFERMENT)
    await sweep_modalities(harness.resources)
    async with harness.work() as work:
        await delete_item(work, claim_id, added.item.item_id)
    assert await sweep_modalities(harness.resources) == 1
    assert await ended(arrangement, deferment) is ModalityEndReason.FULFILLED


async def test_an_ended_modality_keeps_the_amount_paid_until_its_end(
    arrangement: Arrangement,
) -> None:
    plan = await arrangement.agree()
    early = await arrangement.harness.pay(arrangement.claim_id, 100)
    await arrangement.sweep_at(FIRST_GRACE_OVER)
    arrangement.harness.clock.advance(DAY)
    await arrangement.harness.pay(arrangement.claim_id, 5000, "tx-2")
    await arrangement.reverse(early)
    assert paid_of(await arrangement.look(plan.modality_id)) == [100, 0, 0]
    again = await arrangement.ask(DEFERMENT)
    assert (again.amount_cents, paid_of(again)) == (5240, [0])
    assert paid_of(await arrangement.look(again.modality_id)) == [0]


async def test_a_modality_that_cannot_be_checked_holds_up_no_other(
    arrangement: Arrangement, monkeypatch: pytest.MonkeyPatch
) -> None:
    [other_claim] = await arrangement.harness.create("A-2")
    other = Arrangement(arrangement.harness, other_claim)
    faulty, sound = await arrangement.agree(), await other.agree()

    def fail_for_one(modality: Modality, status: Status, today: date) -> ModalityEndReason | date:
        if modality.modality_id == faulty.modality_id:
            raise ZeroDivisionError
        return decide_progress(modality, status, today)

    monkeypatch.setattr(sweep_module, "decide_progress", fail_for_one)
    assert await arrangement.sweep_at(FIRST_GRACE_OVER) == 1
    assert await ended(other, sound) is ModalityEndReason.BROKEN
    assert await ended(arrangement, faulty) is None
    monkeypatch.undo()
    # The modality is checked again an hour later.
    assert await arrangement.sweep_at(FIRST_GRACE_OVER + timedelta(minutes=59)) == 0
    assert await arrangement.sweep_at(FIRST_GRACE_OVER + timedelta(hours=1)) == 1
    assert await ended(arrangement, faulty) is ModalityEndReason.BROKEN


async def test_modalities_of_two_merchants_do_not_affect_each_other(
    resources: Resources, clock: MovableClock
) -> None:
    ours = await an_arrangement(resources, clock)
    theirs = await an_arrangement(resources, clock, key="hansen")
    plans = [await each.agree() for each in (ours, theirs)]
    clock.move_to(FIRST_GRACE_OVER)
    assert await sweep_modalities(resources, ours.harness.merchant.merchant_id) == 1
    assert await ended(ours, plans[0]) is ModalityEndReason.BROKEN
    assert await ended(theirs, plans[1]) is None
    assert await theirs.holds() == ["MODALITY_ACTIVE"]
