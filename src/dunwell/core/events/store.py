"""The SQL of spans of the event log, and the SQL condition for which events an endpoint receives. A
span is a group of consecutive events with their earliest and latest date, so that the events of a
time range can be found."""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import SETTLED_BEFORE
from dunwell.platform.database.sql import compose


@dataclass(frozen=True, slots=True)
class EventPosition:
    """The position directly after an event, given by the transaction that wrote it and its id."""

    written_by: int
    event_id: UUID


# The number of events in a span, and the largest number of spans that one call saves for a
# merchant.
_SPAN_EVENTS = 1000
_SPANS_AT_ONCE = 20
_BEGINNING = EventPosition(0, UUID(int=0))

# Uses primary keys and events_list. Reads at most a few thousand events of each merchant.
_SAVE = compose(
    """
WITH behind AS (
    SELECT merchant.merchant_id, coalesce(last.upto_written_by, '0') AS written_by,
        coalesce(last.upto_event_id, '{no_event}') AS event_id
    FROM merchants merchant
    LEFT JOIN LATERAL (
        SELECT upto_written_by, upto_event_id
        FROM event_spans
        WHERE merchant_id = merchant.merchant_id
        ORDER BY upto_written_by DESC, upto_event_id DESC
        LIMIT 1
    ) last ON true
), settled AS (
    SELECT behind.merchant_id, event.*,
        (row_number() OVER (PARTITION BY behind.merchant_id
                            ORDER BY event.written_by, event.event_id) - 1) / $1::integer AS number
    FROM behind
    CROSS JOIN LATERAL (
        SELECT written_by, event_id, occurred_at
        FROM events
        WHERE events.merchant_id = behind.merchant_id
            AND (events.written_by, events.event_id) > (behind.written_by, behind.event_id)
            AND events.written_by < {settled_before}
        ORDER BY events.written_by, events.event_id
        LIMIT $1::integer * {spans_at_once}
    ) event
), full_spans AS (
    SELECT merchant_id, number, max(written_by) AS written_by,
        (array_agg(event_id ORDER BY written_by DESC, event_id DESC))[1] AS event_id,
        min(occurred_at) AS earliest_at, max(occurred_at) AS latest_at
    FROM settled
    GROUP BY merchant_id, number
    HAVING count(*) = $1::integer
)
INSERT INTO event_spans (merchant_id, upto_written_by, upto_event_id, after_written_by,
    after_event_id, earliest_at, latest_at)
SELECT merchant_id, span.written_by, span.event_id,
    coalesce(lag(span.written_by) OVER spans, behind.written_by),
    coalesce(lag(span.event_id) OVER spans, behind.event_id),
    earliest_at, latest_at
FROM full_spans span
JOIN behind USING (merchant_id)
WINDOW spans AS (PARTITION BY merchant_id ORDER BY number)
ON CONFLICT DO NOTHING
""",
    no_event=str(UUID(int=0)),
    spans_at_once=str(_SPANS_AT_ONCE),
    settled_before=SETTLED_BEFORE,
)
# Uses the primary key. Each of the three reads a range of a merchant's spans, which are a
# thousandth of its events.
_FIND = """
SELECT place.name, place.written_by::text AS written_by, place.event_id
FROM (
    (SELECT 'first' AS name, after_written_by AS written_by, after_event_id AS event_id
     FROM event_spans
     WHERE merchant_id = $1 AND (upto_written_by, upto_event_id) > ($2::text::xid8, $3)
        AND ($4::timestamptz IS NULL OR latest_at >= $4)
        AND ($5::timestamptz IS NULL OR earliest_at < $5)
     ORDER BY upto_written_by, upto_event_id
     LIMIT 1)
    UNION ALL
    (SELECT 'last', upto_written_by, upto_event_id
     FROM event_spans
     WHERE merchant_id = $1 AND (upto_written_by, upto_event_id) > ($2::text::xid8, $3)
        AND ($4::timestamptz IS NULL OR latest_at >= $4)
        AND ($5::timestamptz IS NULL OR earliest_at < $5)
     ORDER BY upto_written_by DESC, upto_event_id DESC
     LIMIT 1)
    UNION ALL
    (SELECT 'end', upto_written_by, upto_event_id
     FROM event_spans
     WHERE merchant_id = $1
     ORDER BY upto_written_by DESC, upto_event_id DESC
     LIMIT 1)
) place
"""


@dataclass(frozen=True, slots=True)
class EventRange:
    """Where to look for events of a time range: after the position `first` up to `last`, and after
    `rest`. No position is before that of the cursor."""

    first: EventPosition
    last: EventPosition
    rest: EventPosition


def render_is_subscribed(endpoint: str, event: str) -> str:
    """Return the SQL condition that an endpoint receives an event. `endpoint` and `event` are the
    aliases of their tables. The type `*` means the types of the contract, which are those whose
    events have a sequence number."""
    return (
        f"({event}.type = ANY ({endpoint}.types)"
        f" OR {event}.sequence IS NOT NULL AND '*' = ANY ({endpoint}.types))"
    )


async def save_spans(tx: Connection, span_events: int = _SPAN_EVENTS) -> int:
    """Group settled events (no transaction that can still commit has written an earlier one) into
    spans of this size, up to a limit for each merchant, and return the number of spans. Concurrent
    calls write the same or overlapping spans, which does no harm."""
    status = await tx.execute(_SAVE, span_events)
    return int(status.rsplit(" ", 1)[1])


async def find_event_range(
    tx: Connection,
    merchant_id: int,
    position: EventPosition,
    since: datetime | None,
    until: datetime | None,
) -> EventRange:
    """Return where, after `position`, events of this time range can be."""
    rows = await tx.fetch(
        _FIND, merchant_id, str(position.written_by), position.event_id, since, until
    )
    positions = {row["name"]: _build_position(row) for row in rows}
    rest = max(position, positions.get("end", _BEGINNING), key=_sort_key)
    first, last = positions.get("first", rest), positions.get("last", rest)
    return EventRange(max(position, first, key=_sort_key), last, rest)


def _build_position(row: Row) -> EventPosition:
    return EventPosition(int(row["written_by"]), row["event_id"])


def _sort_key(position: EventPosition) -> tuple[int, UUID]:
    return position.written_by, position.event_id
