"""Uploads as `keys` counts what is sealed: which version a file was sealed with shows in the file
alone, so while there are uploads every version before the newest counts as needed by all of them.
"""

from collections.abc import Mapping

from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.resealing import Part, RowKey

# By primary keys; uploads are few beside claims, and counted when a person asks.
_COUNT = """
SELECT version, (SELECT count(*) FROM uploads)
FROM key_versions
WHERE retired_at IS NULL AND version < (SELECT max(version) FROM key_versions)
"""


class SealedUploads:
    """They are not sealed anew: a version that may seal one is kept."""

    name = "uploads"

    async def count(self, tx: Connection) -> Mapping[int, int]:
        counted = dict(map(tuple, await tx.fetch(_COUNT)))
        return {version: count for version, count in counted.items() if count}

    async def reseal(self, _database: Database, _keys: KeyRing, _after: RowKey) -> Part:
        return Part(None)
