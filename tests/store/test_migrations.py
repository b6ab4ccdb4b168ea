"""Migrations run one by one while the service is in use, and none blocks a large table for long."""

import asyncio
import itertools
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import pytest

from dunwell.platform.database.migrate import (
    MIGRATIONS,
    MigrationForbidden,
    SchemaTooNew,
    TableLocked,
    create_schema,
    get_newest_revision,
    list_migrations,
    load_revisions,
    migrate,
)
from dunwell.platform.embedded.postgres import EmbeddedPostgres

_NAMES = (f"migrated_{n}" for n in itertools.count(1))
# The baseline creates every table, so it builds indexes and constraints on empty ones.
_BASELINE = "0001"
_ADD_COLUMN = "ALTER TABLE debtors ADD COLUMN nickname text;"
_BUILD_INDEX = """-- Without a transaction.
DROP INDEX CONCURRENTLY IF EXISTS debtors_nickname;
CREATE INDEX CONCURRENTLY debtors_nickname ON debtors (merchant_id, language);
"""

# Tables that grow with claims. A migration that waits for one of them blocks all other work.
_LARGE = """
SELECT DISTINCT table_name::text FROM information_schema.columns
WHERE table_schema = 'public' AND column_name IN ('claim_id', 'event_id', 'merchant_id')
    AND table_name NOT IN (
        'merchants', 'credentials', 'credential_secrets', 'credential_grants', 'webhook_endpoints'
    )
"""
_WATCH = """
CREATE FUNCTION refuse_rewriting() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'rewrites %', pg_event_trigger_table_rewrite_oid()::regclass;
END $$;
CREATE EVENT TRIGGER no_rewriting ON table_rewrite EXECUTE FUNCTION refuse_rewriting();
CREATE FUNCTION refuse_changing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'changes all rows of %', TG_TABLE_NAME;
END $$;
"""
_WATCH_TABLE = """
CREATE TRIGGER no_changing BEFORE UPDATE OR DELETE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION refuse_changing()
"""
# Migrations that read a large table once without blocking others, and change a few of its rows.
_CHANGE_FEW_ROWS = {"0012": "payments"}
# Building an index, or validating a constraint when it is added, reads the whole table and blocks
# writes. An existing constraint can be validated without blocking.
_MADE = """
SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE indrelid::regclass::text = ANY($1)
UNION ALL
SELECT 'constraint ' || conname FROM pg_constraint
WHERE conrelid::regclass::text = ANY($1) AND contype IN ('c', 'f')
    AND (convalidated OR NOT $2)
"""
# Setting NOT NULL on an existing column also reads the whole table.
_NULLABLE = """
SELECT 'NOT NULL of ' || attrelid::regclass || '.' || attname FROM pg_attribute
WHERE attrelid::regclass::text = ANY($1) AND attnum > 0 AND NOT attisdropped
    AND attnotnull = $2
"""


@asynccontextmanager
async def a_database(postgres: EmbeddedPostgres, template: str = "template1") -> AsyncIterator[str]:
    """Create a database for one test, empty or as a copy of another one, and return its address."""
    name = next(_NAMES)
    async with connected(postgres.url) as server:
        await server.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        try:
            yield postgres.url.replace("/postgres?", f"/{name}?")
        finally:
            await server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="module")
async def newest(postgres: EmbeddedPostgres) -> AsyncIterator[str]:
    """Return the name of a database with the newest schema, which tests copy because running all
    migrations takes several times as long."""
    async with a_database(postgres) as url:
        await asyncio.to_thread(migrate, url)
        yield urlsplit(url).path.removeprefix("/")


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        connection.terminate()


