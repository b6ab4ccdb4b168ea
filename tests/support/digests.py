"""What stands in all tables, to tell that nothing of it was changed."""

from collections.abc import Mapping

from dunwell.platform.database.database import Database

# By the table's name; none for one without rows.
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
    """The tables whose rows are not the same."""
    return [name for name in after if after[name] != before.get(name)]
