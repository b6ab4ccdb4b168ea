"""Lists keep their order whatever happens to the database: nothing that a merchant has read
disappears or moves, and new rows appear after the cursors that were issued before.

Each test is a disaster on real servers. The server that remains has counters behind the numbers
that merchants have already received.
"""

import asyncio

import pytest

from dunwell.platform.database.database import Database, DatabaseAway
from dunwell.platform.database.migrate import migrate
from dunwell.platform.resources import Resources
from tests.support.clusters import (
    NEWER,
    OLDER,
    Cluster,
    ListedContents,
    Servers,
    a_cluster_merchant,
    a_served_cluster,
    an_outbox_on,
    dump_into,
    give_to_server,
    serve,
)
from tests.support.webhooks import Outbox


async def check_order(
    shop: Outbox, cluster: Cluster, before: ListedContents, *, was_last_lost: bool = False
) -> list[int]:
    """Check that no earlier row is missing, moved or doubled, except those of the last round of
    work if it was lost, and that new rows are listed after them. Return the ids of new claims."""
    lost_events, lost_claims = (3, 2) if was_last_lost else (0, 0)
    kept_events = before.events[: len(before.events) - lost_events]
    kept_claims = before.claims[lost_claims:]
    async with a_cluster_merchant(shop, cluster.url) as served:
        assert await served.list_events() == kept_events
        new_events = await served.work()
        after = await served.look()
        behind = await served.list_events(before.cursor)
    assert after.events == kept_events + new_events
    assert behind == before.events[-1:] * (not was_last_lost) + new_events
    assert after.claims[len(after.claims) - len(kept_claims) :] == kept_claims
    assert len(set(after.claims)) == len(after.claims) == len(kept_claims) + 2
    return after.claims[:2]


def check_ids(new_claims: list[int], before: ListedContents) -> None:
    """Check that no id of an earlier claim now belongs to another claim."""
    assert min(new_claims) > max(before.claims)


async def test_order_survives_a_dump_restored_into_a_new_cluster(
    servers: Servers, origin: Cluster, outbox: Outbox
) -> None:
    before = await serve(outbox, origin)
    target = await servers.start_new()
    await dump_into(origin, target)
    check_ids(await check_order(outbox, target, before), before)


async def test_order_survives_a_second_restore_of_the_same_dump(
    servers: Servers, origin: Cluster, outbox: Outbox
) -> None:
    await serve(outbox, origin)
    first, second = await servers.start_new(), await servers.start_new()
    await dump_into(origin, first)
    await dump_into(origin, second)
    await first.age()
    await asyncio.to_thread(migrate, first.url)
    # Set back by about a minute. Epochs of this size are made from the clock.
    earlier = "epoch - (1::bigint << 38) WHERE epoch > 1::bigint << 56"
    await first.run_sql(f"UPDATE epochs SET epoch = {earlier}")
    given_up = await serve(outbox, first)
    await check_order(outbox, second, given_up, was_last_lost=True)


async def test_order_survives_a_point_in_time_recovery(
    servers: Servers, origin: Cluster, outbox: Outbox
) -> None:
    archive = servers.place()
    archive.mkdir()
    give_to_server(archive)
    await origin.run_sql(f"ALTER SYSTEM SET archive_command = 'cp %p {archive}/%f'")
    await origin.run_sql("SELECT pg_reload_conf()")
    copy = servers.keep(await origin.copy_to(servers.place()))
    await serve(outbox, origin)
    await origin.run_sql("SELECT pg_create_restore_point('noon')")
    await origin.age()
    before = await serve(outbox, origin)
    await origin.run_sql("SELECT pg_switch_wal()")
    await origin.stop()
    with (copy.data / "postgresql.auto.conf").open("a") as settings:
        settings.write(
            f"restore_command = 'cp {archive}/%f %p'\nrecovery_target_name = 'noon'\n"
            "recovery_target_action = 'promote'\narchive_command = '/bin/true'\n"
        )
    (copy.data / "recovery.signal").touch()
    give_to_server(copy.postgres.folder)
    await copy.start()
    await copy.wait_for("SELECT NOT pg_is_in_recovery()")
    check_ids(await check_order(outbox, copy, before, was_last_lost=True), before)


async def test_order_survives_the_promotion_of_a_standby_without_the_last_transactions(
    servers: Servers, origin: Cluster, outbox: Outbox
) -> None:
    await serve(outbox, origin)
    copy = await servers.keep(
        await origin.copy_to(servers.place(), "--write-recovery-conf")
    ).start()
    # Until it has processed all of this, the copy's control file names the old timeline.
    await origin.run_sql("CREATE TABLE much AS SELECT generate_series(1, 500000)")
    await origin.wait_for("SELECT replay_lsn = pg_current_wal_lsn() FROM pg_stat_replication")
    copy.kill()
    await origin.age()
    before = await serve(outbox, origin)
    await origin.stop()
    await copy.start()
    database = await Database.open(copy.url)
    # A connection to a standby would survive its promotion, so it is refused.
    with pytest.raises(DatabaseAway):
        async with database.connection():
            pass
    await database.close()
    await copy.run_sql("SELECT pg_promote()")
    check_ids(await check_order(outbox, copy, before, was_last_lost=True), before)


async def test_order_survives_an_upgrade_by_logical_replication(
    servers: Servers, resources: Resources
) -> None:
    origin = await a_served_cluster(servers, OLDER)
    outbox = await an_outbox_on(origin, resources)
    await serve(outbox, origin)
    target = await servers.start_new(NEWER)
    await dump_into(origin, target, "--schema-only")
    await origin.run_sql("CREATE PUBLICATION all_of_it FOR ALL TABLES")
    socket = origin.postgres.socket_folder
    await target.run_sql(
        f"CREATE SUBSCRIPTION follow CONNECTION 'host={socket} user=postgres dbname=postgres'"
        " PUBLICATION all_of_it"
    )
    before = await serve(outbox, origin)
    written = await origin.run_sql("SELECT count(*) FROM events")
    await target.wait_for(
        f"SELECT (SELECT count(*) FROM events) = {written}"
        " AND NOT EXISTS (SELECT FROM pg_subscription_rel WHERE srsubstate <> 'r')"
    )
    await target.run_sql("ALTER SUBSCRIPTION follow DISABLE")
    check_ids(await check_order(outbox, target, before), before)
