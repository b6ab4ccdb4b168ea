"""The SQL of disputes and of who answers them: rows in, values out, no rules."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from dunwell.accounts.merchants.actor import ActorKind
from dunwell.cases.disputes.dispute import Dispute, DisputeState
from dunwell.cases.disputes.reasons import DisputeType
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

COLUMNS = (
    "dispute_id, claim_id, type, reason, label, message, answers, hold_id, actor_kind, opened_at,"
    " state, resolved_at, resolution, ended_claim, actor_id, told_at,"
    " released_at"
)
# By primary key; a debtor's page nests it, with its files.
LOAD_DISPUTE = compose(
    """
SELECT {columns}
FROM disputes
WHERE merchant_id = $1 AND dispute_id = $3 AND claim_id = $2
""",
    columns=COLUMNS,
)
# Those that are open or were opened since $3. Rides on disputes_claim.
_LOAD_RECENT = compose(
    """
SELECT {columns}
FROM disputes
WHERE merchant_id = $1 AND claim_id = $2 AND (opened_at > $3 OR state = 'OPEN')
ORDER BY opened_at, dispute_id
""",
    columns=COLUMNS,
)
_SAVE = """
INSERT INTO disputes
    (merchant_id, claim_id, dispute_id, type, reason, label, message, answers, hold_id, opened_at,
     actor_kind, actor_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
"""
# Whoever had begun another answer has nothing left to answer.
_SAVE_END = """
WITH ended AS (
    UPDATE disputes
    SET state = $3, resolved_at = $4, resolution = $5, ended_claim = $6
    WHERE merchant_id = $1 AND dispute_id = $2 AND state = 'OPEN'
    RETURNING dispute_id
)
DELETE FROM answer_drafts
WHERE merchant_id = $1 AND dispute_id IN (SELECT dispute_id FROM ended)
"""
# By primary key.
_SAVE_TOLD = """
UPDATE disputes SET told_at = $3 WHERE merchant_id = $1 AND dispute_id = $2
"""
# The same.
_SAVE_HOLD = """
UPDATE disputes SET hold_id = $3 WHERE merchant_id = $1 AND dispute_id = $2
"""
# By primary key.
_LOAD_ASSIGNEE = "SELECT assignee_id FROM disputes WHERE merchant_id = $1 AND dispute_id = $2"
_SAVE_ASSIGNEE = "UPDATE disputes SET assignee_id = $3 WHERE merchant_id = $1 AND dispute_id = $2"


async def load_dispute(
    tx: Connection, merchant_id: int, claim_id: int, dispute_id: UUID
) -> Dispute | None:
    row = await tx.fetchrow(LOAD_DISPUTE, merchant_id, claim_id, dispute_id)
    return None if row is None else read_dispute(row)


async def load_recent_disputes(
    tx: Connection, merchant_id: int, claim_id: int, since: datetime
) -> list[Dispute]:
    """The claim's that are open or were opened since, the oldest first."""
    rows = await tx.fetch(_LOAD_RECENT, merchant_id, claim_id, since)
    return [read_dispute(row) for row in rows]


async def save_dispute(tx: Connection, merchant_id: int, dispute: Dispute) -> None:
    """A new one of a locked claim."""
    await tx.execute(
        _SAVE, merchant_id, dispute.claim_id, dispute.dispute_id, dispute.type, dispute.reason,
        dispute.label, dispute.message, dict(dispute.answers), dispute.hold_id, dispute.opened_at,
        dispute.actor_kind, dispute.actor_id,
    )  # fmt: skip


async def save_dispute_end(tx: Connection, merchant_id: int, dispute: Dispute) -> None:
    """How an open dispute has ended; what was written of its answer and not sent goes."""
    await tx.execute(
        _SAVE_END, merchant_id, dispute.dispute_id, dispute.state, dispute.resolved_at,
        dispute.resolution, dispute.ended_claim,
    )  # fmt: skip


async def save_told(
    tx: Connection, merchant_id: int, dispute_id: UUID, told_at: datetime | None
) -> None:
    """told_at: since when a channel has the message that tells the answer; none: none has it."""
    await tx.execute(_SAVE_TOLD, merchant_id, dispute_id, told_at)


async def save_hold_of(
    tx: Connection, merchant_id: int, dispute_id: UUID, hold_id: UUID | None
) -> None:
    """hold_id: by which its claim stands still now."""
    await tx.execute(_SAVE_HOLD, merchant_id, dispute_id, hold_id)


def read_dispute(row: Mapping[str, Any]) -> Dispute:
    """From COLUMNS."""
    values = dict(row)
    values["type"] = DisputeType(row["type"])
    values["actor_kind"] = ActorKind(row["actor_kind"])
    values["state"] = DisputeState(row["state"])
    return Dispute(**values)


async def load_assignee(tx: Connection, merchant_id: int, dispute_id: UUID) -> UUID | None:
    assignee_id: UUID | None = await tx.fetchval(_LOAD_ASSIGNEE, merchant_id, dispute_id)
    return assignee_id


async def save_assignee(
    tx: Connection, merchant_id: int, dispute_id: UUID, assignee_id: UUID | None
) -> None:
    """Of a dispute whose claim is locked."""
    await tx.execute(_SAVE_ASSIGNEE, merchant_id, dispute_id, assignee_id)
