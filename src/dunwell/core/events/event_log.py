"""The log of a merchant's events: write them in the transaction of the change, and list them,
oldest first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from uuid import UUID

from dunwell.accounts.merchants.account import Work
from dunwell.accounts.merchants.rights import Right
from dunwell.core.events.body import ADDITIONAL_EVENT_TYPES
from dunwell.core.events.payloads import Event
from dunwell.core.events.store import EventPosition, find_event_range, render_is_subscribed
from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.epochs import SETTLED_BEFORE, WRITTEN_BY
from dunwell.platform.database.listed_table import CursorFormat, ListPage
from dunwell.platform.database.sql import Conditions, compose
from dunwell.platform.errors import NotFound

# Uses the primary key of endpoints. Foreign keys are checked at the end of the statement. A
# disabled endpoint still gets deliveries, which wait for a successful probe.
_SAVE = compose(
    """
WITH written AS (
    INSERT INTO events (merchant_id, event_id, claim_id, sequence, type, occurred_at, body,
        written_by)
    SELECT $1, *, {written_by}
    FROM UNNEST($2::uuid[], $3::bigint[], $4::integer[], $5::text[], $6::timestamptz[], $7::text[])
    RETURNING event_id, type, sequence
)
INSERT INTO deliveries (merchant_id, endpoint_id, event_id, due_at)
SELECT $1, endpoint.endpoint_id, written.event_id, $8
FROM written
JOIN webhook_endpoints endpoint
    ON endpoint.merchant_id = $1
    AND endpoint.removed_at IS NULL
    AND {is_subscribed}
""",
    is_subscribed=render_is_subscribed("endpoint", "written"),
    written_by=WRITTEN_BY,
)


async def save_events(
    tx: Connection, merchant_id: int, events: Sequence[Event], delivered_from: datetime
) -> None:
    """Insert the events and their deliveries, which are due at `delivered_from` (real time, also
    for a sandbox merchant)."""
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


# Uses events_list; for a type events_by_type, for a claim the unique key of its sequence. ORDER BY
# names the table, because without it PostgreSQL would sort by the text `written_by` of the result.
_LOAD = """
SELECT event_id, written_by::text AS written_by, body
FROM events
WHERE merchant_id = $1
    AND (written_by, event_id) > ($2::text::xid8, $3)
    AND written_by < {settled_before}
    {filters}
ORDER BY events.written_by, events.event_id
LIMIT $4
"""
# The same for a time range: it reads the spans that can have such events, and the events after the
# last span. An index on dates is not used, because it could return a whole history that must be
# sorted for one page.
_LOAD_TIMED = """
SELECT event_id, written_by::text AS written_by, body
FROM (
    (SELECT event_id, written_by, body
     FROM events
     WHERE merchant_id = $1
        AND (written_by, event_id) > ($2::text::xid8, $3)
        AND (written_by, event_id) <= ($5::text::xid8, $6)
        {filters}
     ORDER BY events.written_by, events.event_id
     LIMIT $4)
    UNION ALL
    (SELECT event_id, written_by, body
     FROM events
     WHERE merchant_id = $1
        AND (written_by, event_id) > ($7::text::xid8, $8)
        AND written_by < {settled_before}
        {filters}
     ORDER BY events.written_by, events.event_id
     LIMIT $4)
) found
ORDER BY found.written_by, found.event_id
LIMIT $4
"""
# Uses the primary key.
_LOAD_ONE = "SELECT body FROM events WHERE merchant_id = $1 AND event_id = $2"
_BEGINNING = EventPosition(0, UUID(int=0))
EVENT_CURSORS = CursorFormat("events", owner=(int,), place=(int, UUID))


@dataclass(frozen=True, slots=True)
class EventFilter:
    """Which events to list, by the event's date: `since` is inclusive, `until` exclusive.
    Additional types are listed only if `type` names one, or with `includes_additional_types`."""

    since: datetime | None = None
    until: datetime | None = None
    type: str | None = None
    claim_id: int | None = None
    includes_additional_types: bool = False

    @property
    def is_timed(self) -> bool:
        return self.since is not None or self.until is not None


NO_FILTER = EventFilter()


async def list_events(
    work: Work, *, limit: int, cursor: str | None = None, wanted: EventFilter = NO_FILTER
) -> ListPage[str]:
    """List the bodies exactly as webhooks carry them. There is no cursor after the last event.
    Raises ValidationError for an invalid cursor."""
    work.require(Right.READ_CLAIMS)
    return await load_events_page(
        work.tx, work.merchant_id, limit=limit, cursor=cursor, wanted=wanted
    )


async def get_event(work: Work, event_id: UUID) -> str:
    """Return the body exactly as its webhook carries it. Raises NotFound."""
    work.require(Right.READ_CLAIMS)
    body: str | None = await work.tx.fetchval(_LOAD_ONE, work.merchant_id, event_id)
    if body is None:
        raise NotFound(f"There is no event {event_id}.")
    return body


async def load_events_page(
    tx: Connection,
    merchant_id: int,
    *,
    limit: int,
    cursor: str | None = None,
    wanted: EventFilter = NO_FILTER,
) -> ListPage[str]:
    """Return at most `limit` events after the cursor. Raises ValidationError for an
    invalid cursor.
    """
    position = _BEGINNING
    if cursor is not None:
        position = EventPosition(*EVENT_CURSORS.parse((merchant_id,), cursor))
    rows = await _load_rows(tx, merchant_id, limit=limit + 1, position=position, wanted=wanted)
    page = rows[:limit]
    if len(rows) <= limit:
        return ListPage([row["body"] for row in page], None)
    place = (int(page[-1]["written_by"]), page[-1]["event_id"])
    return ListPage([row["body"] for row in page], EVENT_CURSORS.render((merchant_id,), place))


async def _load_rows(
    tx: Connection, merchant_id: int, limit: int, position: EventPosition, wanted: EventFilter
) -> Sequence[Row]:
    statement, positions = _LOAD, [position]
    if wanted.is_timed and wanted.claim_id is None:
        event_range = await find_event_range(
            tx, merchant_id, position, since=wanted.since, until=wanted.until
        )
        statement, positions = _LOAD_TIMED, [event_range.first, event_range.last, event_range.rest]
    first, *further = [(str(each.written_by), each.event_id) for each in positions]
    conditions = Conditions(merchant_id, *first, limit, *chain.from_iterable(further))
    for test, value in (
        ("occurred_at + interval '0' >= {}", wanted.since),
        ("occurred_at + interval '0' < {}", wanted.until),
        ("type = {}", wanted.type),
        ("claim_id = {}", wanted.claim_id),
    ):
        if value is not None:
            conditions.add(test, value)
    if wanted.type is None and not wanted.includes_additional_types:
        conditions.add("type <> ALL ({}::text[])", list(ADDITIONAL_EVENT_TYPES))
    filters = conditions.render()
    statement = compose(statement, filters=filters, settled_before=SETTLED_BEFORE)
    rows: Sequence[Row] = await tx.fetch(statement, *conditions.values)
    return rows
