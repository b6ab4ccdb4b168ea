"""How long a plan waits for the result of a debit, and when a delivery is repeated."""

from datetime import UTC, datetime, timedelta

import pytest

from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.cases.direct_debit.files.deliver_files import deliver_debit_files
from dunwell.cases.modalities.modality import ModalityEndReason
from dunwell.cases.modalities.sweep_modalities import sweep_modalities
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debit_plans import NOTICE, BankFolder, Debits, deliver_first, start


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
