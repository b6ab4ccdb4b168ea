"""The SQL of what waits for the workers, over all merchants: due steps, and messages on their way
out by delivery provider. Sandboxes, whose clocks are their own, are left out. Instants are real
time, which is a live merchant's.
"""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from dunwell.platform.database.database import Connection

# By claims_due_anywhere, as far as $2.
_COUNT_STEPS = """
SELECT count(*) AS number, min(due.due_at) AS oldest
FROM (
    SELECT c.due_at
    FROM claims c
    JOIN merchants m ON m.merchant_id = c.merchant_id AND NOT m.sandbox
    WHERE c.due_at <= $1 AND NOT c.held
    ORDER BY c.due_at
    LIMIT $2) due
"""
# By communications_planned_anywhere, communications_handed_over_anywhere, communications_unknown
# and debtor_notices_due, each as far as $2. A message is given to the provider that its merchant's
# channel names at the moment; only of one that was called is it recorded.
_COUNT_MESSAGES = """
SELECT coalesce(found.line, m.configuration -> 'channels' -> found.channel ->> 'line') AS line,
       found.state, count(*) AS number
FROM (
    (SELECT c.merchant_id, c.channel, NULL::text AS line,
            CASE WHEN c.lease_until > $1 THEN 'leased' ELSE 'planned' END AS state
     FROM communications c
     JOIN merchants live ON live.merchant_id = c.merchant_id AND NOT live.sandbox
     WHERE c.state IN ('PLANNED', 'ATTACHMENT_MISSING')
     ORDER BY c.not_before
     LIMIT $2)
    UNION ALL
    (SELECT c.merchant_id, c.channel, NULL, 'leased'
     FROM communications c
     JOIN merchants live ON live.merchant_id = c.merchant_id AND NOT live.sandbox
     WHERE c.state = 'HANDED_OVER'
     ORDER BY c.lease_until
     LIMIT $2)
    UNION ALL
    (SELECT c.merchant_id, c.channel, c.line, 'unknown'
     FROM communications c
     JOIN merchants live ON live.merchant_id = c.merchant_id AND NOT live.sandbox
     WHERE c.state = 'UNKNOWN'
     ORDER BY c.merchant_id, c.communication_id
     LIMIT $2)
    UNION ALL
    (SELECT n.merchant_id, n.channel, NULL,
            CASE n.state WHEN 'HANDED_OVER' THEN 'leased' ELSE 'planned' END
     FROM debtor_notices n
     JOIN merchants live ON live.merchant_id = n.merchant_id AND NOT live.sandbox
     WHERE n.due_at IS NOT NULL
     ORDER BY n.due_at
     LIMIT $2)) found
JOIN merchants m ON m.merchant_id = found.merchant_id
GROUP BY 1, 2
"""


class DueSteps(msgspec.Struct, frozen=True, gc=False):
    count: int
    # When the first of them fell due; None: no step is due.
    oldest: datetime | None


class MessageCount(msgspec.Struct, frozen=True, gc=False):
    # None: the channel has no delivery provider.
    line: str | None
    # planned, leased or unknown.
    state: str
    count: int


async def count_due_steps(connection: Connection, now: datetime, most: int) -> DueSteps:
    """Where more than `most` steps are due, `most` are counted, the oldest first."""
    return DueSteps(*await connection.fetchrow(_COUNT_STEPS, now, most))


async def count_messages(
    connection: Connection, now: datetime, most: int
) -> Sequence[MessageCount]:
    """Where more than `most` are planned, handed over or unknown, `most` of them are counted.
    Notices to debtors, such as codes, are counted by themselves in the same way."""
    return [MessageCount(*row) for row in await connection.fetch(_COUNT_MESSAGES, now, most)]
