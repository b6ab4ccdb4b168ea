"""Which schema a database has, and which is the newest; Alembic, which brings the one to the other,
takes longer to read than most commands take.
"""

import asyncio
from importlib.resources import files

import asyncpg


def load_revisions(url: str) -> tuple[str | None, str]:
    """The database's revision, none where nothing was migrated yet, and the newest one there is."""
    return asyncio.run(_load_revision(url)), _find_newest()


async def _load_revision(url: str) -> str | None:
    connection = await asyncpg.connect(url)
    try:
        revision: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    except asyncpg.UndefinedTableError:
        return None
    else:
        return revision
    finally:
        await connection.close()


def _find_newest() -> str:
    """A migration's file begins with its number."""
    folder = files("dunwell").joinpath("migrations", "versions")
    return max(each.name.partition("_")[0] for each in folder.iterdir() if each.name[0].isdigit())
