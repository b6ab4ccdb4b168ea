"""Secrets of authenticator apps as `kit.resealing` goes over them."""

from collections.abc import Mapping
from uuid import UUID

import msgspec
import structlog

from dunwell.accounts.users.totp import reseal_secret
from dunwell.platform.crypto import KeyRing, SealBroken, read_version
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.resealing import PART_SIZE, Part, RowKey

# By primary key.
_LOAD_PART = """
SELECT factor_id, user_id, secret_sealed
FROM factors
WHERE factor_id > $1 AND secret_sealed IS NOT NULL
ORDER BY factor_id
LIMIT $2
"""
_SAVE = """
UPDATE factors f SET secret_sealed = n.new
FROM unnest($1::uuid[], $2::bytea[], $3::bytea[]) AS n (factor_id, old, new)
WHERE f.factor_id = n.factor_id AND f.secret_sealed = n.old
"""
_LOAD_SEALED = "SELECT secret_sealed FROM factors WHERE secret_sealed IS NOT NULL"

log = structlog.get_logger(__name__)


class _Row(msgspec.Struct, frozen=True, gc=False):
    factor_id: UUID
    user_id: UUID
    sealed: bytes


class SealedFactors:
    name = "authenticator apps"

    async def count(self, tx: Connection) -> Mapping[int, int]:
        counts: dict[int, int] = {}
        for (sealed,) in await tx.fetch(_LOAD_SEALED):
            version = read_version(sealed)
            counts[version] = counts.get(version, 0) + 1
        return counts

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> Part:
        async with database.transaction() as tx:
            rows = [_Row(*row) for row in await tx.fetch(_LOAD_PART, after[1], PART_SIZE)]
            if not rows:
                return Part(None)
            changed = [(row, new) for row in rows if (new := _reseal(keys, row)) != row.sealed]
            if changed:
                values = [(row.factor_id, row.sealed, new) for row, new in changed]
                await tx.execute(_SAVE, *map(list, zip(*values, strict=True)))
        return Part((0, rows[-1].factor_id), len(changed))


def _reseal(keys: KeyRing, row: _Row) -> bytes:
    """As it is, one that does not open: somebody has to look."""
    try:
        return reseal_secret(keys, row.user_id, row.sealed)
    except SealBroken:
        log.exception("cannot be opened")
        return row.sealed
