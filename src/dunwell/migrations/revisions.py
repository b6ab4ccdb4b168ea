"""Which schema a database has, and which is the newest; Alembic, which brings the one to the other,
takes longer to read than most commands take.
"""

import asyncio
from importlib.resources import files

import asyncpg

from dunwell.config.database_address import read_address


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
    """The newest revision there is. A migration's file begins with its number."""
    folder = files("dunwell").joinpath("migrations", "versions")
    return max(each.name.partition("_")[0] for each in folder.iterdir() if each.name[0].isdigit())
