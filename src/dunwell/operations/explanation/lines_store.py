"""The SQL of how lines stand: of the installation, over all merchants. Instants are real time."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from dunwell.contact.sending.batches.release_batches import TAKEN_BACK
from dunwell.operations.explanation.line_figures import Backlog, Delivery, Failures, Sent, Unmatched
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# By communications_planned for each merchant that sends by the line; counted no further than $3.
_BACKLOG = """
SELECT used.line, count(waiting.not_before)::integer AS waiting, min(waiting.not_before) AS since
FROM (SELECT m.merchant_id, named.key AS channel, named.value ->> 'line' AS line
      FROM merchants m
      CROSS JOIN LATERAL jsonb_each(m.configuration -> 'channels') AS named
      WHERE named.value ->> 'line' = ANY($1::text[])) used
LEFT JOIN LATERAL (
    SELECT c.not_before
    FROM communications c
    WHERE c.merchant_id = used.merchant_id AND c.state = 'PLANNED' AND c.not_before <= $2
      AND c.channel = used.channel
      -- What a hold keeps does not wait for the line.
      AND EXISTS (SELECT FROM claims k WHERE k.merchant_id = c.merchant_id
                    AND k.claim_id = c.claim_id AND NOT k.held)
    ORDER BY c.not_before
    LIMIT $3) waiting ON true
GROUP BY used.line
"""
# By communications_of_line; no further back than $3 contacts of a line. What was taken back before
# it was printed ($4) was never sent.
_LATEST = """
unnest($1::text[]) AS given (line)
CROSS JOIN LATERAL (
    SELECT c.merchant_id, c.communication_id, c.state, c.delivered_at, c.settled_at, c.failure,
           c.destination, c.recipient_digest
    FROM communications c
    WHERE c.line = given.line AND c.settled_at >= $2
    ORDER BY c.settled_at DESC
    LIMIT $3) found
"""
_COUNTS = """
count(*)::integer AS sent,
count(*) FILTER (WHERE found.state = 'ACCEPTED' AND found.delivered_at IS NOT NULL)::integer
    AS delivered,
count(*) FILTER (WHERE found.state = 'FAILED')::integer AS failed
"""
_SENT = compose(
    """
SELECT given.line, {counts}
FROM {latest}
WHERE found.state IN ('ACCEPTED', 'FAILED') AND found.failure IS DISTINCT FROM $4
GROUP BY given.line
""",
    counts=_COUNTS,
    latest=_LATEST,
)
_DELIVERIES = compose(
    """
SELECT given.line, found.destination, {counts},
       count(DISTINCT found.recipient_digest) FILTER (WHERE found.state = 'FAILED')::integer
           AS people
FROM {latest}
WHERE found.state IN ('ACCEPTED', 'FAILED') AND found.failure IS DISTINCT FROM $4
GROUP BY given.line, found.destination
ORDER BY failed DESC, sent DESC, given.line, found.destination
LIMIT $5
""",
    counts=_COUNTS,
    latest=_LATEST,
)
# Why contacts failed, with what their reports say of the cause (by channel_reports_of_message), and
# what was reported of messages that are no contacts (by channel_reports_of_line).
_FAILURES = compose(
    """
SELECT line, destination, cause, reason, count(*)::integer AS messages, max(at) AS last_at
FROM (
    SELECT given.line, found.destination, coalesce(told.cause, 'OTHER') AS cause,
           coalesce(found.failure, '') AS reason, found.settled_at AS at
    FROM {latest}
    LEFT JOIN LATERAL (
        SELECT r.cause
        FROM channel_reports r
        WHERE r.merchant_id = found.merchant_id AND r.communication_id = found.communication_id
          AND r.line = given.line AND r.state IN ('FAILED', 'RETURNED')
        ORDER BY r.received_at DESC
        LIMIT 1) told ON true
    WHERE found.state = 'FAILED' AND found.failure IS DISTINCT FROM $4
    UNION ALL
    SELECT r.line, r.destination, r.cause, r.reason, r.received_at
    FROM unnest($1::text[]) AS given (line)
    JOIN channel_reports r ON r.line = given.line AND r.received_at >= $2
    WHERE r.state IN ('FAILED', 'RETURNED') AND r.outcome IS DISTINCT FROM 'UNMATCHED'
      AND r.communication_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM communications c
                      WHERE c.merchant_id = r.merchant_id
                        AND c.communication_id = r.communication_id)) told
GROUP BY line, destination, cause, reason
ORDER BY messages DESC, line, destination, reason
LIMIT $5
""",
    latest=_LATEST,
)
# By channel_reports_unmatched.
_UNMATCHED = """
SELECT line, provider_id, state, reason, received_at
FROM channel_reports
WHERE outcome = 'UNMATCHED' AND received_at >= $1
ORDER BY received_at DESC
LIMIT $2
"""


async def load_backlogs(
    tx: Connection, lines: Sequence[str], now: datetime, most: int
) -> Mapping[str, Backlog]:
    """Of lines that merchants send by."""
    rows = await tx.fetch(_BACKLOG, lines, now, most)
    return {row["line"]: Backlog(row["waiting"], row["since"]) for row in rows}


class Looked(msgspec.Struct, frozen=True, gc=False):
    """Which contacts are looked at: of these lines, settled since, so many of each at most."""

    lines: Sequence[str]
    since: datetime
    most: int

    @property
    def values(self) -> tuple[object, ...]:
        return (self.lines, self.since, self.most, TAKEN_BACK)


async def load_sent(tx: Connection, looked: Looked) -> Mapping[str, Sent]:
    """Of lines that something left by."""
    rows = await tx.fetch(_SENT, *looked.values)
    return {row["line"]: Sent(row["sent"], row["delivered"], row["failed"]) for row in rows}


async def load_deliveries(tx: Connection, looked: Looked, limit: int) -> Sequence[Delivery]:
    """Where most failed first."""
    rows = await tx.fetch(_DELIVERIES, *looked.values, limit)
    return [
        Delivery(
            row["line"], row["destination"], Sent(row["sent"], row["delivered"], row["failed"]),
            row["people"],
        )
        for row in rows
    ]  # fmt: skip


async def load_failures(tx: Connection, looked: Looked, limit: int) -> Sequence[Failures]:
    """The most frequent first."""
    return [Failures(*row) for row in await tx.fetch(_FAILURES, *looked.values, limit)]


async def load_unmatched(tx: Connection, since: datetime, most: int) -> Sequence[Unmatched]:
    """Those that name nothing of ours, the latest first."""
    return [Unmatched(*row) for row in await tx.fetch(_UNMATCHED, since, most)]
