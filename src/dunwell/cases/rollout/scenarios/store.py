"""The SQL that locks a scenario's claims during an edit and moves them.

Claims that ended permanently are left out. A collected claim is included, because a reversed
payment may make it active again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import load_statement

_MOVE = load_statement(__file__, "move_claims.sql")

# Locks in the order of ids, like each statement that locks several claims. It is a separate
# statement, because the next one must see what workers committed while this one waited. It reads
# all claims of the merchant, but runs rarely and only for an operator.
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

# Counts started claims by position. A null step means after the last one.
_COUNT = """
SELECT next_step_id, count(*) AS claims
FROM claims
WHERE merchant_id = $1
    AND workflow_id = $2
    AND (status = 'IN_PROCESS' OR status_before_collected = 'IN_PROCESS')
GROUP BY next_step_id
ORDER BY next_step_id
"""

# Stands for the position after the last step. No step has this id.
_END = 0


@dataclass(frozen=True, slots=True)
class ScenarioMoves:
    workflow_id: UUID
    # The version that removes the steps.
    version_id: UUID
    first_step_id: int
    # Old position -> new position. None means after the last step.
    moves: Mapping[int | None, int | None]
    removed_step_ids: Sequence[int]


async def lock_scenario_claims(tx: Connection, merchant_id: int, workflow_id: UUID) -> int:
    """Lock all claims that may continue under the workflow, and return their number."""
    locked: int = await tx.fetchval(_LOCK, merchant_id, workflow_id)
    return locked


async def count_claims_by_step(
    tx: Connection, merchant_id: int, workflow_id: UUID
) -> dict[int | None, int]:
    """Return the number of started claims by position."""
    rows = await tx.fetch(_COUNT, merchant_id, workflow_id)
    return {row["next_step_id"]: row["claims"] for row in rows}


async def move_claims(
    tx: Connection, merchant_id: int, moving: ScenarioMoves, now: datetime
) -> None:
    """Move the scenario's claims, which must be locked, and cancel the planned contacts of removed
    steps."""
    await tx.execute(
        _MOVE, merchant_id, moving.workflow_id, moving.version_id, now, moving.first_step_id,
        [_END if position is None else position for position in moving.moves],
        [_END if position is None else position for position in moving.moves.values()],
        list(moving.removed_step_ids),
    )  # fmt: skip
