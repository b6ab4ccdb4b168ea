"""Sealing the ledger: one process at a time for each merchant, in batches, for every merchant."""

import asyncio
from datetime import datetime
from uuid import UUID

from dunwell.accounts.merchants.actor import SYSTEM
from dunwell.accounts.merchants.audit_log import save_audit
from dunwell.contact.messages.ledger import seal_ledger as sealing
from dunwell.contact.messages.ledger.seal_ledger import seal_batch, seal_ledger
from dunwell.contact.messages.ledger.verify_ledger import verify_ledger
from dunwell.platform.clock import MovableClock
from dunwell.platform.resources import Resources
from tests.support.definitions import a_definition
from tests.support.harness import Harness, a_harness
from tests.support.ledgers import seal_and_verify, verify

_SEALS = """
SELECT seal, contacts, audits, sealed_at FROM ledger_seals WHERE merchant_id = $1 ORDER BY seal
"""
_INSERT_CONTACTS = """
INSERT INTO contact_ledger
    (merchant_id, entry_id, communication_id, claim_id, run, step_id, place, channel, outcome,
     attempts, at)
SELECT $1, gen_random_uuid(), gen_random_uuid(), 1, 1, n, 0, 'EMAIL', 'UNKNOWN', 1, now()
FROM generate_series(1, $2) n
"""


async def seals(harness: Harness) -> list[tuple[int, int, int, datetime]]:
    return [tuple(row) for row in await harness.rows(_SEALS)]


async def write_audit_rows(harness: Harness, count: int) -> None:
    """Write audit rows."""
    async with harness.work(SYSTEM) as work:
        for number in range(count):
            await save_audit(work, "test.note", f"note:{number}")


async def test_without_new_rows_no_seal_is_made(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness(resources, clock)
    assert await seal_ledger(resources) == 0
    assert await seals(harness) == []
    verdict = await verify(harness)
    assert (verdict.head, verdict.sealed_rows, verdict.fault_count) == (None, 0, 0)


async def test_a_seal_has_its_number_of_rows_and_real_time(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock, sandbox=True)
    await write_audit_rows(harness, 2)
    clock.move_to(datetime(2026, 5, 1, tzinfo=clock.now().tzinfo))
    await seal_ledger(resources)
    assert await seals(harness) == [(1, 0, 2, clock.now())]


async def test_contacts_of_two_seals_verify(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness(resources, clock, a_definition())
    for group in range(2):
        await harness.create(*(f"INV-{group}-{n}" for n in range(100)))
        await harness.run()
        await seal_ledger(resources)
    verdict = await verify(harness)
    assert verdict.findings == ()
    assert verdict.unsealed_rows == 0
    assert [row[1] for row in await seals(harness)] == [100, 100]


async def test_more_rows_than_a_batch_get_several_seals(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    async with harness.work() as work:
        await work.tx.execute(_INSERT_CONTACTS, work.merchant_id, sealing.BATCH_SIZE + 7)
    assert await seal_ledger(resources) == 1
    assert await seal_ledger(resources) == 0
    assert [row[1] for row in await seals(harness)] == [sealing.BATCH_SIZE, 7]
    verdict = await verify_ledger(resources, harness.merchant.merchant_id)
    assert (verdict.findings, verdict.sealed_rows) == ((), sealing.BATCH_SIZE + 7)


async def test_concurrent_sealers_make_one_chain(resources: Resources, clock: MovableClock) -> None:
    harness = await a_harness(resources, clock)
    for _ in range(5):
        await write_audit_rows(harness, 3)
        await asyncio.gather(*(seal_ledger(resources) for _ in range(6)))
    assert [row[0] for row in await seals(harness)] == [1, 2, 3, 4, 5]
    assert sum(row[2] for row in await seals(harness)) == 15
    assert (await verify(harness)).findings == ()


async def test_a_merchant_that_another_process_is_sealing_is_skipped(
    resources: Resources, clock: MovableClock
) -> None:
    harness, other = (
        await a_harness(resources, clock),
        await a_harness(resources, clock, key="hansen"),
    )
    await write_audit_rows(harness, 1)
    await write_audit_rows(other, 1)
    async with resources.database.transaction() as tx:
        await tx.execute(
            "SELECT FROM merchants WHERE merchant_id = $1 FOR NO KEY UPDATE",
            harness.merchant.merchant_id,
        )
        assert await seal_batch(resources, harness.merchant.merchant_id) == 0
        await seal_ledger(resources)
    assert [len(await seals(each)) for each in (harness, other)] == [0, 1]
    assert (await seal_and_verify(harness)).findings == ()


async def test_rows_written_while_a_seal_is_made_wait_for_the_next(
    resources: Resources, clock: MovableClock
) -> None:
    harness = await a_harness(resources, clock)
    await write_audit_rows(harness, 1)
    async with harness.work(SYSTEM) as work:
        await save_audit(work, "test.note", "note:late")
        await seal_ledger(resources)
    verdict = await verify(harness)
    assert (verdict.findings, verdict.sealed_rows, verdict.unsealed_rows) == ((), 1, 1)
    assert (await seal_and_verify(harness)).unsealed_rows == 0


async def test_a_broken_chain_of_one_merchant_does_not_affect_others(
    resources: Resources, clock: MovableClock
) -> None:
    harness, other = (
        await a_harness(resources, clock),
        await a_harness(resources, clock, key="hansen"),
    )
    await write_audit_rows(harness, 1)
    await write_audit_rows(other, 1)
    async with resources.database.transaction() as tx:
        await tx.execute(
            "INSERT INTO ledger_seals VALUES ($1, 9223372036854775807, 0, 0, '', now())",
            harness.merchant.merchant_id,
        )
    await seal_ledger(resources)
    assert [row[2] for row in await seals(other)] == [1]


async def test_digests_of_equal_rows_differ_between_merchants(
    resources: Resources, clock: MovableClock
) -> None:
    same = UUID(int=1)
    for key in ("nordwind", "hansen"):
        harness = await a_harness(resources, clock, key=key)
        async with harness.work(SYSTEM) as work:
            await work.tx.execute(
                "INSERT INTO audit_log (merchant_id, audit_id, at, actor_kind, action, subject)"
                " VALUES ($1, $2, $3, 'SYSTEM', 'a.b', 'c:d')",
                work.merchant_id, same, clock.now(),
            )  # fmt: skip
    await seal_ledger(resources)
    async with resources.database.connection() as connection:
        rows = await connection.fetch(
            "SELECT digest FROM audit_log UNION SELECT digest FROM ledger_seals"
        )
    assert len(rows) == 4
