"""How long a plan waits for the result of a debit, and when a delivery or the check of a mandate is
repeated."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from dunwell.cases.direct_debit import plan_collections as plan_module
from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.cases.direct_debit.files.deliver_files import deliver_debit_files
from dunwell.cases.direct_debit.store import find_mandate, save_used
from dunwell.cases.modalities.modality import ModalityEndReason
from dunwell.cases.modalities.store import save_awaited_day
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import Connection
from dunwell.platform.resources import Resources
from tests.support.debit_plans import NOTICE, BankFolder, Debits, deliver_first, start
from tests.support.modalities import Arrangement

_PLANNED = CollectionState.PLANNED


async def test_a_plan_waits_fourteen_days_for_the_result(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    mandate, first = await deliver_first(debits)
    assert str(first.collected_on) == "2026-03-16"
    # Fourteen days until 30 March, and seven days of grace. Midnight in Berlin is at 22:00.
    found = []
    for instant in (datetime(2026, 4, 6, 21, 59, tzinfo=UTC), datetime(2026, 4, 6, 22, tzinfo=UTC)):
        clock.move_to(instant)
        await sweep_modalities(resources)
        found.append((await debits.look()).ended_reason)
    assert found == [None, ModalityEndReason.BROKEN]
    assert (await debits.states(mandate))[0] is CollectionState.DELIVERED


@pytest.mark.parametrize(("seconds", "tries"), [(299, 0), (300, 1)])
async def test_a_failed_delivery_is_repeated_after_five_minutes(
    resources: Resources, clock: MovableClock, seconds: int, tries: int
) -> None:
    debits: Debits = await start(resources, clock, deliver_to="bank")
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    await debits.release()
    folder = BankFolder(failures={"write": OSError("disk full")})
    assert await deliver_debit_files(resources, lambda _: folder) == 1  # type: ignore[arg-type,return-value]
    clock.advance(timedelta(seconds=seconds))
    assert await deliver_debit_files(resources, lambda _: folder) == tries  # type: ignore[arg-type,return-value]
    assert len(folder.files) == tries


async def test_a_mandate_that_cannot_be_checked_holds_up_no_other(
    resources: Resources, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    debits = await start(resources, clock)
    harness = debits.arrangement.harness
    [other_claim] = await harness.create("A-2")
    arrangement = Arrangement(harness, other_claim)
    other = Debits(arrangement, (await arrangement.agree()).modality_id)
    faulty, sound = await debits.sign(), await other.sign()

    async def fail_for_one(
        tx: Connection, merchant_id: int, modality_id: UUID, *others: Any, **named: Any
    ) -> None:
        """Fail after the first debit of the plan was stored."""
        if modality_id == debits.modality_id:
            raise ZeroDivisionError
        await save_awaited_day(tx, merchant_id, modality_id, *others, **named)

    monkeypatch.setattr(plan_module, "save_awaited_day", fail_for_one)
    await debits.plan_at()
    assert (await debits.states(faulty), await other.states(sound)) == ([], [_PLANNED] * 3)
    monkeypatch.undo()
    # The mandate is checked again an hour later.
    await debits.plan_at(harness.clock.now() + timedelta(minutes=59))
    assert await debits.states(faulty) == []
    await debits.plan_at(harness.clock.now() + timedelta(minutes=1))
    assert await debits.states(faulty) == [_PLANNED] * 3


async def test_an_earlier_debit_does_not_shorten_the_use_of_its_mandate(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await start(resources, clock)
    mandate = await debits.sign()
    later, earlier = mandate.expires_on + timedelta(days=30), mandate.expires_on
    async with debits.arrangement.harness.work() as work:
        for expires_on in (later, earlier):
            await save_used(work.tx, work.merchant_id, {mandate.mandate_id: expires_on})
        found = await find_mandate(work.tx, work.merchant_id, mandate.mandate_id)
    assert found is not None
    assert found.expires_on == later
