"""The migrations that this Dunwell has, and the one that a database has reached.

A migration is a file `NNNN_name.sql` in `platform/migrations`, or a folder of that name whose SQL
files run in the order of their names. `migrate` runs them.
"""

import asyncio
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import asyncpg

from dunwell.platform.config.database_address import read_address

MIGRATIONS = Path(str(files("dunwell.platform") / "migrations"))
# Holds a row for each migration that ran. The first migration creates it.
REVISION_TABLE = "schema_migrations"
LOAD_REVISION = f"SELECT max(revision) FROM {REVISION_TABLE}"  # noqa: S608 - a constant
_FILE_NAME = re.compile(r"(\d{4})_(\w+)")
# The first line of a migration whose statements commit one by one.
_WITHOUT_TRANSACTION = "-- Without a transaction.\n"
_NEW_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Migration:
    # The number at the beginning of the file's name.
    revision: str
    name: str
    sql: str

    @property
    def is_in_transaction(self) -> bool:
        return not self.sql.startswith(_WITHOUT_TRANSACTION)

    def split_statements(self) -> Iterator[str]:
        """Yield the statements, each of which ends with a semicolon at the end of its line."""
        for statement in self.sql.split(";\n"):
            if statement.strip():
                yield statement


def list_migrations(folder: Path = MIGRATIONS) -> Sequence[Migration]:
    """Return the migrations in the order in which they run."""
    return [
        Migration(name[1], name[2], _read_sql(path))
        for path in sorted(folder.iterdir())
        if (name := _FILE_NAME.match(path.stem))
    ]


def _read_sql(path: Path) -> str:
    if path.is_dir():
        return "\n".join(each.read_text("utf-8") for each in sorted(path.glob("*.sql")))
    return path.read_text("utf-8")


def list_revisions() -> frozenset[str]:
    """Return the numbers of all migrations."""
    return frozenset(each.revision for each in list_migrations())


def find_newest() -> str:
    """Return the number of the newest migration."""
    return list_migrations()[-1].revision


def list_own_tables() -> frozenset[str]:
    """Return the tables that any migration creates, so that others in the database are known."""
    return frozenset(name for each in list_migrations() for name in _NEW_TABLE.findall(each.sql))


def load_revisions(url: str) -> tuple[str | None, str]:
    """Return the newest migration that ran in the database, if any, and the newest one there is."""
    return asyncio.run(_load_revision(url)), find_newest()


async def _load_revision(url: str) -> str | None:
    # Without prepared statements, because the address may be that of a connection pooler.
    connection = await asyncpg.connect(read_address(url).url, statement_cache_size=0)
    try:
        return await find_revision(connection)
    finally:
        await connection.close()


async def find_revision(connection: asyncpg.Connection) -> str | None:
    """Return the newest migration that ran in the database, None if it has none."""
    try:
        revision: str | None = await connection.fetchval(LOAD_REVISION)
    except asyncpg.UndefinedTableError:
        return None
    return revision
