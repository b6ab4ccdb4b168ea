"""Reading a merchant's events, oldest first, page by page.

Events stand in the order of their writing transactions. One that still runs, or began before one
that does, may yet add rows, so whatever is not older than all of them is held back: nothing ever
appears behind a cursor that was handed out.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from dunwell.events.cursor import Position, decode_cursor, encode_cursor
from dunwell.kit.db import Connection

# events_list; of a type events_by_type, of a short time events_by_time, of a claim the unique key
# on its sequence. Sorted by the column, not by its text of the same name.
_LOAD = """
SELECT event_id, written_by::text AS written_by, body
FROM events
WHERE merchant_id = $1
    AND (written_by, event_id) > ($2::text::xid8, $3)
    AND written_by < pg_snapshot_xmin(pg_current_snapshot())
    {filters}
ORDER BY events.written_by, events.event_id
LIMIT $4
"""
_BEGINNING = Position(0, UUID(int=0))
_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(9000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events to list; `since` is inclusive, `until` exclusive, both by the event's date."""

    since: datetime | None = None
    until: datetime | None = None
    type: str | None = None
    claim_id: int | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Bodies to the letter, as webhooks carry them; no cursor when these are the last for now."""

    bodies: list[str]
    next_cursor: str | None


NO_FILTER = EventFilter()


async def load_events_page(
    tx: Connection,
    merchant_id: int,
    *,
    limit: int,
    cursor: str | None = None,
    wanted: EventFilter = NO_FILTER,
) -> EventPage:
    """At most `limit` events behind the cursor. Raises ValidationError for a bad cursor."""
    position = _BEGINNING if cursor is None else decode_cursor(merchant_id, cursor)
    conditions, values = _render_filters(wanted)
    rows = await tx.fetch(
        _LOAD.format(filters=conditions),
        merchant_id, str(position.written_by), position.event_id, limit + 1, *values,
    )  # fmt: skip
    page = rows[:limit]
    if len(rows) <= limit:
        return EventPage([row["body"] for row in page], None)
    last = Position(int(page[-1]["written_by"]), page[-1]["event_id"])
    return EventPage([row["body"] for row in page], encode_cursor(merchant_id, last))


def _render_filters(wanted: EventFilter) -> tuple[str, list[object]]:
    """One condition for each filter given: each combination is a statement with its own plan.

    A time has both ends always: an open end would make PostgreSQL take a third of all events for
    what is asked, and keep a plan that reads them.
    """
    is_timed = wanted.since is not None or wanted.until is not None
    given = [
        ("occurred_at >=", wanted.since or (_EARLIEST if is_timed else None)),
        ("occurred_at <", wanted.until or (_LATEST if is_timed else None)),
        ("type =", wanted.type),
        ("claim_id =", wanted.claim_id),
    ]
    present = [(test, value) for test, value in given if value is not None]
    conditions = [f"AND {test} ${place}" for place, (test, _) in enumerate(present, start=5)]
    return "\n    ".join(conditions), [value for _, value in present]
