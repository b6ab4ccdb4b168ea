"""Migrations run one by one beside a service at work; none keeps a large table from the others."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files

import asyncpg
import pytest
from alembic.script import ScriptDirectory

from dunwell.platform.database.migrate import MigrationForbidden, TableTaken, create_schema, migrate
from dunwell.platform.embedded.postgres import EmbeddedPostgres
from dunwell.platform.migrations.revisions import load_revisions

_NAMES = (f"migrated_{n}" for n in itertools.count(1))
# The rules below hold for what comes after it.
_LAST_BEFORE_THE_RULES = "0012"

# What grows with claims: whoever waits for one of these keeps everybody else waiting.
_LARGE = """
SELECT DISTINCT table_name::text FROM information_schema.columns
WHERE table_schema = 'public' AND column_name IN ('claim_id', 'event_id', 'merchant_id')
    AND table_name NOT IN (
        'merchants', 'credentials', 'credential_secrets', 'credential_reach', 'webhook_endpoints'
    )
"""
_WATCH = """
CREATE FUNCTION tell_rewriting() RETURNS event_trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'writes % anew', pg_event_trigger_table_rewrite_oid()::regclass;
END $$;
CREATE EVENT TRIGGER no_rewriting ON table_rewrite EXECUTE FUNCTION tell_rewriting();
CREATE FUNCTION tell_changing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'changes all rows of %', TG_TABLE_NAME;
END $$;
"""
_WATCH_TABLE = """
CREATE TRIGGER no_changing BEFORE UPDATE OR DELETE ON {table}
FOR EACH STATEMENT EXECUTE FUNCTION tell_changing()
"""
# To make an index, or to prove a constraint as it is made, reads the whole table while nobody may
# write; one that was there unproven may be proven beside others.
_MADE = """
SELECT 'index ' || indexrelid::regclass FROM pg_index WHERE indrelid::regclass::text = ANY($1)
UNION ALL
SELECT 'constraint ' || conname FROM pg_constraint
WHERE conrelid::regclass::text = ANY($1) AND contype IN ('c', 'f')
    AND (convalidated OR NOT $2)
"""
# So does a NOT NULL on a column that was there.
_NULLABLE = """
SELECT 'NOT NULL of ' || attrelid::regclass || '.' || attname FROM pg_attribute
WHERE attrelid::regclass::text = ANY($1) AND attnum > 0 AND NOT attisdropped
    AND attnotnull = $2
"""


@asynccontextmanager
async def a_database(postgres: EmbeddedPostgres) -> AsyncIterator[str]:
    """The address of an empty one of the test's own."""
    name = next(_NAMES)
    async with connected(postgres.url) as server:
        await server.execute(f"CREATE DATABASE {name}")
        try:
            yield postgres.url.replace("/postgres?", f"/{name}?")
        finally:
            await server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        connection.terminate()


async def migrate_to(url: str, to: str = "head", lock_seconds: float = 4.0) -> None:
    """In a thread of its own, as it has a loop of its own."""
    await asyncio.to_thread(migrate, url, to, lock_seconds=lock_seconds)


async def _revision(url: str) -> str | None:
    return (await asyncio.to_thread(load_revisions, url))[0]


async def test_one_that_gets_no_table_leaves_those_before_it_standing(
    postgres: EmbeddedPostgres,
) -> None:
    async with a_database(postgres) as url:
        await migrate_to(url, "0008")
        async with connected(url) as other, other.transaction():
            await other.execute("LOCK TABLE debtors IN ACCESS SHARE MODE")
            with pytest.raises(TableTaken, match=r"Migration 0010 .* migrate again"):
                await migrate_to(url, lock_seconds=0.02)
            assert await _revision(url) == "0009"
        await migrate_to(url)
        revision, newest = await asyncio.to_thread(load_revisions, url)
        assert revision == newest


@asynccontextmanager
async def a_role(postgres: EmbeddedPostgres, database: str) -> AsyncIterator[str]:
    """The address of that database for an ordinary role without any grant."""
    role = "Ordinary"  # A capital letter: grants have to be quoted.
    async with connected(postgres.url) as server:
        await server.execute(f'CREATE ROLE "{role}" LOGIN')
        try:
            yield database.replace("postgresql://postgres@", f"postgresql://{role}@")
        finally:
            async with connected(database) as owned:
                await owned.execute(f'DROP OWNED BY "{role}"')
            await server.execute(f'DROP ROLE "{role}"')


