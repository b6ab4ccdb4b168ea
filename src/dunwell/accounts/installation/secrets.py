"""Secrets of the installation file: sealed with the secret key, by the names it gives them."""

from collections.abc import Mapping
from datetime import datetime

import structlog

from dunwell.platform.crypto import KeyRing, SealBroken
from dunwell.platform.database.database import Connection

PURPOSE = "installation.secret"
_LOAD = "SELECT name, sealed FROM installation_secrets ORDER BY name"
_SAVE = """
INSERT INTO installation_secrets (name, sealed, set_at)
SELECT name, sealed, $3 FROM unnest($1::text[], $2::bytea[]) AS given (name, sealed)
ON CONFLICT (name) DO UPDATE SET sealed = excluded.sealed, set_at = excluded.set_at
"""
_REMOVE = "DELETE FROM installation_secrets WHERE NOT name = ANY($1::text[])"

log = structlog.get_logger(__name__)


async def load_secrets(connection: Connection, keys: KeyRing) -> dict[str, bytes]:
    """Opened, by name. One that does not open is absent and told: its line cannot be used."""
    found = {}
    for name, sealed in await connection.fetch(_LOAD):
        try:
            found[name] = keys.open(PURPOSE, sealed, name)
        except SealBroken:
            log.exception("cannot be opened", name=name)
    return found


async def save_secrets(
    tx: Connection, keys: KeyRing, secrets: Mapping[str, bytes], set_at: datetime
) -> None:
    sealed = [keys.seal(PURPOSE, plain, name) for name, plain in secrets.items()]
    await tx.execute(_SAVE, list(secrets), sealed, set_at)


async def delete_other_secrets(tx: Connection, names: list[str]) -> None:
    """The others are taken out."""
    await tx.execute(_REMOVE, names)