class Migrations:
    """A copy of Dunwell's migrations to which a test adds its own."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(MIGRATIONS, folder)
        self._folder = folder
        self.newest = get_newest_revision()

    def add(self, sql: str) -> None:
        """Add a migration that follows the newest one."""
        self.newest = f"{int(self.newest) + 1:04}"
        (self._folder / f"{self.newest}_added.sql").write_text(sql)

    async def run(self, url: str, to: str | None = None, lock_seconds: float = 4.0) -> None:
        """Migrate in another thread, because `migrate` runs its own event loop."""
        await asyncio.to_thread(migrate, url, to, lock_seconds=lock_seconds, folder=self._folder)

    @asynccontextmanager
    async def create_schema(self, url: str) -> AsyncIterator[asyncpg.Connection]:
        async with create_schema(url, self.newest, self._folder) as connection:
            yield connection


@pytest.fixture
def migrations(tmp_path: Path) -> Migrations:
    return Migrations(tmp_path / "migrations")


async def _revision(url: str) -> str | None:
    return (await asyncio.to_thread(load_revisions, url))[0]


async def _fetchval(url: str, query: str) -> object:
    async with connected(url) as connection:
        return await connection.fetchval(query)


async def test_an_added_migration_changes_a_database_that_has_the_ones_before(
    postgres: EmbeddedPostgres, newest: str, migrations: Migrations
) -> None:
    async with a_database(postgres, newest) as url:
        migrations.add(_ADD_COLUMN)
        migrations.add(_BUILD_INDEX)
        await migrations.run(url)
        assert await _revision(url) == migrations.newest
        assert await _fetchval(url, "SELECT count(nickname) FROM debtors") == 0
        assert await _fetchval(url, "SELECT to_regclass('debtors_nickname') IS NOT NULL")


async def test_an_index_is_built_while_others_write_to_its_table(
    postgres: EmbeddedPostgres, newest: str, migrations: Migrations
) -> None:
    async with a_database(postgres, newest) as url:
        migrations.add(_BUILD_INDEX)
        async with connected(url) as other:
            await other.execute("BEGIN; LOCK TABLE debtors IN ROW EXCLUSIVE MODE")
            building = asyncio.create_task(migrations.run(url))
            # The statement waits for the other transaction, while other transactions may write.
            waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
            while not await _fetchval(url, waiting):
                assert not building.done()
            async with connected(url) as third:
                await third.execute("BEGIN; LOCK TABLE debtors IN ROW EXCLUSIVE MODE NOWAIT")
            await other.execute("COMMIT")
            await building
        assert await _revision(url) == migrations.newest


async def test_a_migration_that_fails_changes_nothing_and_can_be_repeated(
    postgres: EmbeddedPostgres, newest: str, migrations: Migrations
) -> None:
    async with a_database(postgres, newest) as url:
        before = migrations.newest
        migrations.add(f"{_ADD_COLUMN}\nSELECT count(*) FROM needed_table;")
        with pytest.raises(asyncpg.UndefinedTableError):
            await migrations.run(url)
        assert await _revision(url) == before
        async with connected(url) as connection:
            await connection.execute("CREATE TABLE needed_table ()")
        await migrations.run(url)
        assert await _revision(url) == migrations.newest


async def test_a_restore_creates_the_schema_of_all_migrations_in_one_transaction(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    migrations.add(_ADD_COLUMN)
    migrations.add(_BUILD_INDEX)
    async with a_database(postgres) as url:
        async with migrations.create_schema(url) as connection:
            assert await connection.fetchval("SELECT to_regclass('debtors_nickname') IS NOT NULL")
            assert await _fetchval(url, "SELECT to_regclass('debtors') IS NULL")
        assert await _revision(url) == migrations.newest


async def test_a_database_that_a_newer_version_migrated_is_refused(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    older = migrations.newest
    migrations.add(_ADD_COLUMN)
    async with a_database(postgres) as url:
        await migrations.run(url)
        expected = rf"schema {migrations.newest}, the newest that this Dunwell knows is {older}"
        with pytest.raises(SchemaTooNew, match=expected):
            await asyncio.to_thread(migrate, url)
        assert await _revision(url) == migrations.newest


async def test_a_database_lists_the_migrations_that_ran(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    migrations.add(_ADD_COLUMN)
    async with a_database(postgres) as url:
        await migrations.run(url)
        async with connected(url) as connection:
            rows = await connection.fetch("SELECT revision, name FROM schema_migrations")
    assert tuple(rows[0]) == ("0001", "baseline")
    assert tuple(rows[-1]) == (migrations.newest, "added")


async def test_a_migration_that_cannot_lock_a_table_keeps_those_before_it(
    postgres: EmbeddedPostgres, newest: str, migrations: Migrations
) -> None:
    async with a_database(postgres, newest) as url:
        migrations.add("CREATE TABLE added ();")
        migrations.add(_ADD_COLUMN)
        async with connected(url) as other, other.transaction():
            await other.execute("LOCK TABLE debtors IN ACCESS SHARE MODE")
            with pytest.raises(TableLocked, match=rf"Migration {migrations.newest} .* again"):
                # Without its timeout, the migration would wait for this transaction.
                async with asyncio.timeout(30):
                    await migrations.run(url, lock_seconds=0.02)
            assert await _revision(url) == f"{int(migrations.newest) - 1:04}"
        await migrations.run(url)
        assert await _revision(url) == migrations.newest


@asynccontextmanager
async def a_role(postgres: EmbeddedPostgres, database: str) -> AsyncIterator[str]:
    """Return the address of that database for a role without any grant."""
    role = "Ordinary"  # The name has a capital letter, so that grants must quote it.
    async with connected(postgres.url) as server:
        await server.execute(f'CREATE ROLE "{role}" LOGIN')
        try:
            yield database.replace("postgresql://postgres@", f"postgresql://{role}@")
        finally:
            async with connected(database) as owned:
                await owned.execute(f'DROP OWNED BY "{role}"')
            await server.execute(f'DROP ROLE "{role}"')


async def test_a_role_without_the_right_to_create_is_told_what_to_grant(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    async with a_database(postgres) as url, a_role(postgres, url) as ordinary:
        expected = r'role "Ordinary" .* GRANT USAGE, CREATE ON SCHEMA public TO "Ordinary"'
        with pytest.raises(MigrationForbidden, match=expected) as caught:
            await migrations.run(ordinary)
        [grant] = re.findall(r"GRANT [^,]*, CREATE ON SCHEMA public TO \S+", str(caught.value))
        with pytest.raises(MigrationForbidden, match="GRANT USAGE"):
            async with migrations.create_schema(ordinary):
                pass
        async with connected(url) as server:
            await server.execute(grant.rstrip(","))
        await migrations.run(ordinary)
        assert await _revision(ordinary) == migrations.newest


async def test_a_role_that_does_not_own_the_tables_is_told_who_does(
    postgres: EmbeddedPostgres, newest: str, migrations: Migrations
) -> None:
    async with a_database(postgres, newest) as url, a_role(postgres, url) as ordinary:
        before = migrations.newest
        migrations.add(_ADD_COLUMN)
        async with connected(url) as server:
            await server.execute('GRANT CREATE ON SCHEMA public TO "Ordinary"')
            await server.execute('GRANT SELECT ON schema_migrations TO "Ordinary"')
        with pytest.raises(MigrationForbidden, match="belong to postgres: migrate as postgres"):
            await migrations.run(ordinary)
        assert await _revision(url) == before


async def test_processes_that_migrate_at_once_run_each_migration_once(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    migrations.add("CREATE TABLE added (number integer); INSERT INTO added VALUES (1);")
    migrations.add(_BUILD_INDEX)
    async with a_database(postgres) as url:
        await asyncio.gather(*(migrations.run(url) for _ in range(3)))
        assert await _revision(url) == migrations.newest
        assert await _fetchval(url, "SELECT sum(number) FROM added") == 1


async def test_no_migration_reads_or_writes_a_whole_large_table_while_others_wait(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    later = [each for each in list_migrations() if each.revision > _BASELINE]
    async with a_database(postgres) as url:
        await migrations.run(url, _BASELINE)
        await _watch(url)
        for migration in later:
            async with connected(url) as connection:
                large = _LargeTables(connection)
                await large.record()
                changed = _CHANGE_FEW_ROWS.get(migration.revision)
                if changed is not None:
                    assert not migration.is_in_transaction
                    await connection.execute(f"DROP TRIGGER no_changing ON {changed}")
                await migrations.run(url, migration.revision)
                if changed is not None:
                    await connection.execute(_WATCH_TABLE.format(table=changed))
                if migration.is_in_transaction:
                    assert await large.find_additions() == set(), migration.revision


async def test_a_payment_that_was_reversed_before_returns_were_counted_is_returned_completely(
    postgres: EmbeddedPostgres, migrations: Migrations
) -> None:
    reversed_on = datetime(2026, 3, 2, 8, tzinfo=UTC)
    async with a_database(postgres) as url:
        await migrations.run(url, _BASELINE)
        async with connected(url) as connection:
            # Only these rows matter, not those that they refer to.
            name = await connection.fetchval("SELECT current_database()")
            await connection.execute(
                f"ALTER DATABASE {name} SET session_replication_role = replica"
            )
        async with connected(url) as connection:
            await connection.executemany(
                """
                INSERT INTO payments (merchant_id, payment_id, claim_id, amount_cents, currency,
                                      transaction_id, paid_at, recorded_at, reversed_at)
                VALUES (1, $1, 7, 500, 'EUR', gen_random_uuid()::text, now(), now(), $2)
                """,
                [(UUID(int=1), None), (UUID(int=2), reversed_on)],
            )
        for _ in range(2):  # A migration without a transaction may be repeated.
            await migrations.run(url)
            async with connected(url) as connection:
                payments = await connection.fetch(
                    "SELECT returned_cents FROM payments ORDER BY payment_id"
                )
                [movement] = await connection.fetch(
                    """
                    SELECT payment_id, kind, provider, booked_cents, recorded_at
                    FROM payment_movements
                    """
                )
                await connection.execute("DELETE FROM schema_migrations WHERE revision = '0012'")
        assert [row["returned_cents"] for row in payments] == [0, 500]
        assert tuple(movement) == (UUID(int=2), "REVERSED", "", 500, reversed_on)


async def _watch(url: str) -> None:
    async with connected(url) as connection:
        await connection.execute(_WATCH)
        for row in await connection.fetch(_LARGE):
            await connection.execute(_WATCH_TABLE.format(table=row["table_name"]))


class _LargeTables:
    """The large tables of a database with their indexes and constraints at the first look."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def record(self) -> None:
        self._tables = [row["table_name"] for row in await self._connection.fetch(_LARGE)]
        self._made = await self._list(_MADE, False)
        self._nullable = await self._list(_NULLABLE, False)

    async def find_additions(self) -> set[str]:
        """Return what was added since then by reading a whole table."""
        made = await self._list(_MADE, True) - self._made
        return made | (await self._list(_NULLABLE, True) & self._nullable)

    async def _list(self, statement: str, is_so: bool) -> set[str]:
        return {row[0] for row in await self._connection.fetch(statement, self._tables, is_so)}


