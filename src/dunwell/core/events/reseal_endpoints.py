"""Secrets and authorizations of webhook endpoints as `kit.resealing` goes over them."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias
from uuid import UUID

import msgspec
import structlog

from dunwell.core.events.sealing import reseal_authorization, reseal_secret
from dunwell.platform.crypto import KeyRing, SealBroken, read_version
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.resealing import PART_SIZE, Part, RowKey

# By primary key. A removed endpoint's are sealed too.
_LOAD_PART = """
SELECT merchant_id, endpoint_id, secret_sealed, previous_secret_sealed, authorization_sealed
FROM webhook_endpoints
WHERE (merchant_id, endpoint_id) > ($1, $2)
ORDER BY merchant_id, endpoint_id
LIMIT $3
"""
# By primary key; who gives a new secret meanwhile seals it with the version in use.
_SAVE = """
UPDATE webhook_endpoints e
SET secret_sealed = n.secret, previous_secret_sealed = n.previous,
    authorization_sealed = n.authorization
FROM unnest($1::integer[], $2::uuid[], $3::bytea[], $4::bytea[], $5::bytea[],
            $6::bytea[], $7::bytea[], $8::bytea[])
    AS n (merchant_id, endpoint_id, old_secret, old_previous, old_authorization,
          secret, previous, "authorization")
WHERE e.merchant_id = n.merchant_id AND e.endpoint_id = n.endpoint_id
  AND e.secret_sealed = n.old_secret
  AND e.previous_secret_sealed IS NOT DISTINCT FROM n.old_previous
  AND e.authorization_sealed IS NOT DISTINCT FROM n.old_authorization
"""
_LOAD_SEALED = """
SELECT unnest(ARRAY[secret_sealed, previous_secret_sealed, authorization_sealed]) AS sealed
FROM webhook_endpoints
"""

log = structlog.get_logger(__name__)

_Sealed: TypeAlias = tuple[bytes, bytes | None, bytes | None]


class _Row(msgspec.Struct, frozen=True, gc=False):
    merchant_id: int
    endpoint_id: UUID
    secret: bytes
    previous: bytes | None
    authorization: bytes | None

    @property
    def sealed(self) -> _Sealed:
        return self.secret, self.previous, self.authorization


class SealedEndpoints:
    name = "webhook secrets"

    async def count(self, tx: Connection) -> Mapping[int, int]:
        counts: dict[int, int] = {}
        async with tx.transaction():
            async for row in tx.cursor(_LOAD_SEALED):
                if row[0] is not None:
                    version = read_version(row[0])
                    counts[version] = counts.get(version, 0) + 1
        return counts

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> Part:
        async with database.transaction() as tx:
            rows = [_Row(*row) for row in await tx.fetch(_LOAD_PART, *after, PART_SIZE)]
            if not rows:
                return Part(None)
            changed = [(row, new) for row in rows if (new := _reseal(keys, row)) != row.sealed]
            if changed:
                await _save(tx, changed)
        return Part((rows[-1].merchant_id, rows[-1].endpoint_id), len(changed))


async def _save(tx: Connection, changed: Sequence[tuple[_Row, _Sealed]]) -> None:
    values = [(row.merchant_id, row.endpoint_id, *row.sealed, *new) for row, new in changed]
    await tx.execute(_SAVE, *map(list, zip(*values, strict=True)))


def _reseal(keys: KeyRing, row: _Row) -> _Sealed:
    """As they are, those that do not open: somebody has to look."""
    ids = row.merchant_id, row.endpoint_id
    try:
        return (
            reseal_secret(keys, *ids, row.secret),
            reseal_secret(keys, *ids, row.previous) if row.previous else None,
            reseal_authorization(keys, *ids, row.authorization) if row.authorization else None,
        )
    except SealBroken:
        log.exception("cannot be opened", endpoint_id=str(row.endpoint_id))
        return row.sealed
