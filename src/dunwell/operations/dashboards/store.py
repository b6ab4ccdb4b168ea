"""The SQL of print batches and of delivery providers as staff see them, over all merchants.
Instants are in real time."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from dunwell.contact.sending.batches.release_batches import WITHDRAWN_REASON
from dunwell.operations.dashboards.figures import (
    ArrivalFigures,
    DestinationFigures,
    FailureReason,
    ProviderBacklog,
    UnmatchedReport,
)
from dunwell.platform.database.database import Connection
from dunwell.platform.database.sql import compose

# Uses the primary key, letter_batches_of_provider for one provider, and letter_batch_items_failed.
_SELECT_BATCHES = """
SELECT b.batch_id, b.provider, b.state, b.letters, b.pages, b.created_at, b.released_at,
       b.found_at IS NOT NULL AS is_found,
       (SELECT count(*) FROM letter_batch_items i
        WHERE i.batch_id = b.batch_id AND i.status IN ('RETURNED', 'FAILED'))::integer AS failed
FROM letter_batches b
WHERE {wanted}
ORDER BY b.batch_id DESC
LIMIT $2
"""
_LIST_BATCHES = compose(_SELECT_BATCHES, wanted="b.batch_id < $1")
_LIST_BATCHES_OF_PROVIDER = compose(_SELECT_BATCHES, wanted="b.provider = $3 AND b.batch_id < $1")
_FIND_BATCH = compose(_SELECT_BATCHES, wanted="b.batch_id = $1")
# Uses letter_batch_items_of_batch; a batch has at most 10,000 letters.
_COUNT_STATUSES = """
SELECT status, count(*)::integer AS letters
FROM letter_batch_items
WHERE batch_id = $1
GROUP BY status
"""
# The contact or notice of a letter, with its claim.
_SELECT_LETTERS = """
SELECT i.merchant_id, i.communication_id, i.provider, i.reference, i.country, i.pages, i.status,
       i.status_at, i.handed_at, i.doubt, coalesce(m.claim_id, n.claim_id) AS claim_id,
       m.claim_id IS NOT NULL AS is_contact, x.name AS merchant, c.reference_number
FROM letter_batch_items i
JOIN merchants x USING (merchant_id)
LEFT JOIN communications m USING (merchant_id, communication_id)
LEFT JOIN debtor_notices n
    ON (n.merchant_id, n.notice_id) = (i.merchant_id, i.communication_id)
LEFT JOIN claims c
    ON (c.merchant_id, c.claim_id) = (i.merchant_id, coalesce(m.claim_id, n.claim_id))
WHERE {wanted}
ORDER BY {order}
LIMIT $3
"""
# Uses letter_batch_items_of_batch and letter_batch_items_failed.
_LIST_LETTERS = compose(
    _SELECT_LETTERS,
    wanted="i.batch_id = $4 AND (i.communication_id, i.merchant_id) > ($1, $2)",
    order="i.communication_id, i.merchant_id",
)
_LIST_FAILED_LETTERS = compose(
    _SELECT_LETTERS,
    wanted="i.batch_id = $4 AND i.status IN ('RETURNED', 'FAILED')"
    " AND (i.communication_id, i.merchant_id) > ($1, $2)",
    order="i.communication_id, i.merchant_id",
)
# Uses letter_batch_items_doubted.
_LIST_DOUBTFUL_LETTERS = compose(
    _SELECT_LETTERS,
    wanted=(
        "i.provider = $4 AND i.doubt IS NOT NULL AND (i.merchant_id, i.communication_id) > ($2, $1)"
    ),
    order="i.merchant_id, i.communication_id",
)
# Uses letter_batch_items_waiting and letter_batch_items_doubted; counts at most $2 rows.
_COUNT_WAITING_LETTERS = """
SELECT given.provider, waiting.letters, waiting.since, doubtful.letters AS doubtful
FROM unnest($1::text[]) AS given (provider)
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS letters, min(handed_at) AS since
    FROM (SELECT handed_at FROM letter_batch_items
          WHERE provider = given.provider AND state = 'WAITING' ORDER BY handed_at
          LIMIT $2) first) waiting
