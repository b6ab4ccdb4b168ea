"""Claims' ids, drawn before the claims are written: in blocks, as each claim would cost a round
trip otherwise. What a process has left of its block when it ends belongs to no claim."""

from collections import deque
from collections.abc import Sequence

from dunwell.platform.database.database import Connection

# Rides on nothing: a sequence.
_DRAW = """
SELECT nextval('claims_claim_id_seq') AS claim_id
FROM generate_series(1, $1)
"""
_BLOCK = 100


async def draw_claim_ids(tx: Connection, count: int) -> list[int]:
    return [row["claim_id"] for row in await tx.fetch(_DRAW, count)]


class ClaimIds:
    """What one process has drawn and not used."""

    def __init__(self) -> None:
        self._left: deque[int] = deque()

    async def take(self, tx: Connection, count: int) -> Sequence[int]:
        """So many that nobody else has or gets."""
        while len(self._left) < count:
            self._left += await draw_claim_ids(tx, max(_BLOCK, count))
        return [self._left.popleft() for _ in range(count)]

    def forget(self) -> None:
        """What was drawn is not to be trusted."""
        self._left.clear()
