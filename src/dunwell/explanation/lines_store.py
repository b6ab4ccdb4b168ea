"""The SQL of how lines stand: of the installation, over all merchants. Instants are real time."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from dunwell.kit.db import Connection

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
    ORDER BY c.not_before
    LIMIT $3) waiting ON true
GROUP BY used.line
"""
# By communications_of_line; counted no further than $3.
_SENT = """
SELECT given.line, count(*) FILTER (WHERE found.state = 'ACCEPTED')::integer AS accepted,
       count(found.delivered_at)::integer AS delivered,
       count(*) FILTER (WHERE found.state = 'FAILED')::integer AS failed
FROM unnest($1::text[]) AS given (line)
CROSS JOIN LATERAL (
    SELECT c.state, c.delivered_at
    FROM communications c
    WHERE c.line = given.line AND c.settled_at >= $2
    ORDER BY c.settled_at DESC
    LIMIT $3) found
GROUP BY given.line
"""
# By channel_reports_of_line.
_FAILURES = """
SELECT r.line, r.destination, r.cause, r.reason, count(*)::integer AS reports,
       max(r.received_at) AS last_at
FROM unnest($1::text[]) AS given (line)
JOIN channel_reports r ON r.line = given.line AND r.received_at >= $2
WHERE r.state IN ('FAILED', 'RETURNED')
GROUP BY r.line, r.destination, r.cause, r.reason
ORDER BY reports DESC, r.line, r.destination, r.reason
LIMIT $3
"""
# By channel_reports_unmatched.
_UNMATCHED = """
SELECT line, provider_id, state, reason, received_at
FROM channel_reports
WHERE outcome = 'UNMATCHED' AND received_at >= $1
ORDER BY received_at DESC
LIMIT $2
"""


class Backlog(msgspec.Struct, frozen=True, gc=False):
    waiting: int
    # Of the one that has waited longest; none: nothing waits.
    since: datetime | None


class Sent(msgspec.Struct, frozen=True, gc=False):
    accepted: int
    delivered: int
    failed: int


class Failures(msgspec.Struct, frozen=True, gc=False):
    """Reports that say the same."""

    line: str
    # An e-mail's domain, a number's country; none: not told.
    destination: str | None
    cause: str
    reason: str
    reports: int
    last_at: datetime


class Unmatched(msgspec.Struct, frozen=True, gc=False):
    line: str
    provider_id: str
    state: str
    reason: str
    received_at: datetime


async def load_backlogs(
    tx: Connection, lines: Sequence[str], now: datetime, most: int
) -> Mapping[str, Backlog]:
    """Of lines that merchants send by."""
    rows = await tx.fetch(_BACKLOG, lines, now, most)
    return {row["line"]: Backlog(row["waiting"], row["since"]) for row in rows}


async def load_sent(
    tx: Connection, lines: Sequence[str], since: datetime, most: int
) -> Mapping[str, Sent]:
    """Of lines that something left by."""
    rows = await tx.fetch(_SENT, lines, since, most)
    return {row["line"]: Sent(row["accepted"], row["delivered"], row["failed"]) for row in rows}


async def load_failures(
    tx: Connection, lines: Sequence[str], since: datetime, most: int
) -> Sequence[Failures]:
    """The most frequent first."""
    return [Failures(*row) for row in await tx.fetch(_FAILURES, lines, since, most)]


async def load_unmatched(tx: Connection, since: datetime, most: int) -> Sequence[Unmatched]:
    """Those that name nothing of ours, the latest first."""
    return [Unmatched(*row) for row in await tx.fetch(_UNMATCHED, since, most)]
