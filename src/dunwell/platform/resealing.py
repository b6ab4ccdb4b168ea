"""How rows are gone over in small parts, in the order of their keys, to be sealed anew. Pure."""

from dataclasses import dataclass
from uuid import UUID

# A merchant's id and one of its own.
RowKey = tuple[int, UUID]
BEGINNING: RowKey = (0, UUID(int=0))
# Rows in one transaction.
PART_SIZE = 200


@dataclass(frozen=True, slots=True)
class Part:
    """One that was gone over. `last`: its last row; none: there was no row any more."""

    last: RowKey | None
    resealed: int = 0
