"""Writing events and what they set off, in the transaction of the change that caused them.

A whole set is one statement, whatever its size: events, and a delivery for every endpoint that
wants the type. Who calls has raised each claim's event_sequence and gives the numbers.
"""

from collections.abc import Sequence
from datetime import datetime

from dunwell.core.events.payloads import Event
from dunwell.platform.database.database import Connection
from dunwell.platform.database.epochs import WRITTEN_BY
from dunwell.platform.database.sql import compose

# Endpoints by their primary key's merchant; foreign keys are checked when the statement ends.
# A switched-off endpoint keeps collecting: its deliveries wait for the probe that succeeds.
_SAVE = compose(
    """
WITH written AS (
    INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body,
        written_by)
    SELECT $1, *, {written_by}
    FROM UNNEST($2::uuid[], $3::bigint[], $4::integer[], $5::text[], $6::timestamptz[], $7::text[])
    RETURNING event_id, type
)
INSERT INTO deliveries (merchant_id, endpoint_id, event_id, due_at)
SELECT $1, endpoint.endpoint_id, written.event_id, $8
FROM written
JOIN webhook_endpoints endpoint
    ON endpoint.merchant_id = $1
    AND endpoint.removed_at IS NULL
    AND endpoint.types && ARRAY[written.type, '*']
""",
    written_by=WRITTEN_BY,
)


async def save_events(
    tx: Connection, merchant_id: int, events: Sequence[Event], delivered_from: datetime
) -> None:
    """Insert the events and their deliveries, whose first try is due at `delivered_from` (real
    time, also for a sandbox merchant)."""
    if not events:
        return
    await tx.execute(
        _SAVE,
        merchant_id,
        [event.event_id for event in events],
        [event.claim_id for event in events],
        [event.sequence for event in events],
        [event.type for event in events],
        [event.occurred_at for event in events],
        [event.body for event in events],
        delivered_from,
    )