CROSS JOIN LATERAL (
    SELECT count(*)::integer AS letters
    FROM (SELECT FROM letter_batch_items
          WHERE provider = given.provider AND doubt IS NOT NULL LIMIT $2) first) doubtful
"""
# Uses letter_status_files_read.
_LIST_STATUS_FILES = """
SELECT provider, name, read_at, outcome, reports, reason
FROM letter_status_files
ORDER BY read_at DESC
LIMIT $1
"""


class BatchRow(msgspec.Struct, frozen=True, gc=False):
    """A print batch. `state` is DECIDED, WRITTEN or RELEASED. `is_found` says that the batch was
    found on the print service after a restore. `failed` counts the letters that were not
    delivered."""

    batch_id: UUID
    provider: str
    state: str
    letters: int
    pages: int
    created_at: datetime
    released_at: datetime | None
    is_found: bool
    failed: int


class LetterRow(msgspec.Struct, frozen=True, gc=False):
    """A letter of a print batch. `status` is what the print service reported last. `doubt` is
    UNCONFIRMED or MISSING if a person has to decide whether the letter was released. `is_contact`
    says that the letter is part of a workflow; otherwise it is a notice."""

    merchant_id: int
    communication_id: UUID
    provider: str
    reference: str
    country: str | None
    pages: int
    status: str | None
    status_at: datetime | None
    handed_at: datetime | None
    doubt: str | None
    claim_id: int | None
    is_contact: bool
    merchant: str
    reference_number: str | None


class WaitingLetters(msgspec.Struct, frozen=True, gc=False):
    """The letters of a provider that wait for a batch. `since` is when the oldest one started to
    wait. `doubtful` counts the letters that await a decision of a person."""

    provider: str
    letters: int
    since: datetime | None
    doubtful: int


class StatusFileRow(msgspec.Struct, frozen=True, gc=False):
    """A status file of a print service. `outcome` is READ, or REFUSED with the reason."""

    provider: str
    name: str
    read_at: datetime
    outcome: str
    reports: int
    reason: str | None


async def list_batch_rows(
    tx: Connection, provider: str | None, before: UUID, limit: int
) -> Sequence[BatchRow]:
    """List the batches before `before`, newest first."""
    if provider is None:
        rows = await tx.fetch(_LIST_BATCHES, before, limit)
    else:
        rows = await tx.fetch(_LIST_BATCHES_OF_PROVIDER, before, limit, provider)
    return [BatchRow(*row) for row in rows]


async def find_batch_row(tx: Connection, batch_id: UUID) -> BatchRow | None:
    row = await tx.fetchrow(_FIND_BATCH, batch_id, 1)
    return None if row is None else BatchRow(*row)


async def count_statuses(tx: Connection, batch_id: UUID) -> dict[str | None, int]:
    """Count letters by the last reported status. None is the key of letters without a report."""
    return {row["status"]: row["letters"] for row in await tx.fetch(_COUNT_STATUSES, batch_id)}


async def list_letter_rows(
    tx: Connection, batch_id: UUID, after: tuple[UUID, int], limit: int, *, only_failed: bool
) -> Sequence[LetterRow]:
    statement = _LIST_FAILED_LETTERS if only_failed else _LIST_LETTERS
    return [LetterRow(*row) for row in await tx.fetch(statement, *after, limit, batch_id)]


async def list_doubtful_letter_rows(
    tx: Connection, provider: str, after: tuple[UUID, int], limit: int
) -> Sequence[LetterRow]:
    """List letters that await a decision."""
    return [
        LetterRow(*row) for row in await tx.fetch(_LIST_DOUBTFUL_LETTERS, *after, limit, provider)
    ]


async def list_waiting_letters(
    tx: Connection, providers: Sequence[str], limit: int
) -> Sequence[WaitingLetters]:
    rows = await tx.fetch(_COUNT_WAITING_LETTERS, list(providers), limit)
    return sorted((WaitingLetters(*row) for row in rows), key=lambda each: each.provider)


async def list_status_files(tx: Connection, limit: int) -> Sequence[StatusFileRow]:
    """List the status files, latest first."""
    return [StatusFileRow(*row) for row in await tx.fetch(_LIST_STATUS_FILES, limit)]


# Uses communications_planned. Counts at most $3 rows of each merchant and channel that uses a
# provider.
_COUNT_BACKLOG = """
SELECT used.provider, count(waiting.not_before)::integer AS waiting, min(waiting.not_before)
    AS since
