"""New claims become searchable in one round of the worker after their commit.

Other transactions do not delay this, and it never undoes a change of the debtor's data.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest

from dunwell.cases.intake.change_contact_data import change_contact_data
from dunwell.cases.intake.create_claims import create_claims
from dunwell.cases.intake.create_together import ClaimIntake
from dunwell.core.claims.searching import store as searching_store
from dunwell.core.claims.searching.search_claims import index_claims, search_claims
from dunwell.core.claims.searching.terms import list_terms
from dunwell.platform.clock import MovableClock
from dunwell.platform.database.database import check_epoch_at
from dunwell.platform.resources import Resources
from tests.support.claims import a_submission
from tests.support.harness import ERP, Harness, a_harness
from tests.support.waiting import wait_until_blocked

_QUEUE = "SELECT count(*) AS rows FROM claim_search_queue WHERE merchant_id = $1"
# The state that a process of a release without the queue leaves.
_FORGET_QUEUE = "DELETE FROM claim_search_queue WHERE merchant_id = $1 RETURNING 1"
_EPOCHS = "SELECT timeline FROM epochs WHERE $1::integer > 0 ORDER BY epoch DESC"
# A new connection compares its server with that of the newest epoch.
_ANOTHER_SERVER = "UPDATE epochs SET timeline = 0 WHERE $1::integer > 0"
_FORGET_EPOCH = """
DELETE FROM epochs WHERE $1::integer > 0 AND epoch = (SELECT max(epoch) FROM epochs)
"""
_SAME_SERVER = "UPDATE epochs SET timeline = $2 WHERE $1::integer > 0"


class UndoneError(Exception):
    """Raised to roll back a transaction."""


@pytest.fixture
async def harness(resources: Resources, clock: MovableClock) -> Harness:
    return await a_harness(resources, clock)


async def search(harness: Harness, text: str) -> list[str]:
    async with harness.work() as work:
        page = await search_claims(work, text, limit=50)
    return [each.reference_number for each in page.items]


async def run_round(harness: Harness) -> int:
    return await index_claims(harness.resources)


async def count_queued(harness: Harness) -> int:
    [row] = await harness.rows(_QUEUE)
    return int(row["rows"])


@asynccontextmanager
async def an_unfinished_creation(harness: Harness, reference: str) -> AsyncIterator[None]:
    """Keep a transaction open that has created a claim."""
    async with harness.work() as work:
        await create_claims(work, [a_submission(reference)])
        yield


@asynccontextmanager
async def an_unfinished_change(harness: Harness, claim_id: int, name: str) -> AsyncIterator[None]:
    """Keep a transaction open that has changed a debtor's name."""
    async with harness.work() as work:
        await change_contact_data(work, claim_id, {"debtorLastName": name})
        yield


