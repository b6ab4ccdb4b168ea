"""The versions of the secret key that a database knows, and the check that those of a process fit.

The database stores a fingerprint of each version, never a key. A process with another key, or
without a version that was in use, would compute digests that match nothing and could decrypt
nothing. It is therefore refused before its first statement. The first process with a new version
records it.
"""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

import asyncpg
import msgspec

from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.database.pool import OpenConnection, connect
from dunwell.platform.errors import Unavailable

_LOAD = "SELECT version, fingerprint, recorded_at, retired_at FROM key_versions ORDER BY version"
# If two processes record a version at the same moment, the first one wins.
_RECORD = """
INSERT INTO key_versions (version, fingerprint)
SELECT * FROM unnest($1::smallint[], $2::bytea[])
ON CONFLICT DO NOTHING
"""


class SecretKeyMismatch(Unavailable):
    """The secret key of this process does not fit the database."""


class KnownKeyVersion(msgspec.Struct, frozen=True, gc=False):
    version: int
    fingerprint: bytes
    recorded_at: datetime
    retired_at: datetime | None = None


async def load_versions(tx: Connection) -> list[KnownKeyVersion]:
    """Return the versions in ascending order. There are none before the first process has
    connected."""
    return [KnownKeyVersion(*row) for row in await tx.fetch(_LOAD)]


async def register_keys(tx: Connection, keys: KeyRing) -> None:
    """Record versions that the database does not know. Raises SecretKeyMismatch, and then records
    nothing."""
    known = await load_versions(tx)
    _check_keys(keys, known)
    recorded = {known_version.version for known_version in known}
    new = [version for version in keys.versions if version not in recorded]
    if new:
        await tx.execute(_RECORD, new, [keys.fingerprint(version) for version in new])
        _check_keys(keys, await load_versions(tx))


async def register_keys_at(url: str, keys: KeyRing) -> None:
    """Do what `register_keys` does over a new connection to a database that is available and
    migrated."""
    connection = await connect(url, OpenConnection)
    try:
        await register_keys(connection, keys)
    finally:
        await connection.close()


def build_key_check(keys: KeyRing) -> Callable[[Connection], Awaitable[None]]:
    """Return a check for `Database.open`: it raises SecretKeyMismatch if the keys do not fit the
    database. It runs once, or again on the next connection as long as the database is not migrated.
    """
    is_registered = False

    async def check_once(connection: Connection) -> None:
        nonlocal is_registered
        if is_registered:
            return
        try:
            await register_keys(connection, keys)
        except asyncpg.UndefinedTableError:
            return
        is_registered = True

    return check_once


def find_key_mismatch(keys: KeyRing, known: Sequence[KnownKeyVersion]) -> str | None:
    """Compare the keys with the versions that a database knows. Return what is wrong and what to
    do, or None if they fit."""
    by_version = {known_version.version: known_version for known_version in known}
    by_fingerprint = {known_version.fingerprint: known_version.version for known_version in known}
    newest = max(by_version, default=0)
    for version in keys.versions:
        number = by_fingerprint.get(keys.fingerprint(version))
        if number is not None and number != version:
            problem = f"Version {version} of the secret key is known here as version {number};"
            return f"{problem} give it that number."
        if number is None and version in by_version:
            return (
                f"Version {version} of the secret key is not the key with which this database was "
                "used. Set that key; a new key needs a new number."
            )
        if number is None and version < newest:
            return (
                f"Version {version} of the secret key was never in use here, but version {newest} "
                f"was. Give a new key the number {newest + 1}."
            )
    for known_version in known:
        if known_version.retired_at is None and known_version.version not in keys.versions:
            return (
                f"Version {known_version.version} of the secret key is missing, but this database "
                "was used with it. Add it again, after the current version."
            )
    if keys.version in by_version and by_version[keys.version].retired_at is not None:
        return f"Version {keys.version} of the secret key is retired. Put another one first."
    return None


def _check_keys(keys: KeyRing, known: Sequence[KnownKeyVersion]) -> None:
    mismatch = find_key_mismatch(keys, known)
    if mismatch is not None:
        raise SecretKeyMismatch(f"{mismatch} See docs/operator/keys.md.")
