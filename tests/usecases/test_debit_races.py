"""Two users release debits, or confirm or dissolve their file, at the same time; or a debtor
revokes the mandate meanwhile."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any
from uuid import UUID

import pytest

from dunwell.accounts.merchants.actor import Actor
from dunwell.cases.direct_debit.debit_values import CollectionState
from dunwell.cases.direct_debit.files.release_debits import (
    confirm_debit_file,
    dissolve_debit_file,
)
from dunwell.cases.direct_debit.files.store import DebitFile
from dunwell.cases.direct_debit.mandates import list_mandates, revoke_mandate
from dunwell.core.claims.access import lock_claim_of_merchant
from dunwell.platform.clock import MovableClock
from dunwell.platform.errors import InvalidState, NotFound, ValidationError
from dunwell.platform.resources import Resources
from tests.support.debit_plans import CLERK, NOTICE, SECOND, Debits, start
from tests.support.modalities import DEBTOR
from tests.support.waiting import wait_until_blocked

_FILES = "SELECT state, debits FROM debit_files WHERE merchant_id = $1"


async def _start(resources: Resources, clock: MovableClock, **changes: Any) -> Debits:
    """Return a plan whose first debit can be released."""
    debits = await start(resources, clock, **changes)
    await debits.sign()
    await debits.plan_at()
    await debits.plan_at(NOTICE)
    return debits


async def _together(debits: Debits, *actions: Coroutine[Any, Any, Any]) -> list[Any]:
    """Run actions that begin while the claim is locked. Return their results and exceptions."""
    harness = debits.arrangement.harness
    async with harness.work() as work:
        await lock_claim_of_merchant(work, debits.arrangement.claim_id)
        running = [asyncio.create_task(each) for each in actions]
        await wait_until_blocked(harness.resources.database, *running)
    return await asyncio.gather(*running, return_exceptions=True)


async def _confirm(debits: Debits, file: DebitFile, actor: Actor = SECOND) -> None:
    harness = debits.arrangement.harness
    async with harness.work(actor) as work:
        await confirm_debit_file(work, harness.resources.keys, file.file_id)


async def _dissolve(debits: Debits, file: DebitFile) -> None:
    async with debits.arrangement.harness.work(CLERK) as work:
        await dissolve_debit_file(work, file.file_id)


async def _files(debits: Debits) -> list[tuple[str, int]]:
    rows = await debits.arrangement.harness.rows(_FILES)
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("second_release", [False, True])
async def test_two_users_who_release_a_debit_at_once_make_one_file(
    resources: Resources, clock: MovableClock, *, second_release: bool
) -> None:
    debits = await _start(resources, clock, second_release=second_release)
    ids: Sequence[UUID] = await debits.releasable()
    results = await _together(debits, debits.release(CLERK, ids), debits.release(SECOND, ids))
    assert sorted(type(each).__name__ for each in results) == ["DebitFile", "ValidationError"]
    assert await _files(debits) == [("PROPOSED" if second_release else "RELEASED", 1)]


async def test_two_users_who_confirm_a_file_at_once_release_it_once(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await _start(resources, clock, second_release=True)
    file = await debits.release()
    results = await _together(debits, _confirm(debits, file), _confirm(debits, file))
    assert sorted(type(each).__name__ for each in results) == ["InvalidState", "NoneType"]
    assert await _files(debits) == [("RELEASED", 1)]


async def test_a_file_is_confirmed_or_dissolved_but_not_both(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await _start(resources, clock, second_release=True)
    file = await debits.release()
    confirmed, dissolved = await _together(debits, _confirm(debits, file), _dissolve(debits, file))
    if confirmed is None:
        assert isinstance(dissolved, InvalidState)
        assert await _files(debits) == [("RELEASED", 1)]
    else:
        assert isinstance(confirmed, NotFound | InvalidState)
        assert (await _files(debits), len(await debits.releasable())) == ([], 1)


async def test_a_debit_is_not_released_while_its_mandate_is_revoked(
    resources: Resources, clock: MovableClock
) -> None:
    debits = await _start(resources, clock)
    ids = await debits.releasable()
    async with debits.arrangement.harness.work() as work:
        (mandate,) = await list_mandates(work, debits.arrangement.claim_id)

    async def revoke() -> None:
        async with debits.arrangement.harness.work(DEBTOR) as work:
            await revoke_mandate(work, debits.arrangement.claim_id, mandate.mandate_id)

    revoked, released = await _together(debits, revoke(), debits.release(CLERK, ids))
    assert revoked is None
    first, *_ = await debits.collections(mandate)
    if isinstance(released, ValidationError):
        assert (first.state, await _files(debits)) == (CollectionState.CANCELLED, [])
    else:
        # It was released first. The debit is taken out of the file before the bank gets it.
        assert (first.state, await _files(debits)) == (CollectionState.RELEASED, [("RELEASED", 1)])
