"""What every kind of sealed value offers, so that the worker can seal it with a new secret key and
an operator can see which versions of the key are still needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from dunwell.platform.crypto import KeyRing
from dunwell.platform.database.database import Connection, Database

# The values of a primary key, in its order.
RowKey: TypeAlias = tuple[Any, ...]
# Rows in one transaction.
PART_SIZE = 200


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the rows that was gone through. `last` is its last row, or None when no row was
    left."""

    last: RowKey | None
    resealed: int = 0


class SealedValues(Protocol):
    """A kind of sealed values. Each value names the version of the secret key that sealed it."""

    @property
    def name(self) -> str:
        """As operators are shown it; several kinds can share a name."""

    @property
    def beginning(self) -> RowKey:
        """A key before all others."""

    async def count(self, tx: Connection) -> Mapping[int, int]:
        """The number of values by version."""

    async def reseal(self, database: Database, keys: KeyRing, after: RowKey) -> Part:
        """Reseal the values of the next part that an older version sealed. A value that is changed
        meanwhile stays as it was written. It is safe to break this off at any point."""
