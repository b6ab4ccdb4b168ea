"""The SQL of drafted responses. When a dispute ends, `cases.disputes.store` deletes its draft."""

from datetime import datetime
from typing import Literal
from uuid import UUID

import msgspec

from dunwell.platform.database.database import Connection

# Uses the primary key.
_LOAD = """
SELECT outcome, ends_claim, message, revision, saved_at, actor_id
FROM response_drafts
WHERE merchant_id = $1 AND dispute_id = $2
"""
# Uses the primary key.
_SAVE = """
INSERT INTO response_drafts
    (merchant_id, dispute_id, outcome, ends_claim, message, revision, saved_at, actor_kind,
     actor_id)
VALUES ($1, $2, $3, $4, $5, 1, $6, $7, $8)
ON CONFLICT (merchant_id, dispute_id) DO UPDATE
SET outcome = EXCLUDED.outcome, ends_claim = EXCLUDED.ends_claim, message = EXCLUDED.message,
    revision = response_drafts.revision + 1, saved_at = EXCLUDED.saved_at,
    actor_kind = EXCLUDED.actor_kind, actor_id = EXCLUDED.actor_id
RETURNING revision
"""


class DraftRow(msgspec.Struct, frozen=True, gc=False):
    outcome: Literal["", "ACCEPTED", "REJECTED"]
    ends_claim: bool
    message: str
    revision: int
    saved_at: datetime
    actor_id: str | None


async def load_draft_row(tx: Connection, merchant_id: int, dispute_id: UUID) -> DraftRow | None:
    row = await tx.fetchrow(_LOAD, merchant_id, dispute_id)
    return None if row is None else DraftRow(**row)


async def save_draft_row(
    tx: Connection, merchant_id: int, dispute_id: UUID, values: tuple[str, bool, str],
    *, saved_at: datetime, writer: tuple[str, str | None],
) -> int:  # fmt: skip
    """Save a draft and return its new revision. `values` are the outcome, whether the claim
    ends, and the message. `writer` is the kind and id of the actor."""
    revision: int = await tx.fetchval(_SAVE, merchant_id, dispute_id, *values, saved_at, *writer)
    return revision