async def test_a_claim_is_found_after_one_round_while_other_transactions_still_run(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_harness(resources, clock, key="hansen")
    async with an_unfinished_creation(harness, "SLOW-1"), an_unfinished_creation(hansen, "SLOW-2"):
        await harness.create("QUICK-1")
        assert await run_round(harness) == 1
        assert (await search(harness, "quick"), await search(harness, "slow")) == (["QUICK-1"], [])
    assert await run_round(harness) == 2
    assert (await search(harness, "slow"), await search(hansen, "slow")) == (["SLOW-1"], ["SLOW-2"])
    assert (await run_round(harness), await count_queued(harness)) == (0, 0)


async def test_a_rolled_back_creation_leaves_no_queued_claim(harness: Harness) -> None:
    with pytest.raises(UndoneError):
        async with an_unfinished_creation(harness, "NEVER-1"):
            raise UndoneError
    assert (await count_queued(harness), await run_round(harness)) == (0, 0)
    # The next claim gets an id after that of the claim that was rolled back.
    await harness.create("THEN-1")
    assert await run_round(harness) == 1
    assert await search(harness, "then") == ["THEN-1"]


async def test_partly_used_blocks_of_ids_do_not_delay_indexing(harness: Harness) -> None:
    """Each process has reserved ids, so ids neither ascend nor advance the sequence."""
    processes = [ClaimIntake(harness.resources) for _ in range(3)]
    for number in range(9):
        intake, reference = processes[number % 3], f"REF-{number}"
        await intake.create(harness.merchant, ERP, [a_submission(reference)])
        assert await run_round(harness) == 1, reference
        assert await search(harness, reference) == [reference]


async def test_claims_that_are_queued_twice_are_filled_once(harness: Harness) -> None:
    async with harness.work() as work:
        for reference in ("A-1", "A-2", "A-2"):
            await create_claims(work, [a_submission(reference)])
    assert await count_queued(harness) == 2
    assert (await run_round(harness), await count_queued(harness)) == (2, 0)
    assert sorted(await search(harness, "a-")) == ["A-1", "A-2"]


@asynccontextmanager
async def a_restore(harness: Harness) -> AsyncIterator[None]:
    """Simulate a restore: the database detects another server and starts a new epoch."""
    url = harness.resources.settings.database_url
    assert url is not None
    known = await harness.rows(_EPOCHS)
    await harness.rows(_ANOTHER_SERVER)
    await check_epoch_at(url)
    assert len(await harness.rows(_EPOCHS)) == len(known) + 1
    try:
        yield
    finally:
        await harness.rows(_FORGET_EPOCH)
        await harness.rows(_SAME_SERVER, known[0]["timeline"])


async def test_claims_from_before_and_after_a_restore_are_found(harness: Harness) -> None:
    await harness.create("BEFORE-1")
    async with a_restore(harness):
        await harness.create("AFTER-1")
        assert await run_round(harness) == 2
        assert await search(harness, "before") == ["BEFORE-1"]
        assert await search(harness, "after") == ["AFTER-1"]


@pytest.mark.parametrize("is_undone", [False, True])
async def test_a_debtor_that_is_being_changed_delays_only_that_claim(
    harness: Harness, is_undone: bool
) -> None:
    changed_id, _ = await harness.create("A-1", "A-2", debtorLastName="Altmann")
    with suppress(UndoneError):
        async with an_unfinished_change(harness, changed_id, "Neumann"):
            assert await run_round(harness) == 1
            assert await search(harness, "altmann") == ["A-2"]
            assert (await run_round(harness), await count_queued(harness)) == (0, 1)
            if is_undone:
                raise UndoneError
    # The change has written the terms itself, unless it was rolled back.
    assert await run_round(harness) == is_undone
    found = {name: sorted(await search(harness, name)) for name in ("altmann", "neumann")}
    old, new = (["A-1", "A-2"], []) if is_undone else (["A-2"], ["A-1"])
    assert (found, await count_queued(harness)) == ({"altmann": old, "neumann": new}, 0)


async def test_a_change_before_the_first_round_is_searchable(harness: Harness) -> None:
    [claim_id] = await harness.create("A-1", debtorLastName="Altmann")
    async with an_unfinished_change(harness, claim_id, "Neumann"):
        pass
    assert await search(harness, "neumann") == ["A-1"]
    await run_round(harness)
    assert (await search(harness, "neumann"), await search(harness, "altmann")) == (["A-1"], [])
    assert await count_queued(harness) == 0


async def test_a_change_waits_for_the_terms_that_it_replaces(harness: Harness) -> None:
    [claim_id] = await harness.create("A-1", debtorLastName="Altmann")
    merchant_id = harness.merchant.merchant_id

    async def change() -> None:
        async with an_unfinished_change(harness, claim_id, "Neumann"):
            pass

    async with harness.resources.database.transaction() as tx:
        queued = await searching_store.dequeue_claims(tx, 10)
        [(_, claim)] = await searching_store.load_claims_without_terms(tx, queued, 10)
        changing = asyncio.create_task(change())
        await wait_until_blocked(harness.resources.database, changing)
        terms = [(merchant_id, claim_id, each) for each in list_terms(claim)]
        await searching_store.save_terms(tx, terms)
        await searching_store.requeue_unfinished(tx, queued)
    await changing
    assert (await search(harness, "neumann"), await search(harness, "altmann")) == (["A-1"], [])


async def test_claims_that_another_worker_has_locked_are_skipped(harness: Harness) -> None:
    await harness.create("A-1")
    with suppress(UndoneError):
        async with harness.resources.database.transaction() as other:
            assert len(await searching_store.dequeue_claims(other, 10)) == 1
            await harness.create("A-2")
            assert await run_round(harness) == 1
            assert await search(harness, "a-") == ["A-2"]
            raise UndoneError
    # The other worker has died.
    assert await run_round(harness) == 1
    assert sorted(await search(harness, "a-")) == ["A-1", "A-2"]


async def test_a_merchant_that_imports_many_claims_delays_no_other(
    harness: Harness, resources: Resources, clock: MovableClock
) -> None:
    hansen = await a_harness(resources, clock, key="hansen")
    for number in range(3):
        await harness.create(*(f"A-{number}-{n}" for n in range(5)))
    await hansen.create("H-1")
    # Two rows of the queue, with two claims each.
    assert await index_claims(resources, max_queued=2, max_claims=4) == 3
    assert await search(hansen, "h-1") == ["H-1"]
    assert await count_queued(harness) == 3
    while await run_round(harness):
        pass
    assert len(await search(harness, "a-")) == 15