FROM (SELECT m.merchant_id, named.key AS channel, named.value ->> 'provider' AS provider
      FROM merchants m
      CROSS JOIN LATERAL jsonb_each(m.configuration -> 'channels') AS named
      WHERE named.value ->> 'provider' = ANY($1::text[])) used
LEFT JOIN LATERAL (
    SELECT c.not_before
    FROM communications c
    WHERE c.merchant_id = used.merchant_id AND c.state = 'PLANNED' AND c.not_before <= $2
      AND c.channel = used.channel
      -- A message of a claim on hold does not wait for the provider.
      AND EXISTS (SELECT FROM claims k WHERE k.merchant_id = c.merchant_id
                    AND k.claim_id = c.claim_id AND NOT k.held)
    ORDER BY c.not_before
    LIMIT $3) waiting ON true
GROUP BY used.provider
"""
# Uses communications_of_provider and reads at most $3 contacts of a provider. A letter that was
# withdrawn before it was printed ($4) was never sent.
_LATEST_CONTACTS = """
unnest($1::text[]) AS given (provider)
CROSS JOIN LATERAL (
    SELECT c.merchant_id, c.communication_id, c.state, c.delivered_at, c.settled_at, c.failure,
           c.destination, c.recipient_digest
    FROM communications c
    WHERE c.provider = given.provider AND c.settled_at >= $2
    ORDER BY c.settled_at DESC
    LIMIT $3) found
"""
_ARRIVAL_COUNTS = """
count(*)::integer AS sent,
count(*) FILTER (WHERE found.state = 'ACCEPTED' AND found.delivered_at IS NOT NULL)::integer
    AS delivered,
count(*) FILTER (WHERE found.state = 'FAILED')::integer AS failed
"""
_COUNT_SENT = compose(
    """
SELECT given.provider, {counts}
FROM {latest}
WHERE found.state IN ('ACCEPTED', 'FAILED') AND found.failure IS DISTINCT FROM $4
GROUP BY given.provider
""",
    counts=_ARRIVAL_COUNTS,
    latest=_LATEST_CONTACTS,
)
_COUNT_DELIVERIES = compose(
    """
SELECT given.provider, found.destination, {counts},
       count(DISTINCT found.recipient_digest) FILTER (WHERE found.state = 'FAILED')::integer
           AS people
FROM {latest}
WHERE found.state IN ('ACCEPTED', 'FAILED') AND found.failure IS DISTINCT FROM $4
GROUP BY given.provider, found.destination
ORDER BY failed DESC, sent DESC, given.provider, found.destination
LIMIT $5
""",
    counts=_ARRIVAL_COUNTS,
    latest=_LATEST_CONTACTS,
)
# The reasons why contacts failed, with the causes from their delivery reports (uses
# delivery_reports_of_message), and the reported failures of other messages (uses
# delivery_reports_of_provider).
_LIST_FAILURES = compose(
    """
