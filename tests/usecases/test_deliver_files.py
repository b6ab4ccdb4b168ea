"""Delivery of released files to a bank's folder, each once."""

from datetime import timedelta
from functools import partial

import pytest

from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.cases.direct_debit.files.deliver_files import deliver_debit_files
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.debit_plans import NOTICE, BankFolder, start

_FILES = (
    "SELECT state, next_attempt_at, problem, deliver_to FROM debit_files WHERE merchant_id = $1"
)


async def test_a_file_is_delivered_once_whatever_interrupts_the_worker(
    resources: Resources, clock: MovableClock
) -> None:
    folder = BankFolder()
    debits = await start(resources, clock, deliver_to="bank")
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    file = await debits.release()

    async def deliver() -> None:
        clock.move_to(clock.now() + timedelta(minutes=6))
        await deliver_debit_files(resources, lambda name: folder if name == "bank" else None)  # type: ignore[arg-type,return-value]

    folder.failures["write"] = OSError("disk full")
    await deliver()
    assert folder.files == {}
    for at in ("finish", "after"):
        # As if the worker was killed at this place.
        folder.failures[at] = RuntimeError("killed")
        with pytest.raises(RuntimeError):
            await deliver()
    taken = dict(folder.files)
    # The bank takes the file before the next worker comes.
    folder.files.clear()
    await deliver()
    assert list(taken) == [file.file_name]
    assert folder.files == {}
    rows = await debits.arrangement.harness.rows(_FILES)
    assert [tuple(row) for row in rows] == [("DELIVERED", None, None, "bank")]
    await deliver()
    assert folder.files == {}


@pytest.mark.parametrize("moment", ["before the worker", "while the worker writes it"])
async def test_a_file_that_a_user_downloads_first_is_not_delivered_a_second_time(
    resources: Resources, clock: MovableClock, moment: str
) -> None:
    folder = BankFolder()
    debits = await start(resources, clock, deliver_to="bank")
    mandate = await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    file = await debits.release()
    if moment == "before the worker":
        await debits.download(file)
    else:
        folder.after_write = partial(debits.download, file)
    for _ in range(2):
        await deliver_debit_files(resources, lambda _: folder)  # type: ignore[arg-type,return-value]
        clock.move_to(clock.now() + timedelta(minutes=6))
    assert folder.files == {}
    rows = await debits.arrangement.harness.rows(_FILES)
    assert [tuple(row) for row in rows] == [("DELIVERED", None, None, None)]
    assert (await debits.collections(mandate))[0].state is CollectionState.DELIVERED


async def test_a_download_does_not_deliver_a_file_that_was_handed_over(
    resources: Resources, clock: MovableClock
) -> None:
    folder = BankFolder()
    debits = await start(resources, clock, deliver_to="bank")
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    file = await debits.release()
    folder.failures["finish"] = OSError("connection lost")
    await deliver_debit_files(resources, lambda _: folder)  # type: ignore[arg-type,return-value]
    content = await debits.download(file)
    assert folder.files == {f"{file.file_name}.part": content}
    clock.move_to(clock.now() + timedelta(minutes=6))
    await deliver_debit_files(resources, lambda _: folder)  # type: ignore[arg-type,return-value]
    assert folder.files == {file.file_name: content}
    rows = await debits.arrangement.harness.rows(_FILES)
    assert [tuple(row) for row in rows] == [("DELIVERED", None, None, "bank")]
