"""The SQL of an endpoint's log of deliveries: rows in, values out, no rules."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from dunwell.platform.database.database import Connection, Row
from dunwell.platform.database.sql import compose

# Rows that a page looks at; behind them the next one goes on.
BUDGET = 10_000

_COLUMNS = """d.event_id, e.type, e.claim_id, e.sequence, e.occurred_at, c.reference_number,
    d.state, d.tries, d.tries_before, d.due_at, d.is_replay, d.lease_id IS NOT NULL AS is_leased,
    t.at AS tried_at, t.status, t.error"""
# By primary keys: the claim, and the newest try.
_JOINS = """
JOIN claims c ON c.merchant_id = $1 AND c.claim_id = e.claim_id
LEFT JOIN delivery_tries t
    ON t.merchant_id = $1 AND t.endpoint_id = $2 AND t.event_id = d.event_id AND t.try = d.tries
"""
# The primary key of deliveries backwards.
_FIND = compose(
    """
SELECT {columns}
FROM (
    SELECT looked_at.*
    FROM deliveries looked_at
    WHERE looked_at.merchant_id = $1 AND looked_at.endpoint_id = $2 AND looked_at.event_id < $3
    ORDER BY looked_at.event_id DESC
    LIMIT {budget}
) d
JOIN events e ON e.merchant_id = $1 AND e.event_id = d.event_id
{joins}
WHERE ($5::text IS NULL OR d.state = $5) AND ($6::text IS NULL OR e.type = $6)
ORDER BY d.event_id DESC
LIMIT $4
""",
    columns=_COLUMNS,
    joins=_JOINS,
    budget=str(BUDGET),
)
_FIND_END = """
SELECT event_id
FROM deliveries
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id < $3
ORDER BY event_id DESC
OFFSET $4
LIMIT 1
"""
# deliveries_given_up.
_FIND_GIVEN_UP = compose(
    """
SELECT {columns}
FROM (
    SELECT looked_at.*
    FROM deliveries looked_at
    WHERE looked_at.merchant_id = $1 AND looked_at.endpoint_id = $2 AND looked_at.event_id < $3
        AND looked_at.state = 'GIVEN_UP'
    ORDER BY looked_at.event_id DESC
    LIMIT {budget}
) d
JOIN events e ON e.merchant_id = $1 AND e.event_id = d.event_id
{joins}
WHERE ($5::text IS NULL OR e.type = $5)
ORDER BY d.event_id DESC
LIMIT $4
""",
    columns=_COLUMNS,
    joins=_JOINS,
    budget=str(BUDGET),
)
_FIND_GIVEN_UP_END = """
SELECT event_id
FROM deliveries
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id < $3 AND state = 'GIVEN_UP'
ORDER BY event_id DESC
OFFSET $4
LIMIT 1
"""
# Of one claim: the unique key on its sequence, then the primary key of deliveries.
_FIND_OF_CLAIM = compose(
    """
SELECT {columns}
FROM events e
JOIN deliveries d
    ON d.merchant_id = $1 AND d.endpoint_id = $2 AND d.event_id = e.event_id
{joins}
WHERE e.merchant_id = $1
    AND e.claim_id = $7
    AND d.event_id < $3
    AND ($5::text IS NULL OR d.state = $5)
    AND ($6::text IS NULL OR e.type = $6)
ORDER BY d.event_id DESC
LIMIT $4
""",
    columns=_COLUMNS,
    joins=_JOINS,
)
# By primary keys.
_LOAD = compose(
    """
SELECT {columns}
FROM deliveries d
JOIN events e ON e.merchant_id = $1 AND e.event_id = d.event_id
{joins}
WHERE d.merchant_id = $1 AND d.endpoint_id = $2 AND d.event_id = $3
""",
    columns=_COLUMNS,
    joins=_JOINS,
)
_LOAD_BODY = """
SELECT body
FROM events
WHERE merchant_id = $1 AND event_id = $2
"""
_LOAD_TRIES = """
SELECT try AS number, at, duration_ms, status, error, answer
FROM delivery_tries
WHERE merchant_id = $1 AND endpoint_id = $2 AND event_id = $3
ORDER BY try
"""


@dataclass(frozen=True, slots=True)
class LoggedDelivery:
    """An event on its way to an endpoint, with its newest try. occurred_at is the merchant's time,
    due_at and tried_at are real time."""

    event_id: UUID
    type: str
    claim_id: int
    sequence: int
    occurred_at: datetime
    reference_number: str
    state: str
    tries: int
    # How many of the tries were made before it was replayed.
    tries_before: int
    due_at: datetime | None
    is_replay: bool
    # Being sent at this moment.
    is_leased: bool
    tried_at: datetime | None
    status: int | None
    error: str | None

    @property
    def seen(self) -> str:
        """What a form bears of it: whether something has become of it since."""
        return f"{self.state}-{self.tries}"


@dataclass(frozen=True, slots=True)
class Try:
    """answer: the beginning of what the endpoint said, printable; error: why it said nothing."""

    number: int
    at: datetime
    duration_ms: int
    status: int | None
    error: str | None
    answer: str | None


@dataclass(frozen=True, slots=True)
class LogFilter:
    """All that is given must hold."""

    state: str | None = None
    type: str | None = None
    claim_id: int | None = None


async def load_log(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, before: UUID, wanted: LogFilter,
    limit: int,
) -> list[LoggedDelivery]:  # fmt: skip
    """Behind an event, the newest first; of at most BUDGET that are looked at."""
    owner = (merchant_id, endpoint_id, before, limit)
    if wanted.claim_id is not None:
        values = (*owner, wanted.state, wanted.type, wanted.claim_id)
        rows = await tx.fetch(_FIND_OF_CLAIM, *values)
    elif wanted.state == "GIVEN_UP":
        rows = await tx.fetch(_FIND_GIVEN_UP, *owner, wanted.type)
    else:
        rows = await tx.fetch(_FIND, *owner, wanted.state, wanted.type)
    return [_read(row) for row in rows]


async def find_end(
    tx: Connection, merchant_id: int, endpoint_id: UUID, *, before: UUID, wanted: LogFilter
) -> UUID | None:
    """The last that a look from there on looks at; None: it has seen all."""
    if wanted.claim_id is not None:
        return None
    statement = _FIND_GIVEN_UP_END if wanted.state == "GIVEN_UP" else _FIND_END
    found: UUID | None = await tx.fetchval(statement, merchant_id, endpoint_id, before, BUDGET - 1)
    return found


async def load_delivery(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_id: UUID
) -> LoggedDelivery | None:
    row = await tx.fetchrow(_LOAD, merchant_id, endpoint_id, event_id)
    return None if row is None else _read(row)


async def load_body(tx: Connection, merchant_id: int, event_id: UUID) -> str:
    """To the letter, as it is sent and signed."""
    return str(await tx.fetchval(_LOAD_BODY, merchant_id, event_id))


async def load_tries(
    tx: Connection, merchant_id: int, endpoint_id: UUID, event_id: UUID
) -> Sequence[Try]:
    rows = await tx.fetch(_LOAD_TRIES, merchant_id, endpoint_id, event_id)
    return [Try(**row) for row in rows]


def _read(row: Row) -> LoggedDelivery:
    return LoggedDelivery(**row)
