"""The SQL that holds a scenario's claims still while it is edited, and puts them where they go on.

Claims that ended for good are left alone; a collected one may come back by a reversal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import load_statement

_MOVE = load_statement(__file__, "move_claims.sql")

# In the order of ids, as everything that locks several. A statement of its own: the next one must
# see what engines committed while this one waited for them. Reads the merchant's claims once:
# seldom, and by an operator.
_LOCK = """
SELECT count(*)
FROM (
    SELECT
    FROM claims
    WHERE merchant_id = $1
        AND workflow_id = $2
        AND status IN ('CREATED', 'IN_PROCESS', 'COLLECTED')
    ORDER BY claim_id
    FOR NO KEY UPDATE
) AS locked
"""

# Where the claims stand that have begun. No step: behind the last.
_COUNT = """
SELECT next_step_id, count(*) AS claims
FROM claims
WHERE merchant_id = $1
    AND workflow_id = $2
    AND (status = 'IN_PROCESS' OR status_before_collected = 'IN_PROCESS')
GROUP BY next_step_id
ORDER BY next_step_id
"""

# Stands for the place behind the last step; no step has this id.
_END = 0


@dataclass(frozen=True, slots=True)
class ScenarioMoves:
    workflow_id: UUID
    # The version that takes the steps out.
    version_id: UUID
    first_step_id: int
    # Where claims stand -> where they go on; none: behind the last step.
    moves: Mapping[int | None, int | None]
    removed_step_ids: Sequence[int]


async def lock_scenario_claims(tx: Connection, merchant_id: int, workflow_id: UUID) -> int:
    """Hold still all claims that may go on under the workflow; how many they are."""
    locked: int = await tx.fetchval(_LOCK, merchant_id, workflow_id)
    return locked


async def count_claims_by_step(
    tx: Connection, merchant_id: int, workflow_id: UUID
) -> dict[int | None, int]:
    """How many claims stand at which step, of those that have begun."""
    rows = await tx.fetch(_COUNT, merchant_id, workflow_id)
    return {row["next_step_id"]: row["claims"] for row in rows}


async def move_claims(
    tx: Connection, merchant_id: int, moving: ScenarioMoves, now: datetime
) -> None:
    """The claims must be locked."""
    await tx.execute(
        _MOVE, merchant_id, moving.workflow_id, moving.version_id, now, moving.first_step_id,
        [_END if place is None else place for place in moving.moves],
        [_END if place is None else place for place in moving.moves.values()],
        list(moving.removed_step_ids),
    )  # fmt: skip
