"""What the steps of claims have tried: the channels and places of their contacts that count."""

from collections.abc import Collection
from uuid import UUID

from dunwell.escalation.schedule import Tried
from dunwell.kit.db import Connection

# By primary key, then by the unique key (merchant_id, claim_id, run, step_id, place). A cancelled
# contact never left the house, and its place is free.
_LOAD = """
SELECT m.communication_id, array_agg(o.channel) AS channels, max(o.place) + 1 AS next_place
FROM communications m
JOIN communications o USING (merchant_id, claim_id, run, step_id)
WHERE m.merchant_id = $1 AND m.communication_id = ANY($2::uuid[]) AND o.state <> 'CANCELLED'
GROUP BY m.communication_id
"""


async def load_tried(
    tx: Connection, merchant_id: int, communication_ids: Collection[UUID]
) -> dict[UUID, Tried]:
    """For each contact what its step has tried in its run, that contact included."""
    rows = await tx.fetch(_LOAD, merchant_id, list(communication_ids))
    return {
        row["communication_id"]: Tried(frozenset(row["channels"]), row["next_place"])
        for row in rows
    }
