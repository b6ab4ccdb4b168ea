"""Secrets of the installation file: sealed with the secret key, by the names it gives them."""

from collections.abc import Mapping
from datetime import datetime

import structlog

from dunwell.platform.crypto import KeyRing, SealBroken, read_version
from dunwell.platform.database.database import Connection, Database
from dunwell.platform.resealing import Part, RowKey

_PURPOSE = "installation.secret"
_LOAD = "SELECT name, sealed FROM installation_secrets ORDER BY name"
_SAVE = """
INSERT INTO installation_secrets (name, sealed, set_at)
SELECT name, sealed, $3 FROM unnest($1::text[], $2::bytea[]) AS given (name, sealed)
ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, set_at = excluded.set_at
"""
_REMOVE = "DELETE FROM installation_secrets WHERE NOT name = ANY($1::text[])"
_RESEAL = """
UPDATE installation_secrets s SET sealed = n.new
FROM unnest($1::text[], $2::bytea[], $3::bytea[]) AS n (name, old, new)
WHERE s.name = n.name AND s.sealed = n.old
"""

log = structlog.get_logger(__name__)


async def load_secrets(connection: Connection, keys: KeyRing) -> dict[str, bytes]:
    """Opened, by name. One that does not open is absent and told: its line cannot be used."""
    found = {}
    for name, sealed in await connection.fetch(_LOAD):
        try:
            found[name] = keys.open(_PURPOSE, sealed, name)
        except SealBroken:
            log.exception("cannot be opened", name=name)
    return found


async def save_secrets(
    tx: Connection, keys: KeyRing, secrets: Mapping[str, bytes], set_at: datetime
) -> None:
    sealed = [keys.seal(_PURPOSE, plain, name) for name, plain in secrets.items()]
    await tx.execute(_SAVE, list(secrets), sealed, set_at)


async def keep_secrets_of(tx: Connection, names: list[str]) -> None:
    """The others are taken out."""
    await tx.execute(_REMOVE, names)


class SealedInstallation:
    """As `kit.resealing` goes over them: they are few, and one part."""

    name = "secrets of the installation file"

    async def count(self, tx: Connection) -> Mapping[int, int]:
        counts: dict[int, int] = {}
        for _, sealed in await tx.fetch(_LOAD):
            version = read_version(sealed)
            counts[version] = counts.get(version, 0) + 1
        return counts

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> Part:  # noqa: ARG002
        async with database.transaction() as tx:
            rows = [(name, sealed) for name, sealed in await tx.fetch(_LOAD)]
            changed = [
                (name, sealed, new)
                for name, sealed in rows
                if (new := _reseal(keys, name, sealed)) != sealed
            ]
            if changed:
                await tx.execute(_RESEAL, *map(list, zip(*changed, strict=True)))
        return Part(None, len(changed))


def _reseal(keys: KeyRing, name: str, sealed: bytes) -> bytes:
    """As it is, one that does not open: somebody has to look."""
    try:
        return keys.reseal(_PURPOSE, sealed, name)
    except SealBroken:
        log.exception("cannot be opened", name=name)
        return sealed