# Statements of a migration, and the finding about each.
_FINDINGS = {
    "ALTER TABLE claims ALTER reference_number TYPE varchar(99)": "rewrites claims",
    "UPDATE debtors SET email = email": "changes all rows of debtors",
    "CREATE INDEX another ON claims (created_at)": "index another",
    "ALTER TABLE claims ADD CONSTRAINT fair CHECK (claim_id > 0)": "constraint fair",
    "ALTER TABLE debtors ALTER email SET NOT NULL": "NOT NULL of debtors.email",
    "ALTER TABLE claims ADD CONSTRAINT fair CHECK (claim_id > 0) NOT VALID": None,
    "ALTER TABLE claims ADD COLUMN mood text NOT NULL DEFAULT ''": None,
}


async def test_a_migration_that_blocks_others_is_detected(
    postgres: EmbeddedPostgres, newest: str, migrations: Migrations
) -> None:
    async with a_database(postgres, newest) as url:
        await _watch(url)
        assert {sql: await _find_blocking(url, sql) for sql in _FINDINGS} == _FINDINGS


async def _find_blocking(url: str, sql: str) -> str | None:
    """Return the finding about the statement, and roll it back."""
    async with connected(url) as connection:
        await connection.execute("BEGIN")
        large = _LargeTables(connection)
        await large.record()
        try:
            await connection.execute(sql)
        except asyncpg.RaiseError as error:
            return str(error)
        return ", ".join(await large.find_additions()) or None
