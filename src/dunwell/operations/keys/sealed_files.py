"""Sealed (encrypted) files: printed letters, which are encrypted again with a new version of the
secret key, and uploads, which are only counted.

A letter's file is replaced before its row names the new version. After an interruption in between,
the letter can still be decrypted, because the file names its version itself, and the next worker
processes the row again.
"""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from dunwell.contact.messages.letters.letter_files import reencrypt_letter
from dunwell.core.files.storage import ContentMissing, Storage
from dunwell.operations.keys.sealed_columns import PART_SIZE, ResealedPart, RowKey
from dunwell.platform.crypto import DecryptionFailed, KeyRing
from dunwell.platform.database.database import Connection, Database

# Uses the primary key.
_LOAD_PART = """
SELECT merchant_id, communication_id, document_key, document_key_version
FROM communication_contents
WHERE (merchant_id, communication_id) > ($1, $2)
ORDER BY merchant_id, communication_id
LIMIT $3
"""
# Uses the primary key. Returns the rows that still exist with the same letter.
_SAVE_VERSIONS = """
UPDATE communication_contents t
SET document_key_version = $4
FROM unnest($1::integer[], $2::uuid[], $3::text[])
    AS n (merchant_id, communication_id, document_key)
WHERE t.merchant_id = n.merchant_id AND t.communication_id = n.communication_id
  AND t.document_key = n.document_key
RETURNING t.document_key
"""
_COUNT_LETTERS = """
SELECT document_key_version, count(*)
FROM communication_contents
WHERE document_key IS NOT NULL
GROUP BY document_key_version
"""
# Uses primary keys. Uploads are few, and are only counted on request.
_COUNT_UPLOADS = """
SELECT version, (SELECT count(*) FROM uploads)
FROM key_versions
WHERE retired_at IS NULL AND version < (SELECT max(version) FROM key_versions)
"""

log = structlog.get_logger(__name__)


class _Row(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    communication_id: UUID
    document_key: str | None
    version: int


class SealedLetters:
    """The files of printed letters."""

    name = "letters"
    beginning = (0, UUID(int=0))

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def count(self, tx: Connection) -> Mapping[int, int]:
        return dict(map(tuple, await tx.fetch(_COUNT_LETTERS)))

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> ResealedPart:
        async with database.connection() as connection:
            rows = [_Row(*row) for row in await connection.fetch(_LOAD_PART, *after, PART_SIZE)]
        if not rows:
            return ResealedPart(None)
        done = {
            each.document_key: each
            for each in rows
            if each.document_key
            and each.version < keys.version
            and await self._reencrypt(keys, each)
        }
        if done:
            async with database.transaction() as tx:
                still_existing = await _save_versions(tx, list(done.values()), keys.version)
            for key in done.keys() - still_existing:
                # The claim was erased while the file was being written.
                await self._storage.remove(key)
        return ResealedPart((rows[-1].merchant_id, rows[-1].communication_id), len(done))

    async def _reencrypt(self, keys: KeyRing, row: _Row) -> bool:
        """Encrypt the letter's file again. Return False if it cannot be decrypted; an operator has
        to examine it. Raises Unavailable."""
        assert row.document_key is not None
        try:
            await reencrypt_letter(self._storage, keys, row.document_key)
        except DecryptionFailed:
            log.exception("value cannot be decrypted", communication_id=str(row.communication_id))
            return False
        except ContentMissing:
            # A letter without a file needs no resealing.
            log.warning("letter file missing", communication_id=str(row.communication_id))
        return True


async def _save_versions(tx: Connection, rows: list[_Row], version: int) -> set[str]:
    found = await tx.fetch(
        _SAVE_VERSIONS,
        [each.merchant_id for each in rows],
        [each.communication_id for each in rows],
        [each.document_key for each in rows],
        version,
    )
    return {key for (key,) in found}


class SealedUploads:
    """Uploads are not resealed. Only the file itself shows its key version, so each version before
    the newest counts as needed by all uploads."""

    name = "uploads"
    beginning = ()

    async def count(self, tx: Connection) -> Mapping[int, int]:
        counted = dict(map(tuple, await tx.fetch(_COUNT_UPLOADS)))
        return {version: count for version, count in counted.items() if count}

    async def reseal(self, _database: Database, _keys: KeyRing, _after: RowKey) -> ResealedPart:
        return ResealedPart(None)
