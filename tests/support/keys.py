"""Processes of an installation with different versions of the secret key, as during a key
rotation."""

import dataclasses
from collections import Counter

from dunwell.operations.keys.reseal import Resealer
from dunwell.operations.keys.sealed_columns import SEALED_COLUMNS, SealedColumn
from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection
from dunwell.platform.key_versions import register_keys_at
from dunwell.platform.resources import Resources
from tests.support.harness import Harness

SECOND, THIRD = b"the second version of this key..", b"the third version of this key..."


def with_versions(resources: Resources, *versions: int) -> Resources:
    """Return the resources of a process with these versions of the key. It encrypts with the
    first."""
    keys = {1: resources.settings.secret_key[1], 2: SECOND, 3: THIRD}
    ring = KeyRing({version: keys[version] for version in versions})
    return dataclasses.replace(resources, keys=ring)


def harness_with_versions(harness: Harness, *versions: int) -> Harness:
    """Return the same merchant, served by such a process."""
    return dataclasses.replace(harness, resources=with_versions(harness.resources, *versions))


async def open_first_connection(resources: Resources) -> None:
    """Do what the first connection of a process does. Raises SecretKeyMismatch."""
    assert resources.settings.database_url is not None
    await register_keys_at(resources.settings.database_url, resources.keys)


def list_columns(table: str) -> list[SealedColumn]:
    """Return the sealed columns of a table."""
    return [each for each in SEALED_COLUMNS if each.table == table]


async def count_sealed(connection: Connection, table: str) -> dict[int, int]:
    """Count the values in a table's sealed columns by the version of the secret key."""
    counted: Counter[int] = Counter()
    for column in list_columns(table):
        counted.update(await column.count(connection))
    return dict(counted)


async def reseal_table(resources: Resources, table: str) -> None:
    """Run one pass of a newly started worker."""
    resealer = Resealer(resources, list_columns(table))
    while await resealer.run_once():
        pass
