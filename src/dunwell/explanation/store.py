"""The SQL of explanations: what happened to a claim, and what it waits for. Rows in, values out."""

from collections.abc import Sequence

from dunwell.explanation.records import OpenContact, PastStep, Standing
from dunwell.kit.db import Connection
from dunwell.workflows.versions import render_version_name

# By primary keys; the newest minor by workflow_versions (merchant_id, workflow_id, major, minor).
_LOAD_STANDING = """
SELECT c.claim_id, c.status, c.held, c.run, c.next_step_id, c.due_at, c.rules_version,
       c.workflow_id, c.workflow_major, w.name AS workflow_name, s.scenario_id
FROM claims c
LEFT JOIN workflows w ON w.merchant_id = c.merchant_id AND w.workflow_id = c.workflow_id
LEFT JOIN scenarios s ON s.merchant_id = c.merchant_id AND s.workflow_id = c.workflow_id
WHERE c.merchant_id = $1 AND c.claim_id = $2
"""
# Of the present run. By primary keys.
_LOAD_HISTORY = """
SELECT h.step_id, h.outcome, h.reason, h.at, v.major, v.minor
FROM step_history h
LEFT JOIN workflow_versions v ON v.merchant_id = h.merchant_id AND v.version_id = h.version_id
WHERE h.merchant_id = $1 AND h.claim_id = $2 AND h.run = $3
-- Steps of one instant ran in the definition's order, which the caller knows.
ORDER BY h.at
"""
# By the unique key (merchant_id, claim_id, run, step_id, place).
_LOAD_OPEN_CONTACT = """
SELECT communication_id, step_id, place, channel, state, not_before, held_by
FROM communications
WHERE merchant_id = $1 AND claim_id = $2 AND run = $3
  AND state IN ('PLANNED', 'ATTACHMENT_MISSING', 'HANDED_OVER', 'UNKNOWN')
ORDER BY planned_at DESC
LIMIT 1
"""


async def load_standing(tx: Connection, merchant_id: int, claim_id: int) -> Standing | None:
    row = await tx.fetchrow(_LOAD_STANDING, merchant_id, claim_id)
    return None if row is None else Standing(**row)


async def load_history(
    tx: Connection, merchant_id: int, claim_id: int, run: int
) -> Sequence[PastStep]:
    """What became of the steps of a run, the earliest first."""
    return [
        PastStep(
            step_id=row["step_id"],
            outcome=row["outcome"],
            reason=row["reason"],
            at=row["at"],
            version=None
            if row["major"] is None
            else render_version_name(row["major"], row["minor"]),
        )
        for row in await tx.fetch(_LOAD_HISTORY, merchant_id, claim_id, run)
    ]


async def load_open_contact(
    tx: Connection, merchant_id: int, claim_id: int, run: int
) -> OpenContact | None:
    row = await tx.fetchrow(_LOAD_OPEN_CONTACT, merchant_id, claim_id, run)
    return None if row is None else OpenContact(**row)
