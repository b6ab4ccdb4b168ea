"""Digests of all tables, used to check that a test changed nothing."""

from collections.abc import Mapping

from dunwell.platform.database.database import Database

# Table name -> digest of its rows; None for an empty table.
Digests = Mapping[str, str | None]
_TABLES = """
SELECT relname FROM pg_class
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
ORDER BY relname
"""
_DIGEST = (
    "SELECT '{0}' AS name, md5(string_agg(t::text, '|' ORDER BY t::text)) AS digest FROM {0} t"
)


async def digest_tables(database: Database) -> Digests:
    async with database.connection() as connection:
        names = [row["relname"] for row in await connection.fetch(_TABLES)]
        rows = await connection.fetch(" UNION ALL ".join(map(_DIGEST.format, names)))
    return {row["name"]: row["digest"] for row in rows}


def find_changed(before: Digests, after: Digests) -> list[str]:
    """Return the tables whose rows differ."""
    return [name for name in after if after[name] != before.get(name)]