async def test_a_role_without_the_right_to_create_is_told_what_to_grant(
    postgres: EmbeddedPostgres,
) -> None:
    async with a_database(postgres) as url, a_role(postgres, url) as ordinary:
        expected = r'role "Ordinary" .* GRANT USAGE, CREATE ON SCHEMA public TO "Ordinary"'
        with pytest.raises(MigrationForbidden, match=expected) as caught:
            await migrate_to(ordinary)
        [grant] = re.findall(r"GRANT [^,]*, CREATE ON SCHEMA public TO \S+", str(caught.value))
        with pytest.raises(MigrationForbidden, match="GRANT USAGE"):
            async with create_schema(ordinary, "head"):
                pass
        async with connected(url) as server:
            await server.execute(grant.rstrip(","))
        await migrate_to(ordinary)
        revision, newest = await asyncio.to_thread(load_revisions, ordinary)
        assert revision == newest


async def test_a_role_that_does_not_own_the_tables_is_told_who_does(
    postgres: EmbeddedPostgres,
) -> None:
    async with a_database(postgres) as url, a_role(postgres, url) as ordinary:
        await migrate_to(url, "0008")
        async with connected(url) as server:
            await server.execute('GRANT CREATE ON SCHEMA public TO "Ordinary"')
            await server.execute('GRANT SELECT ON alembic_version TO "Ordinary"')
        with pytest.raises(MigrationForbidden, match="belong to postgres: migrate as postgres"):
            await migrate_to(ordinary)
        assert await _revision(url) == "0008"


async def test_two_at_once_do_each_migration_once(postgres: EmbeddedPostgres) -> None:
    async with a_database(postgres) as url:
        await asyncio.gather(migrate_to(url), migrate_to(url), migrate_to(url))
        revision, newest = await asyncio.to_thread(load_revisions, url)
        assert revision == newest


async def test_none_writes_or_reads_a_large_table_whole_while_others_wait(
    postgres: EmbeddedPostgres,
) -> None:
    scripts = ScriptDirectory(str(files("dunwell.platform") / "migrations"))
    later = [*scripts.iterate_revisions("head", _LAST_BEFORE_THE_RULES)][::-1]
    async with a_database(postgres) as url:
        await migrate_to(url, _LAST_BEFORE_THE_RULES)
        await _watch(url)
        for script in later:
            async with connected(url) as connection:
                large = _Large(connection)
                await large.look()
                await migrate_to(url, script.revision)
                if getattr(script.module, "IN_TRANSACTION", True):
                    assert await large.find_read_whole() == set(), script.revision


async def _watch(url: str) -> None:
    async with connected(url) as connection:
        await connection.execute(_WATCH)
        for row in await connection.fetch(_LARGE):
            await connection.execute(_WATCH_TABLE.format(table=row["table_name"]))


class _Large:
    """The large tables of a database, and what stood on them when first looked at."""

    def __init__(self, connection: asyncpg.Connection) -> None:
        self._connection = connection

    async def look(self) -> None:
        self._tables = [row["table_name"] for row in await self._connection.fetch(_LARGE)]
        self._made = await self._list(_MADE, False)
        self._nullable = await self._list(_NULLABLE, False)

    async def find_read_whole(self) -> set[str]:
        """What has been made since then by reading a table."""
        made = await self._list(_MADE, True) - self._made
        return made | (await self._list(_NULLABLE, True) & self._nullable)

    async def _list(self, statement: str, is_so: bool) -> set[str]:
        return {row[0] for row in await self._connection.fetch(statement, self._tables, is_so)}


# What a migration might say, and what is told of it.
_TOLD = {
    "ALTER TABLE claims ALTER reference_number TYPE varchar(99)": "writes claims anew",
    "UPDATE debtors SET email = email": "changes all rows of debtors",
    "CREATE INDEX another ON claims (created_at)": "index another",
    "ALTER TABLE claims ADD CONSTRAINT fair CHECK (claim_id > 0)": "constraint fair",
    "ALTER TABLE debtors ALTER email SET NOT NULL": "NOT NULL of debtors.email",
    "ALTER TABLE claims ADD CONSTRAINT fair CHECK (claim_id > 0) NOT VALID": None,
    "ALTER TABLE claims ADD COLUMN mood text NOT NULL DEFAULT ''": None,
}


async def test_what_would_make_others_wait_is_seen(postgres: EmbeddedPostgres) -> None:
    async with a_database(postgres) as url:
        await migrate_to(url)
        await _watch(url)
        assert {sql: await _try(url, sql) for sql in _TOLD} == _TOLD


async def _try(url: str, sql: str) -> str | None:
    """What is told of it; nothing of it is kept."""
    async with connected(url) as connection:
        await connection.execute("BEGIN")
        large = _Large(connection)
        await large.look()
        try:
            await connection.execute(sql)
        except asyncpg.RaiseError as error:
            return str(error)
        return ", ".join(await large.find_read_whole()) or None