SELECT provider, destination, cause, reason, count(*)::integer AS messages, max(at) AS last_at
FROM (
    SELECT given.provider, found.destination, coalesce(reported.cause, 'OTHER') AS cause,
           coalesce(found.failure, '') AS reason, found.settled_at AS at
    FROM {latest}
    LEFT JOIN LATERAL (
        SELECT r.cause
        FROM delivery_reports r
        WHERE r.merchant_id = found.merchant_id AND r.communication_id = found.communication_id
          AND r.provider = given.provider AND r.state IN ('FAILED', 'RETURNED')
        ORDER BY r.received_at DESC
        LIMIT 1) reported ON true
    WHERE found.state = 'FAILED' AND found.failure IS DISTINCT FROM $4
    UNION ALL
    SELECT r.provider, r.destination, r.cause, r.reason, r.received_at
    FROM unnest($1::text[]) AS given (provider)
    JOIN delivery_reports r ON r.provider = given.provider AND r.received_at >= $2
    WHERE r.state IN ('FAILED', 'RETURNED') AND r.outcome IS DISTINCT FROM 'UNMATCHED'
      AND r.communication_id IS NOT NULL
      AND NOT EXISTS (SELECT FROM communications c
                      WHERE c.merchant_id = r.merchant_id
                        AND c.communication_id = r.communication_id)) reported
GROUP BY provider, destination, cause, reason
ORDER BY messages DESC, provider, destination, reason
LIMIT $5
""",
    latest=_LATEST_CONTACTS,
)
# Uses delivery_reports_unmatched.
_LIST_UNMATCHED = """
SELECT provider, provider_message_id, state, reason, received_at
FROM delivery_reports
WHERE outcome = 'UNMATCHED' AND received_at >= $1
ORDER BY received_at DESC
LIMIT $2
"""


async def count_backlogs(
    tx: Connection, providers: Sequence[str], now: datetime, limit: int
) -> Mapping[str, ProviderBacklog]:
    """Return the waiting messages of those of the delivery providers that merchants use. At most
    `limit` messages of each merchant and channel are counted."""
    rows = await tx.fetch(_COUNT_BACKLOG, providers, now, limit)
    return {row["provider"]: ProviderBacklog(row["waiting"], row["since"]) for row in rows}


class ContactSelection(msgspec.Struct, frozen=True, gc=False):
    """The contacts to examine: those that these providers settled since `since`, at most `limit` of
    each provider."""

    providers: Sequence[str]
    since: datetime
    limit: int

    @property
    def values(self) -> tuple[object, ...]:
        return (self.providers, self.since, self.limit, WITHDRAWN_REASON)


async def count_arrivals(
    tx: Connection, selection: ContactSelection
) -> Mapping[str, ArrivalFigures]:
    """Count sent, delivered and failed contacts of each delivery provider that sent any."""
    rows = await tx.fetch(_COUNT_SENT, *selection.values)
    return {
        row["provider"]: ArrivalFigures(row["sent"], row["delivered"], row["failed"])
        for row in rows
    }


async def count_arrivals_by_destination(
    tx: Connection, selection: ContactSelection, limit: int
) -> Sequence[DestinationFigures]:
    """Count sent, delivered and failed contacts of each provider and destination, those with most
    failures first."""
    rows = await tx.fetch(_COUNT_DELIVERIES, *selection.values, limit)
    return [
        DestinationFigures(
            row["provider"], row["destination"], ArrivalFigures(row["sent"], row["delivered"],
            row["failed"]),
            row["people"],
        )
        for row in rows
    ]  # fmt: skip


async def list_failures(
    tx: Connection, selection: ContactSelection, limit: int
) -> Sequence[FailureReason]:
    """List the reasons of failures, most frequent first."""
    return [FailureReason(*row) for row in await tx.fetch(_LIST_FAILURES, *selection.values, limit)]


async def list_unmatched(tx: Connection, since: datetime, limit: int) -> Sequence[UnmatchedReport]:
    """List reports that match no message, latest first."""
    return [UnmatchedReport(*row) for row in await tx.fetch(_LIST_UNMATCHED, since, limit)]
