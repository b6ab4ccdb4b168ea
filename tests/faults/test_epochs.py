"""When a new epoch starts and when not, which role may start it, and what waits for it."""

import asyncio

import asyncpg

from dunwell.core.events.event_log import save_events
from dunwell.platform.database.database import Database
from dunwell.platform.database.epochs import EpochCheck, check_epoch
from dunwell.platform.database.migrate import migrate
from tests.support.clusters import Cluster, Servers, a_cluster_merchant, dump_into, serve
from tests.support.webhooks import Outbox

_EPOCHS = "SELECT count(*) FROM epochs"
# Restores the state before the table was filled, when numbers came from the server alone.
_FORGET = "DELETE FROM epochs"
_WAITING = (
    "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = 'epochs'::regclass)"
)


async def settle(cluster: Cluster) -> EpochCheck:
    connection = await asyncpg.connect(cluster.url)
    try:
        return await check_epoch(connection)
    finally:
        await connection.close()


async def test_a_database_that_was_never_moved_keeps_its_epoch(
    origin: Cluster, outbox: Outbox
) -> None:
    before = await serve(outbox, origin)
    await origin.run_sql(_FORGET)
    assert await settle(origin) is EpochCheck.FIRST_CHECK
    assert await origin.run_sql("SELECT epoch FROM epochs") == 0
    async with a_cluster_merchant(outbox, origin.url) as served:
        new_events = await served.work()
        assert await served.list_events(before.cursor) == [before.events[-1], *new_events]


async def test_migrate_repairs_a_database_restored_before_its_first_check(
    servers: Servers, origin: Cluster, outbox: Outbox
) -> None:
    before = await serve(outbox, origin)
    target = await servers.start_new()
    await dump_into(origin, target, "--exclude-table-data=epochs")
    async with a_cluster_merchant(outbox, target.url) as served:
        await served.connect()
        await target.run_sql(_FORGET)
        unnoticed = await served.work()
        assert await served.list_events(before.cursor) == []
    await target.run_sql(
        f"UPDATE claims SET updated_at = now() WHERE claim_id = {before.claims[0]}"
    )

    await asyncio.to_thread(migrate, target.url)

    async with a_cluster_merchant(outbox, target.url) as served:
        assert await served.list_events(before.cursor) == [before.events[-1], *unnoticed]
        new_events = await served.work()
        after = await served.look()
    assert after.events == before.events + unnoticed + new_events
    assert after.claims[4:] == before.claims
    assert len(after.claims) == len(set(after.claims)) == 6


async def test_concurrent_connections_start_one_new_epoch(origin: Cluster) -> None:
    await origin.run_sql("UPDATE epochs SET timeline = timeline + 1")
    outcomes = await asyncio.gather(*(settle(origin) for _ in range(5)))
    assert sorted(each.name for each in outcomes) == ["NEW_EPOCH"] + ["UNCHANGED"] * 4
    assert await origin.run_sql(_EPOCHS) == 2


async def test_a_new_epoch_waits_for_transactions_of_the_old_one(
    origin: Cluster, outbox: Outbox
) -> None:
    database = await Database.open(origin.url)
    slow, merchant_id = outbox.build(1), outbox.merchant.merchant_id
    async with database.transaction() as tx:
        await save_events(tx, merchant_id, slow, outbox.now)
        await origin.run_sql("UPDATE epochs SET timeline = timeline + 1")
        settling = asyncio.create_task(settle(origin))
        await origin.wait_for(_WAITING)
    assert await settling is EpochCheck.NEW_EPOCH
    await database.close()
    async with a_cluster_merchant(outbox, origin.url) as served:
        new_events = await served.work()
        assert await served.list_events() == [slow[0].body, *new_events]


async def test_a_role_that_only_owns_its_tables_is_sufficient(
    servers: Servers, origin: Cluster, outbox: Outbox
) -> None:
    before = await serve(outbox, origin)
    target = await servers.start_new()
    await target.run_sql("CREATE ROLE plain LOGIN")
    await target.run_sql("CREATE DATABASE served OWNER plain")
    target.role, target.database = "plain", "served"
    await dump_into(origin, target, "--no-privileges", "--exclude-extension=*")
    async with a_cluster_merchant(outbox, target.url) as served:
        assert await served.list_events() == before.events
        new_events = await served.work()
        assert await served.list_events(before.cursor) == [before.events[-1], *new_events]


async def test_every_sequence_continues_after_the_highest_existing_value(
    origin: Cluster, outbox: Outbox
) -> None:
    await serve(outbox, origin)
    await origin.run_sql("SELECT setval('claims_claim_id_seq', 1), setval('items_item_id_seq', 1)")
    await origin.run_sql("UPDATE epochs SET timeline = timeline + 1")
    assert await settle(origin) is EpochCheck.NEW_EPOCH
    after = await serve(outbox, origin)
    assert after.claims[:2] == [100_005, 100_004]
