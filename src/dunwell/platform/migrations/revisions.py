"""Which schema a database has, and which is the newest; Alembic, which brings the one to the other,
takes longer to read than most commands take.
"""

import asyncio
import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable

import asyncpg

from dunwell.platform.config.database_address import read_address

_NEW_TABLE = re.compile(r"^CREATE TABLE (\w+)", re.MULTILINE)


def load_revisions(url: str) -> tuple[str | None, str]:
    """The database's revision, none where nothing was migrated yet, and the newest one there is."""
    return asyncio.run(_load_revision(url)), find_newest()


async def _load_revision(url: str) -> str | None:
    # One statement, without a name at the server: a pooler may stand between.
    connection = await asyncpg.connect(read_address(url).url, statement_cache_size=0)
    try:
        revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    else:
        return revision
    finally:
        await connection.close()


def find_newest() -> str:
    """The newest revision there is."""
    return max(list_revisions())


def list_revisions() -> frozenset[str]:
    """Return every revision there is. A migration's file begins with its number."""
    folder = files("dunwell.platform").joinpath("migrations", "versions")
    return frozenset(
        each.name.partition("_")[0] for each in folder.iterdir() if each.name[0].isdigit()
    )


def list_own_tables() -> frozenset[str]:
    """Return the tables that any migration creates, so that others in the database are known."""
    folder = files("dunwell.platform").joinpath("migrations", "versions")
    return frozenset(name for text in _read_sql_files(folder) for name in _NEW_TABLE.findall(text))


def _read_sql_files(folder: Traversable) -> Iterator[str]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _read_sql_files(each)
        elif each.name.endswith(".sql"):
            yield each.read_text("utf-8")
